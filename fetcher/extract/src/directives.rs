//! What a page asks of crawlers: `meta` robots tags and the `X-Robots-Tag` field.

/// Independent wishes; the union of all that apply to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Directives {
    /// Do not show this page (store it if you must).
    pub noindex: bool,
    /// Follow no link of this page.
    pub nofollow: bool,
    /// Show no stored copy.
    pub noarchive: bool,
    /// Show no excerpt.
    pub nosnippet: bool,
}

impl Directives {
    /// Adds a list such as `noindex, nofollow`; unknown words mean nothing.
    pub(crate) fn add_list(&mut self, list: &str) {
        for word in list.split([',', ';']) {
            self.add_word(word.trim());
        }
    }

    /// Adds the content of a `meta` element if its `name` is `robots` or our agent.
    pub(crate) fn add_meta(&mut self, name: &str, content: &str, agent: &str) {
        let name = name.trim();
        if name.eq_ignore_ascii_case("robots") || names_agent(name, agent) {
            self.add_list(content);
        }
    }

    /// Adds one `X-Robots-Tag` field: words for all, and behind `agent:` words for that agent until the next.
    pub(crate) fn add_header(&mut self, field: &str, agent: &str) {
        let mut applies = true;
        for part in field.split(',') {
            let mut word = part.trim();
            if let Some((name, rest)) = word.split_once(':')
                && !takes_value(name.trim())
            {
                applies = names_agent(name.trim(), agent);
                word = rest.trim();
            }
            if applies {
                self.add_word(word);
            }
        }
    }

    fn add_word(&mut self, word: &str) {
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        let none = is("none");
        self.noindex |= none || is("noindex");
        self.nofollow |= none || is("nofollow");
        self.noarchive |= is("noarchive");
        self.nosnippet |= is("nosnippet");
    }
}

/// Directives that have a colon of their own, and so do not name an agent.
fn takes_value(name: &str) -> bool {
    [
        "unavailable_after",
        "max-snippet",
        "max-image-preview",
        "max-video-preview",
    ]
    .iter()
    .any(|known| name.eq_ignore_ascii_case(known))
}

/// Product tokens are compared up to the first octet that cannot be in one.
fn names_agent(name: &str, agent: &str) -> bool {
    let token = |text: &str| {
        let end = text.find(|c: char| !(c.is_ascii_alphabetic() || c == '-' || c == '_'));
        text[..end.unwrap_or(text.len())].to_ascii_lowercase()
    };
    let wanted = token(agent);
    !wanted.is_empty() && token(name) == wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_fields_name_agents() {
        let of = |field: &str| {
            let mut directives = Directives::default();
            directives.add_header(field, "MyBot/1.0");
            (directives.noindex, directives.nofollow)
        };
        assert_eq!(of("noindex"), (true, false));
        assert_eq!(of("otherbot: noindex, nofollow"), (false, false));
        assert_eq!(of("otherbot: noindex, mybot: nofollow"), (false, true));
        assert_eq!(of("MYBOT: none"), (true, true));
        assert_eq!(
            of("unavailable_after: 25 Jun 2027 15:00:00 PST, noindex"),
            (true, false)
        );
        assert_eq!(of("max-snippet:-1, nofollow"), (false, true));
    }
}

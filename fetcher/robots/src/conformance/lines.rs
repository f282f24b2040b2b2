//! Lines, keys, comments and odd bytes (sections 2.2, 2.2.4, 2.3.1.5).

use super::Table;

// One row a line reads better than one value a line.
#[rustfmt::skip]
pub(super) const TABLES: &[Table] = &[
    Table { about: "line ends: CR", agent: "a", body: "user-agent: a\rdisallow: /x\rallow: /x/y\r", expect: &[("/x", false), ("/x/y", true)] },
    Table { about: "line ends: CRLF", agent: "a", body: "user-agent: a\r\ndisallow: /x\r\n", expect: &[("/x", false)] },
    Table { about: "line ends: mixed", agent: "a", body: "user-agent: a\rdisallow: /x\n\r\ndisallow: /y", expect: &[("/x", false), ("/y", false)] },
    Table { about: "last line without an end", agent: "a", body: "user-agent: a\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "byte-order mark", agent: "a", body: "\u{feff}user-agent: a\ndisallow: /x", expect: &[("/x", false)] },
    Table { about: "a second mark is noise", agent: "a", body: "\u{feff}\u{feff}user-agent: a\ndisallow: /x", expect: &[("/x", true)] },
    Table { about: "a mark further down is noise on its line", agent: "a", body: "user-agent: a\n\u{feff}disallow: /x\ndisallow: /y", expect: &[("/x", true), ("/y", false)] },
    Table { about: "keys in any case", agent: "a", body: "USER-AGENT: a\nDISALLOW: /x\nAlLoW: /x/y", expect: &[("/x", false), ("/x/y", true)] },
    Table { about: "values keep case", agent: "a", body: "user-agent: a\ndisallow: /X", expect: &[("/x", true), ("/X", false)] },
    Table { about: "no space after the colon", agent: "a", body: "user-agent:a\ndisallow:/x", expect: &[("/x", false)] },
    Table { about: "spaces and tabs all around", agent: "a", body: " \tuser-agent\t : \ta \t\n\t disallow \t:\t /x\t \n", expect: &[("/x", false)] },
    Table { about: "no colon, two words", agent: "a", body: "user-agent a\ndisallow /x\n", expect: &[("/x", false)] },
    Table { about: "no colon, more words", agent: "a", body: "user-agent: a\ndisallow /x /y\n", expect: &[("/x", true), ("/y", true)] },
    Table { about: "no colon, one word", agent: "a", body: "user-agent: a\ndisallow\ndisallow: /y\n", expect: &[("/x", true), ("/y", false)] },
    Table { about: "only the first colon splits", agent: "a", body: "user-agent: a\ndisallow: /x:y", expect: &[("/x:y", false), ("/x", true)] },
    Table { about: "two colons", agent: "a", body: "user-agent: a\ndisallow:: /x", expect: &[("/x", true)] },
    Table { about: "comment lines", agent: "a", body: "# hello\nuser-agent: a\n  # more\ndisallow: /x\n#disallow: /y", expect: &[("/x", false), ("/y", true)] },
    Table { about: "comment after a value", agent: "a", body: "user-agent: a # us\ndisallow: /x # them\n", expect: &[("/x", false), ("/y", true)] },
    Table { about: "comment without a space", agent: "a", body: "user-agent: a#us\ndisallow: /x#y\n", expect: &[("/x", false), ("/xz", false)] },
    Table { about: "comment eats the value", agent: "a", body: "user-agent: a\ndisallow: # /x\n", expect: &[("/x", true), ("/", true)] },
    Table { about: "an encoded number sign is a value", agent: "a", body: "user-agent: a\ndisallow: /x%23y\n", expect: &[("/x%23y", false), ("/x", true)] },
    Table { about: "2.2.4 misspelt disallow", agent: "a", body: "user-agent: a\ndissallow: /1\ndissalow: /2\ndisalow: /3\ndiasllow: /4\ndisallaw: /5", expect: &[
        ("/1", false), ("/2", false), ("/3", false), ("/4", false), ("/5", false), ("/6", true),
    ] },
    Table { about: "2.2.4 misspelt user-agent", agent: "a", body: "useragent: a\ndisallow: /1\nuser agent: b\ndisallow: /2", expect: &[("/1", false), ("/2", true)] },
    Table { about: "not every likeness is a misspelling", agent: "a", body: "user-agent: a\ndisallowed: /1\nallowed: /1\nno-allow: /2\nxdisallow: /3", expect: &[
        ("/1", true), ("/2", true), ("/3", true),
    ] },
    Table { about: "2.3.1.5 noise between good lines", agent: "a", body: "<html>\nuser-agent: a\n!!! ???\n\u{0}\u{1}\u{2}\ndisallow: /x\n</html>", expect: &[("/x", false)] },
    Table { about: "2.3.1.5 markup is no rule", agent: "a", body: "<p>User-agent: *</p>\n<p>Disallow: /</p>", expect: &[("/", true)] },
    Table { about: "empty body", agent: "a", body: "", expect: &[("/", true), ("/x", true)] },
    Table { about: "white space only", agent: "a", body: " \n\t\r\n ", expect: &[("/", true)] },
    Table { about: "empty disallow forbids nothing", agent: "a", body: "user-agent: a\ndisallow:\n", expect: &[("/", true), ("/x", true)] },
    Table { about: "empty allow permits nothing new", agent: "a", body: "user-agent: a\nallow:\ndisallow: /x\n", expect: &[("/x", false)] },
    Table { about: "empty disallow beside a real one", agent: "a", body: "user-agent: a\ndisallow:\ndisallow: /x\n", expect: &[("/x", false), ("/y", true)] },
    Table { about: "a pattern without its slash", agent: "a", body: "user-agent: a\ndisallow: x\n", expect: &[("/x", true), ("x", true)] },
    Table { about: "an address is no pattern", agent: "a", body: "user-agent: a\ndisallow: http://h.example/x\n", expect: &[("/x", true)] },
    Table { about: "a query is no pattern", agent: "a", body: "user-agent: a\ndisallow: ?q\n", expect: &[("/?q", true)] },
    Table { about: "a space inside a value", agent: "a", body: "user-agent: a\ndisallow: /x y\n", expect: &[("/x%20y", false), ("/x y", false), ("/x", true)] },
    Table { about: "a tab inside a value", agent: "a", body: "user-agent: a\ndisallow: /x\ty\n", expect: &[("/x%09y", false), ("/x", true)] },
    Table { about: "crawl-delay closes nothing", agent: "a", body: "user-agent: a\ncrawl-delay: 1\ndisallow: /x\ncrawl-delay: 2\ndisallow: /y", expect: &[("/x", false), ("/y", false)] },
    Table { about: "sitemap is no rule", agent: "a", body: "user-agent: a\nsitemap: /x\n", expect: &[("/x", true)] },
];

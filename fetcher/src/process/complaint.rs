//! Trouble that lasts is told once, not at every try.

/// What was last complained of.
#[derive(Debug, Default)]
pub(super) struct Complaint(Option<String>);

impl Complaint {
    /// Whether this is worth a line: nothing was wrong before, or something else.
    pub(super) fn is_news(&mut self, text: String) -> bool {
        let news = self.0.as_ref() != Some(&text);
        self.0 = Some(text);
        news
    }

    /// All is well again; whether it was not before.
    pub(super) fn is_over(&mut self) -> bool {
        self.0.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Complaint;

    #[test]
    fn each_change_is_news_once() {
        let mut complaint = Complaint::default();
        let mut said = |text: &str| complaint.is_news(text.to_owned());
        assert_eq!(
            ["refused", "refused", "timeout", "timeout", "refused"].map(&mut said),
            [true, false, true, false, true]
        );
        assert!(complaint.is_over() && !complaint.is_over());
        assert!(complaint.is_news("refused".to_owned()));
    }
}

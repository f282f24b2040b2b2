//! Reports that make no sense are refused before anything of them is taken.

use super::{Outcome, PageCode, PageOutcome, Report, RobotsCode, RobotsFound};
use crate::{command::lease::LeaseKind, limits};

/// What is wrong with a report for a lease of this kind, if anything.
pub(super) fn check(report: &Report, kind: LeaseKind) -> Option<&'static str> {
    if report.undelivered.len() > limits::UNDELIVERED_PER_REPORT {
        return Some("too_many_undelivered");
    }
    if report.undelivered.iter().any(|item| item.kind.is_none()) {
        return Some("undelivered_item");
    }
    let silent = report
        .contact
        .is_some_and(|contact| contact.nothing_written);
    match (&report.outcome, kind) {
        (None, _) => Some("no_outcome"),
        (Some(Outcome::Page(page)), LeaseKind::Page) => check_page(page, silent),
        (Some(Outcome::Robots(robots)), LeaseKind::Robots) => match &robots.found {
            None if robots.requeue => None,
            None => Some("no_finding"),
            Some(_) if robots.requeue => None,
            Some(found) if !found.makes_sense() => Some("robots_finding"),
            Some(found) if silent && found.code() != RobotsCode::Unreachable => {
                Some("answer_without_request")
            }
            Some(_) => None,
        },
        (Some(Outcome::Errand(errand)), LeaseKind::Errand) => {
            (!errand.delivered && !errand.requeue).then_some("errand_outcome")
        }
        _ => Some("outcome_of_another_kind"),
    }
}

fn check_page(page: &PageOutcome, silent: bool) -> Option<&'static str> {
    let Ok(code) = PageCode::try_from(page.code) else {
        return Some("outcome_code");
    };
    let answered = matches!(
        code,
        PageCode::Stored
            | PageCode::NotModified
            | PageCode::Redirect
            | PageCode::HttpError
            | PageCode::HttpBusy
    );
    if silent && answered {
        return Some("answer_without_request");
    }
    (code == PageCode::Stored && page.digest.len() != 32).then_some("digest")
}

impl RobotsFound {
    /// Whether code, body and digest fit together.
    pub(crate) fn makes_sense(&self) -> bool {
        match RobotsCode::try_from(self.code) {
            Ok(RobotsCode::Rules) => {
                self.digest.len() == 32 && self.body.len() <= limits::ROBOTS_BODY_SIZE_BYTES
            }
            Ok(_) => true,
            Err(_) => false,
        }
    }
}

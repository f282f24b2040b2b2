//! One call of a cluster, waited for, and its end as an exit code.

use crate::output::{self, CommandError};
use crate::patience::{MayPass, Patience};
use client::{Admin, AdminError};
use proto::admin_v1 as pb;
use proto::admin_v1::change_response::End as Answer;
use serde_json::Value;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Exit code when the cluster refused, or what was begun was undone.
const EXIT_REFUSED: u8 = 1;
/// Exit code when the request makes no sense by itself.
const EXIT_USAGE: u8 = 2;
/// Exit code when the cluster cannot answer, or takes longer than was waited.
const EXIT_UNAVAILABLE: u8 = 3;
/// Pause between two looks at what is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    /// The cluster does not do it.
    #[error("refused: {0}")]
    Refused(String),
    /// It was begun and taken back.
    #[error("{0}")]
    Undone(String),
    /// The request makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Nobody can say.
    #[error("{0}")]
    Unavailable(String),
    /// This program failed.
    #[error(transparent)]
    Failed(#[from] CommandError),
}

impl End {
    /// The exit code.
    pub(super) const fn code(&self) -> u8 {
        match self {
            Self::Refused(_) | Self::Undone(_) | Self::Failed(_) => EXIT_REFUSED,
            Self::Usage(_) => EXIT_USAGE,
            Self::Unavailable(_) => EXIT_UNAVAILABLE,
        }
    }
}

impl From<AdminError> for End {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Invalid(reason) => Self::Usage(reason),
            AdminError::Unavailable(_) => Self::Unavailable(error.to_string()),
        }
    }
}

impl MayPass for AdminError {
    fn may_pass(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// Asks, and shows.
pub(super) struct Asker {
    admin: Admin,
    patience: Patience,
    json: bool,
}

impl Asker {
    /// Of the cluster whose nodes are at these addresses.
    pub(super) fn new(addresses: &[String], json: bool) -> Result<Self, End> {
        let admin = Admin::new(addresses).map_err(|error| End::Usage(error.to_string()))?;
        Ok(Self {
            admin,
            patience: Patience::new(),
            json,
        })
    }

    /// For calls that wait for each step anew.
    pub(super) const fn admin(&self) -> &Admin {
        &self.admin
    }

    /// One call, tried again while nobody answers.
    pub(super) async fn ask<R>(
        &mut self,
        call: impl AsyncFn(&Admin) -> Result<R, AdminError>,
    ) -> Result<R, End> {
        let admin = &self.admin;
        let answer = self.patience.until(async || call(admin).await).await;
        Ok(answer?)
    }

    /// A change: what was accepted.
    pub(super) async fn change(
        &mut self,
        call: impl AsyncFn(&Admin) -> Result<pb::ChangeResponse, AdminError>,
    ) -> Result<pb::Accepted, End> {
        match self.ask(call).await?.end {
            Some(Answer::Accepted(accepted)) => Ok(accepted),
            Some(Answer::Refused(reason)) => Err(End::Refused(reason)),
            None => Err(End::Unavailable("the answer makes no sense".to_owned())),
        }
    }

    /// Looks until something is there, or time is up.
    pub(super) async fn wait_for<R>(
        &mut self,
        within: Duration,
        what: &str,
        mut look: impl AsyncFnMut(&mut Self) -> Result<Option<R>, End>,
    ) -> Result<R, End> {
        let until = Instant::now() + within;
        loop {
            if let Some(found) = look(self).await? {
                return Ok(found);
            }
            if Instant::now() >= until {
                let seconds = within.as_secs_f64();
                return Err(End::Unavailable(format!(
                    "{what} takes longer than {seconds} s"
                )));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Shows an answer, for programs or for people.
    pub(super) fn show(
        &self,
        json: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) -> Result<(), End> {
        let shown: Box<dyn Display> = if self.json {
            Box::new(json())
        } else {
            Box::new(text())
        };
        Ok(output::line(shown)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_code() {
        let unavailable = || AdminError::Unavailable("x".to_owned());
        assert_eq!(End::from(unavailable()).code(), 3);
        assert_eq!(End::from(AdminError::Invalid("x".to_owned())).code(), 2);
        assert_eq!(End::Refused("no shard 9".to_owned()).code(), 1);
        assert_eq!(End::Undone("job 1 was undone".to_owned()).code(), 1);
        let words = End::Refused("no shard 9".to_owned()).to_string();
        assert_eq!(words, "refused: no shard 9");
        assert!(unavailable().may_pass() && !AdminError::Invalid(String::new()).may_pass());
    }
}

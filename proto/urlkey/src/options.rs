//! What a crawl may change about canonicalisation.

use crate::limits::{
    DEFAULT_MAX_URL_BYTES, HARD_MAX_URL_BYTES, MAX_DROP_PARAM_BYTES, MAX_DROP_PARAMS,
};

/// What a crawl may change about canonicalisation. Whatever is chosen, the result is also canonical by the default
/// options, so that a node can check it without knowing them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanonicalOptions {
    /// Names of query parameters to drop, decoded (`a[]`, not `a%5B%5D`), compared byte for byte.
    pub drop_params: Vec<String>,
    /// Sort the query's parameters by name; those of one name keep their order.
    pub sort_query: bool,
    /// Longest canonical URL, in bytes: 1 to 8 192, by default 2 048.
    pub max_length_bytes: usize,
}

impl Default for CanonicalOptions {
    fn default() -> Self {
        Self {
            drop_params: Vec::new(),
            sort_query: false,
            max_length_bytes: DEFAULT_MAX_URL_BYTES,
        }
    }
}

impl CanonicalOptions {
    /// Checks every limit.
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        if self.max_length_bytes == 0 || self.max_length_bytes > HARD_MAX_URL_BYTES {
            return Err(OptionsError::MaxLength {
                asked_bytes: self.max_length_bytes,
            });
        }
        if self.drop_params.len() > MAX_DROP_PARAMS {
            return Err(OptionsError::TooManyParams {
                asked: self.drop_params.len(),
            });
        }
        match self
            .drop_params
            .iter()
            .position(|name| name.is_empty() || name.len() > MAX_DROP_PARAM_BYTES)
        {
            Some(index) => Err(OptionsError::ParamName { index }),
            None => Ok(()),
        }
    }
}

/// Which option was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// `max_length_bytes` is 0 or above the hard limit.
    #[error("max_length_bytes is {asked_bytes}, not from 1 to {HARD_MAX_URL_BYTES}")]
    MaxLength {
        /// What was asked for, in bytes.
        asked_bytes: usize,
    },
    /// More names in `drop_params` than allowed.
    #[error("drop_params has {asked} names, more than {MAX_DROP_PARAMS}")]
    TooManyParams {
        /// How many were given.
        asked: usize,
    },
    /// A name in `drop_params` is empty or too long.
    #[error("drop_params[{index}] does not have 1 to {MAX_DROP_PARAM_BYTES} bytes")]
    ParamName {
        /// Which of them, from 0.
        index: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_checked() {
        let with = |change: fn(&mut CanonicalOptions)| {
            let mut options = CanonicalOptions::default();
            change(&mut options);
            options.check()
        };
        assert_eq!(with(|_| ()), Ok(()));
        assert_eq!(with(|o| o.max_length_bytes = 8_192), Ok(()));
        assert_eq!(
            with(|o| o.max_length_bytes = 8_193),
            Err(OptionsError::MaxLength { asked_bytes: 8_193 })
        );
        assert_eq!(
            with(|o| o.max_length_bytes = 0),
            Err(OptionsError::MaxLength { asked_bytes: 0 })
        );
        assert_eq!(
            with(|o| o.drop_params = vec!["x".into(); 257]),
            Err(OptionsError::TooManyParams { asked: 257 })
        );
        assert_eq!(
            with(|o| o.drop_params = vec!["x".into(), String::new()]),
            Err(OptionsError::ParamName { index: 1 })
        );
        assert_eq!(
            with(|o| o.drop_params = vec!["x".repeat(257)]),
            Err(OptionsError::ParamName { index: 0 })
        );
    }
}

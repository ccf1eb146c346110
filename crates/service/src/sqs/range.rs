//! Whole numbers in requests, each with the range that it must be in.

use crate::errors;
use api::Error;
use std::ops::RangeInclusive;

/// `value` where it is in `range`, or was left out.
///
/// Errors: InvalidParameterValue, with `reason`.
pub(super) fn optional(
    value: Option<i64>,
    range: RangeInclusive<u32>,
    parameter: &str,
    reason: &str,
) -> Result<Option<u32>, Error> {
    let Some(value) = value else { return Ok(None) };
    match u32::try_from(value) {
        Ok(fits) if range.contains(&fits) => Ok(Some(fits)),
        _ => Err(errors::invalid_value(value, parameter, reason)),
    }
}

/// As [`optional`], where leaving it out is an error too.
pub(super) fn required(
    value: Option<i64>,
    range: RangeInclusive<u32>,
    parameter: &str,
    reason: &str,
) -> Result<u32, Error> {
    optional(value, range, parameter, reason)?.ok_or_else(|| errors::missing(parameter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::ErrorKind;

    fn check(value: Option<i64>, expected: Result<Option<u32>, &str>) {
        let seen = optional(value, 1..=10, "MaxNumberOfMessages", "Must be between 1 and 10, if provided.");
        assert_eq!(seen, expected.map_err(|message| Error::new(ErrorKind::InvalidParameterValue, message)));
    }

    #[test]
    fn bounds_are_inside() {
        check(None, Ok(None));
        check(Some(1), Ok(Some(1)));
        check(Some(10), Ok(Some(10)));
        let reason = "for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.";
        for value in [0, 11, -1, i64::MAX, i64::MIN, 1 << 32 | 5] {
            check(Some(value), Err(&format!("Value {value} {reason}")));
        }
        assert_eq!(required(None, 1..=2, "P", "").map_err(|error| error.kind), Err(ErrorKind::MissingParameter));
    }
}

//! The tags of a queue.

use crate::errors;
use api::Error;
use api::sqs::StringMap;
use model::limits::{TAG_KEY_CHARS_MAX, TAG_VALUE_CHARS_MAX, TAGS_MAX};

/// Checks tags as a request gives them. How many a queue has in all is for the shard to say.
///
/// Errors: InvalidParameterValue.
///
/// Source: SQS Developer Guide, Cost allocation tags; AWS's tagging rules. Chosen: the texts.
pub(super) fn check(tags: &StringMap) -> Result<(), Error> {
    if tags.len() > TAGS_MAX {
        return Err(errors::too_many_tags());
    }
    tags.iter().try_for_each(|(key, value)| {
        let key_chars = key.chars().count();
        if !(1..=TAG_KEY_CHARS_MAX).contains(&key_chars) {
            let reason = format!("A tag's key must have 1 to {TAG_KEY_CHARS_MAX} characters.");
            return Err(errors::invalid_value(key, "Tag.Key", &reason));
        }
        if value.chars().count() > TAG_VALUE_CHARS_MAX {
            let reason = format!("A tag's value can have at most {TAG_VALUE_CHARS_MAX} characters.");
            return Err(errors::invalid_value(value, "Tag.Value", &reason));
        }
        if key.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("aws:")) {
            return Err(errors::invalid_value(
                key,
                "Tag.Key",
                "Keys that begin with aws: are reserved for AWS's own use.",
            ));
        }
        for (text, parameter) in [(key, "Tag.Key"), (value, "Tag.Value")] {
            if !text.chars().all(is_allowed) {
                let reason = "Tags can only include letters, digits, spaces and _ . : / = + - @";
                return Err(errors::invalid_value(text, parameter, reason));
            }
        }
        Ok(())
    })
}

fn is_allowed(character: char) -> bool {
    character.is_alphanumeric() || character == ' ' || "_.:/=+-@".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(tags: &[(&str, &str)]) -> bool {
        check(&tags.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()).is_ok()
    }

    #[test]
    fn tags_have_limits() {
        let (k128, v256) = ("k".repeat(128), "v".repeat(256));
        for good in [("a", ""), ("Team name", "é 9_.:/=+-@"), (&k128, &v256), ("awsome", "x"), ("a:aws:", "x")] {
            assert!(accepts(&[good]), "{good:?}");
        }
        let (k129, v257) = ("k".repeat(129), "v".repeat(257));
        for bad in [("", "x"), (&k129, "x"), ("k", &v257), ("aws:x", "x"), ("AWS:x", "x"), ("a\tb", "x"), ("a", "<b>")]
        {
            assert!(!accepts(&[bad]), "{bad:?}");
        }
        let many = |count: usize| -> StringMap { (0..count).map(|n| (format!("k{n}"), String::new())).collect() };
        assert!(check(&many(50)).is_ok());
        assert!(check(&many(51)).is_err());
    }
}

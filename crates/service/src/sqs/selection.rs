//! Which attributes a receive asks for.

use std::collections::HashSet;

/// The message attributes that `MessageAttributeNames` selects.
///
/// `All`, `.*` and `*` select every attribute; `prefix.*` selects those that begin with `prefix`; anything else selects
/// the attribute of that very name, and names that no message has don't matter.
///
/// Observed in recordings of 2024 (`Hel.*` selects `Hello` and `Help.Me`).
#[derive(Default)]
pub(super) struct Selection<'a> {
    all: bool,
    names: HashSet<&'a str>,
    prefixes: HashSet<&'a str>,
}

impl<'a> Selection<'a> {
    pub fn new(names: &'a [String]) -> Self {
        let mut selection = Self::default();
        for name in names {
            match name.as_str() {
                "All" | ".*" | "*" => selection.all = true,
                name => match name.strip_suffix(".*") {
                    Some(prefix) => drop(selection.prefixes.insert(prefix)),
                    None => drop(selection.names.insert(name)),
                },
            }
        }
        selection
    }

    /// However many names were given, this takes no more look-ups than `name` has characters.
    pub fn contains(&self, name: &str) -> bool {
        self.all
            || self.names.contains(name)
            || (!self.prefixes.is_empty() && (0..=name.len()).any(|end| self.starts_with_prefix(name.get(..end))))
    }

    fn starts_with_prefix(&self, start: Option<&str>) -> bool {
        start.is_some_and(|start| self.prefixes.contains(start))
    }
}

/// The system attributes that `AttributeNames` and `MessageSystemAttributeNames` select, together.
///
/// Names that aren't known don't matter. Observed in a recording of 2025.
#[derive(Default)]
pub(super) struct SystemSelection {
    pub sender_id: bool,
    pub sent_timestamp: bool,
    pub receive_count: bool,
    pub first_receive_timestamp: bool,
    pub message_group_id: bool,
    pub trace_header: bool,
}

impl SystemSelection {
    pub fn new<'a>(names: impl IntoIterator<Item = &'a String>) -> Self {
        let mut selection = Self::default();
        for name in names {
            match name.as_str() {
                "All" => return Self::ALL,
                "SenderId" => selection.sender_id = true,
                "SentTimestamp" => selection.sent_timestamp = true,
                "ApproximateReceiveCount" => selection.receive_count = true,
                "ApproximateFirstReceiveTimestamp" => selection.first_receive_timestamp = true,
                "MessageGroupId" => selection.message_group_id = true,
                "AWSTraceHeader" => selection.trace_header = true,
                _ => {}
            }
        }
        selection
    }

    const ALL: Self = Self {
        sender_id: true,
        sent_timestamp: true,
        receive_count: true,
        first_receive_timestamp: true,
        message_group_id: true,
        trace_header: true,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &[&str]) {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let selection = Selection::new(&names);
        let seen: Vec<_> =
            ["General", "Hello", "Help.Me"].into_iter().filter(|name| selection.contains(name)).collect();
        assert_eq!(seen, expected, "{names:?}");
    }

    #[test]
    fn names_select_message_attributes() {
        let all = ["General", "Hello", "Help.Me"];
        check(&[], &[]);
        for wildcard in ["All", ".*", "*"] {
            check(&[wildcard], &all);
            check(&["nope", wildcard], &all);
        }
        check(&["Hello", "General"], &["General", "Hello"]);
        check(&["Hel.*"], &["Hello", "Help.Me"]);
        check(&["Hello.*"], &["Hello"]);
        check(&["Help.*", "General"], &["General", "Help.Me"]);
        check(&["Hello", "nope"], &["Hello"]);
        for nothing in ["nope", "hello", "Hel*", "Hel.", "", "all", "AWS.", "Hel..*"] {
            check(&[nothing], &[]);
        }
    }

    #[test]
    fn a_prefix_may_end_within_a_character_of_a_name() {
        let names = ["é.*".to_owned()];
        let selection = Selection::new(&names);
        assert!(selection.contains("éa"));
        assert!(!selection.contains("èa"));
    }
}

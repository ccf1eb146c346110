//! Parameters with dotted names, read as the tree that the dots draw.
//!
//! ```text
//!   Attribute.1.Name=DelaySeconds          Attribute ┬ 1 ┬ Name    DelaySeconds
//!   Attribute.1.Value=5                              │   └ Value   5
//!   Attribute.7.Name=VisibilityTimeout               └ 7 ┬ Name    VisibilityTimeout
//!   Attribute.7.Value=30                                 └ Value   30
//!   QueueUrl=http://…                      QueueUrl  http://…
//! ```
//!
//! The tree is never built. Once the parameters are sorted by the parts of their names, each subtree is a slice of
//! them, and a [`Node`] is such a slice with the length of the names up to there. Indexes put items in order and mean
//! nothing else, so gaps and huge numbers cost nothing, and how deep we go depends on the type that is read, never on
//! the input.

use super::form::Parameter;
use super::names;
use crate::call::clipped;
use api::{Error, ErrorKind};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::cmp::Ordering;
use std::fmt;

/// Reads a request of `operation` from its parameters. Of several with the same name the first counts.
pub fn from_parameters<T: DeserializeOwned>(operation: &str, mut parameters: Vec<Parameter>) -> Result<T, Error> {
    // Stable: equal names stay in their order.
    parameters.sort_by(|a, b| compare_names(&a.key, &b.key));
    let root = Node { operation, parameters: &parameters, start: 0 };
    T::deserialize(root).map_err(|error| Error::new(ErrorKind::Serialization, error.0))
}

/// Orders names part by part, numbers by their value and before words.
fn compare_names(a: &str, b: &str) -> Ordering {
    // What they have in common is skipped at once, so that long names don't make for a slow sort.
    let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let dot = a.as_bytes()[..common].iter().rposition(|&byte| byte == b'.');
    let start = dot.map_or(0, |dot| dot + 1);
    a[start..].split('.').map(Part).cmp(b[start..].split('.').map(Part))
}

#[derive(PartialEq, Eq)]
struct Part<'p>(&'p str);

impl Part<'_> {
    /// Without leading zeros, so that two different parts are never the same number.
    fn is_index(&self) -> bool {
        let digits = !self.0.is_empty() && self.0.bytes().all(|byte| byte.is_ascii_digit());
        digits && (self.0 == "0" || !self.0.starts_with('0'))
    }
}

impl Ord for Part<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_index(), other.is_index()) {
            (true, true) => self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(other.0)),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.0.cmp(other.0),
        }
    }
}

impl PartialOrd for Part<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Why the parameters are not the request they should be.
#[derive(Debug)]
struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

impl serde::de::Error for Malformed {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self(clipped(&reason.to_string()).to_owned())
    }
}

/// All parameters whose names begin alike.
#[derive(Clone, Copy)]
struct Node<'p> {
    operation: &'p str,
    parameters: &'p [Parameter<'p>],
    /// How much of each name is the common beginning, with the dot after it.
    start: usize,
}

impl<'p> Node<'p> {
    /// The value of the parameter whose name ends here, and that name.
    fn value(self) -> Option<(&'p str, &'p str)> {
        let first = self.parameters.first()?;
        (first.key.len() < self.start).then_some((&first.key, &first.value))
    }

    /// Its own value as text.
    fn text(self) -> Result<(&'p str, &'p str), Malformed> {
        self.value().ok_or_else(|| match self.parameters.first() {
            Some(below) => Malformed(format!("The parameter {} is more than was expected.", clipped(&below.key))),
            None => Malformed("A name is without its value, or a value without its name.".into()),
        })
    }

    /// What is below it, by the next part of the name.
    fn children(self) -> Children<'p> {
        let own = self.parameters.partition_point(|parameter| parameter.key.len() < self.start);
        Children { node: Node { parameters: &self.parameters[own..], ..self } }
    }

    fn child(self, names: &[&str]) -> Option<Self> {
        self.children().find(|(name, _)| names.contains(name)).map(|(_, child)| child)
    }

    /// The items of a list or a map in their order: `X.1`, and also `X.member.1` and `X.entry.1` of those that are not
    /// flattened.
    fn items(self) -> impl Iterator<Item = Self> {
        let below = self.child(&["member", "entry"]).unwrap_or(self);
        below.children().filter(|(name, _)| Part(name).is_index()).map(|(_, child)| child)
    }

    /// Lets `read` have the text; what goes wrong is told with the parameter's name.
    fn read<T>(self, read: impl FnOnce(&str) -> Result<T, Malformed>) -> Result<T, Malformed> {
        let (key, text) = self.text()?;
        read(text).map_err(|error| Malformed(format!("The value of parameter {} is wrong: {error}", clipped(key))))
    }

    fn parse<T: std::str::FromStr>(self, expected: &str) -> Result<T, Malformed> {
        self.read(|text| text.parse().map_err(|_| Malformed(format!("it must be {expected}."))))
    }
}

struct Children<'p> {
    /// Of which the children so far are gone.
    node: Node<'p>,
}

impl<'p> Iterator for Children<'p> {
    type Item = (&'p str, Node<'p>);

    fn next(&mut self) -> Option<Self::Item> {
        let Node { operation, parameters, start } = self.node;
        let part = |parameter: &'p Parameter<'p>| {
            let rest = parameter.key.get(start..).unwrap_or_default();
            rest.split('.').next().unwrap_or_default()
        };
        let name = part(parameters.first()?);
        let count = parameters.iter().take_while(|parameter| part(parameter) == name).count();
        let (child, rest) = parameters.split_at(count);
        self.node.parameters = rest;
        Some((name, Node { operation, parameters: child, start: start + name.len() + 1 }))
    }
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Malformed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.read(|text| visitor.visit_str(text))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let value = self.read(|text| match text {
            text if text.eq_ignore_ascii_case("true") => Ok(true),
            text if text.eq_ignore_ascii_case("false") => Ok(false),
            _ => Err(Malformed("it must be true or false.".into())),
        })?;
        visitor.visit_bool(value)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_i64(self.parse("an integer")?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_u64(self.parse("an integer of at least 0")?)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_f64(self.parse("a number")?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        members: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Malformed> {
        visitor.visit_map(Struct { children: self.children(), members, seen: 0, value: None })
    }

    /// Also takes `AttributeName=All`, and `AttributeName=` as a list of nothing, which is how some clients send it.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let lone = self.value().filter(|(_, text)| !text.is_empty()).map(|_| self);
        visitor.visit_seq(List(self.items().chain(lone)))
    }

    /// Also takes `Attribute.Name=DelaySeconds&Attribute.Value=5`, as examples of SetQueueAttributes have it.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        let lone = self.child(ENTRY_KEYS).map(|_| self);
        visitor.visit_map(Map { entries: self.items().chain(lone), value: None })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Malformed> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u128 f32 char str string bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

/// The members of a struct.
struct Struct<'p> {
    children: Children<'p>,
    members: &'static [&'static str],
    /// A bit for each of `members`: a client may write a member by more than one name, and the first counts.
    seen: u64,
    value: Option<Node<'p>>,
}

impl<'de> MapAccess<'de> for Struct<'_> {
    type Error = Malformed;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Malformed> {
        for (name, child) in self.children.by_ref() {
            let Some(index) = names::member(child.operation, self.members, name) else { continue };
            let bit = 1_u64.checked_shl(index as u32).unwrap_or_default();
            if self.seen & bit == 0 {
                self.seen |= bit;
                self.value = Some(child);
                let name: StrDeserializer<'_, Malformed> = self.members[index].into_deserializer();
                return seed.deserialize(name).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Malformed> {
        seed.deserialize(self.value.take().expect("a value is asked for after its key"))
    }
}

struct List<I>(I);

impl<'de, 'p, I: Iterator<Item = Node<'p>>> SeqAccess<'de> for List<I> {
    type Error = Malformed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Malformed> {
        self.0.next().map(|item| seed.deserialize(item)).transpose()
    }
}

/// What clients call the key of a map's entry, and the value. Which of these it is depends on the member; whoever
/// writes another means the same.
const ENTRY_KEYS: &[&str] = &["Name", "Key", "key"];
const ENTRY_VALUES: &[&str] = &["Value", "value"];

struct Map<'p, I> {
    entries: I,
    value: Option<Node<'p>>,
}

impl<'de, 'p, I: Iterator<Item = Node<'p>>> MapAccess<'de> for Map<'p, I> {
    type Error = Malformed;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Malformed> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        let nothing = Node { parameters: &[], ..entry };
        self.value = Some(entry.child(ENTRY_VALUES).unwrap_or(nothing));
        seed.deserialize(entry.child(ENTRY_KEYS).unwrap_or(nothing)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Malformed> {
        seed.deserialize(self.value.take().expect("a value is asked for after its key"))
    }
}

//! The configuration file.

use super::{Given, Problem, Source, did_you_mean};
use crate::settings::{ALL, Settings};
use model::{AccountId, Region};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A queue that is made at start-up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredQueue {
    pub name: String,
    /// Where it isn't said, the setting `region` decides.
    pub region: Option<Region>,
    /// Where it isn't said, the setting `default_account` decides.
    pub account: Option<AccountId>,
    pub attributes: BTreeMap<String, String>,
    pub tags: BTreeMap<String, String>,
    /// Where in the file it is declared.
    pub source: Source,
}

/// What a `[[queue]]` can say.
const QUEUE_KEYS: [&str; 5] = ["name", "region", "account", "attributes", "tags"];

/// Reads a file: settings into `given`, what is wrong into `problems`. Returns the queues that it declares.
pub fn read(path: &Path, text: &str, given: &mut Given, problems: &mut Vec<Problem>) -> Vec<DeclaredQueue> {
    let mut reader = Reader { path, text, problems };
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            reader.wrong(&error.span().unwrap_or_default(), error.message());
            return Vec::new();
        }
    };
    let mut queues = Vec::new();
    for (key, value) in table.get_ref() {
        match (Settings::by_key(key.get_ref()), key.get_ref().as_ref()) {
            (Some(setting), _) => {
                if let Some(text) = reader.scalar(key, value) {
                    given.add(setting, text, reader.source(&key.span()));
                }
            }
            (None, "queue") => queues = reader.queues(value),
            (None, name) => {
                let names = ALL.iter().map(|setting| setting.key).chain(["queue"]);
                reader.unknown("setting", name, &key.span(), names);
            }
        }
    }
    queues
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    problems: &'a mut Vec<Problem>,
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;
type Value<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn source(&self, span: &Range<usize>) -> Source {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Source::File { path: self.path.into(), line }
    }

    fn wrong(&mut self, span: &Range<usize>, sentence: impl fmt::Display) {
        let source = self.source(span);
        self.problems.push(Problem::new(&source, sentence));
    }

    fn unknown(&mut self, what: &str, name: &str, span: &Range<usize>, names: impl Iterator<Item = &'static str>) {
        let hint = did_you_mean(name, names.map(str::to_owned));
        self.wrong(span, format!("no such {what}: `{name}`{hint}"));
    }

    /// A value that isn't a list or a table, as text.
    fn scalar(&mut self, key: &Key<'_>, value: &Value<'_>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().into()),
            DeValue::Float(number) => Some(number.as_str().into()),
            DeValue::Boolean(yes) => Some(yes.to_string()),
            other => {
                let kind = other.type_str();
                self.wrong(
                    &key.span(),
                    format!("{}: expected a string, a number or a switch, not {kind}", key.get_ref()),
                );
                None
            }
        }
    }

    fn queues(&mut self, value: &Value<'_>) -> Vec<DeclaredQueue> {
        let Some(tables) = value.get_ref().as_array() else {
            self.wrong(&value.span(), "a queue is declared by [[queue]], with two brackets");
            return Vec::new();
        };
        tables.iter().filter_map(|table| self.queue(table)).collect()
    }

    fn queue(&mut self, value: &Value<'_>) -> Option<DeclaredQueue> {
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(&value.span(), "a queue is declared by [[queue]] and its members");
            return None;
        };
        let source = self.source(&value.span());
        let (mut name, mut region, mut account) = (None, None, None);
        let (mut attributes, mut tags) = (BTreeMap::new(), BTreeMap::new());
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "name" => name = self.scalar(key, value),
                "region" => region = self.parsed(key, value, Region::parse, "a Region, such as us-east-1"),
                "account" => account = self.parsed(key, value, AccountId::parse, "twelve digits in quotes"),
                "attributes" => attributes = self.map(key, value),
                "tags" => tags = self.map(key, value),
                other => self.unknown("member of a queue", other, &key.span(), QUEUE_KEYS.into_iter()),
            }
        }
        if name.is_none() && !table.contains_key("name") {
            self.wrong(&value.span(), "the queue has no name: name = \"orders\"");
        }
        Some(DeclaredQueue { name: name?, region, account, attributes, tags, source })
    }

    fn parsed<T>(&mut self, key: &Key<'_>, value: &Value<'_>, parse: fn(&str) -> Option<T>, form: &str) -> Option<T> {
        let text = self.scalar(key, value)?;
        let parsed = parse(&text);
        if parsed.is_none() {
            self.wrong(&key.span(), format!("{} = {text:?}: expected {form}", key.get_ref()));
        }
        parsed
    }

    fn map(&mut self, key: &Key<'_>, value: &Value<'_>) -> BTreeMap<String, String> {
        let Some(table) = value.get_ref().as_table() else {
            let name = key.get_ref();
            self.wrong(&key.span(), format!("{name}: expected names and values: [queue.{name}]"));
            return BTreeMap::new();
        };
        let pair = |(key, value)| Some((Key::get_ref(key).to_string(), self.scalar(key, value)?));
        table.iter().filter_map(pair).collect()
    }
}

/// As it could stand in the file.
impl fmt::Display for DeclaredQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, region, account, attributes, tags, source } = self;
        writeln!(f, "{:<60} # {source}", "[[queue]]")?;
        writeln!(f, "name = {name:?}")?;
        if let Some(region) = region {
            writeln!(f, "region = \"{region}\"")?;
        }
        if let Some(account) = account {
            writeln!(f, "account = \"{account}\"")?;
        }
        for (title, map) in [("attributes", attributes), ("tags", tags)] {
            if !map.is_empty() {
                writeln!(f, "[queue.{title}]")?;
                map.iter().try_for_each(|(key, value)| writeln!(f, "{key:?} = {value:?}"))?;
            }
        }
        Ok(())
    }
}

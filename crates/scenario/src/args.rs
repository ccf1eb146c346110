//! The words of a command.
//!
//! ```text
//!   send-batch a delay=5s b{1..3} queue=orders
//!   command    │ option   │       option
//!              plain      └─ stands for b1 b2 b3
//! ```

/// What follows a command, to be taken word by word; what nobody takes is a mistake in the scenario.
#[derive(Debug)]
pub struct Args {
    words: Vec<String>,
}

impl Args {
    /// Splits a line at spaces. A word with `{1..3}` in it stands for three.
    pub fn new(line: &str) -> Self {
        Self { words: line.split_whitespace().flat_map(expanded).collect() }
    }

    /// Takes the next plain word.
    pub fn plain(&mut self) -> Option<String> {
        let at = self.words.iter().position(|word| !word.contains('='))?;
        Some(self.words.remove(at))
    }

    /// Takes the next plain word, which must be there.
    pub fn required(&mut self) -> String {
        self.plain().unwrap_or_else(|| panic!("a word is missing"))
    }

    /// Takes all plain words.
    pub fn all_plain(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.plain()).collect()
    }

    /// Takes an option by its name.
    pub fn option(&mut self, name: &str) -> Option<String> {
        let value = |word: &String| Some(word.strip_prefix(name)?.strip_prefix('=')?.to_owned());
        let at = self.words.iter().position(|word| value(word).is_some())?;
        value(&self.words.remove(at))
    }

    /// Takes a length of time, in seconds: `30s`, `15m`, `12h`, `4d`.
    pub fn seconds(&mut self, name: &str) -> Option<i64> {
        self.option(name).map(|text| seconds(&text))
    }

    pub fn number(&mut self, name: &str) -> Option<i64> {
        self.option(name).map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
    }

    /// Takes a list with commas in it.
    pub fn list(&mut self, name: &str) -> Vec<String> {
        self.option(name).map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
    }

    /// Takes all options that are left, in their order.
    pub fn all_options(&mut self) -> Vec<(String, String)> {
        let is_option = |word: &str| word.contains('=');
        let (options, rest) = std::mem::take(&mut self.words).into_iter().partition(|word| is_option(word));
        self.words = rest;
        let options: Vec<String> = options;
        let split = |word: &String| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        options.iter().filter_map(split).collect()
    }

    /// Takes the pairs of a keyword and the word after it: `attr Foo=String:Bar`.
    pub fn after(&mut self, keyword: &str) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(at) = self.words.iter().position(|word| word == keyword) {
            assert!(at + 1 < self.words.len(), "a word is missing after {keyword}");
            found.push(self.words.remove(at + 1));
            self.words.remove(at);
        }
        found
    }

    /// Splits off the entries of a batch: each plain word with the options that follow it.
    pub fn entries(&mut self) -> Vec<(String, Args)> {
        let mut entries: Vec<(String, Args)> = Vec::new();
        for word in std::mem::take(&mut self.words) {
            match entries.last_mut() {
                Some((_, args)) if word.contains('=') => args.words.push(word),
                None if word.contains('=') => panic!("{word} belongs to no entry"),
                _ => entries.push((word, Args { words: Vec::new() })),
            }
        }
        entries
    }

    /// Nothing may be left.
    pub fn finish(self) {
        assert!(self.words.is_empty(), "not understood: {}", self.words.join(" "));
    }
}

/// Reads a length of time, in seconds.
pub fn seconds(text: &str) -> i64 {
    let units = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];
    let read = |(unit, seconds): (char, i64)| Some(text.strip_suffix(unit)?.parse::<i64>().ok()? * seconds);
    units.into_iter().find_map(read).unwrap_or_else(|| panic!("{text} is no length of time such as 30s, 15m, 12h, 4d"))
}

fn expanded(word: &str) -> Vec<String> {
    let range = || {
        let (before, rest) = word.split_once('{')?;
        let (range, after) = rest.split_once('}')?;
        let (first, last) = range.split_once("..")?;
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some((first..=last).map(|number| format!("{before}{number}{after}")).collect())
    };
    range().unwrap_or_else(|| vec![word.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_by_what_they_are() {
        let mut args = Args::new("a delay=5s b{1..3} attr X=1 queue=orders");
        assert_eq!(args.after("attr"), ["X=1"]);
        assert_eq!(args.option("queue").as_deref(), Some("orders"));
        let entries = args.entries();
        let names: Vec<_> = entries.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b1", "b2", "b3"]);
        assert_eq!(entries.into_iter().next().expect("four").1.seconds("delay"), Some(5));
        args.finish();
    }

    #[test]
    fn lengths_of_time() {
        for (text, expected) in [("0s", 0), ("-1s", -1), ("15m", 900), ("12h", 43_200), ("4d", 345_600)] {
            assert_eq!(seconds(text), expected);
        }
    }
}

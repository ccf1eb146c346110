//! How numbers and texts are laid out in everything that a shard stores.
//!
//! ```text
//! number   7 bits a byte, lowest first, the top bit says that more follow (LEB128); at most 10 bytes
//! bytes    number: how many; then they
//! text     bytes that are UTF-8
//! option   a byte 0, or a byte 1 and the value
//! ```

use bytes::Bytes;
use std::fmt;

/// Stored bytes that don't say what they should. Carries what was being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// Why stored bytes can't be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// They don't say what they should.
    Malformed(Malformed),
    /// They were written in a format that came after this program. `what` is counted: a snapshot format, a kind of change.
    Newer { what: &'static str, found: u32, known: u32 },
}

impl From<Malformed> for Unreadable {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Newer { what, found, known } => write!(
                f,
                "written by a newer version of Posthouse ({what} {found}; this one reads up to {known}). Run the newer \
                 version, or restore the data directory from a backup of the older one"
            ),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Checks the version that stored bytes say they have, before anything else in them is believed.
pub(crate) fn check_version(what: &'static str, found: u32, known: u32) -> Result<(), Unreadable> {
    match found {
        0 => Err(Malformed("a format version of zero").into()),
        _ if found > known => Err(Unreadable::Newer { what, found, known }),
        _ => Ok(()),
    }
}

/// Appends to a buffer.
pub(crate) struct Writer<'a>(pub &'a mut Vec<u8>);

impl Writer<'_> {
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub fn length(&mut self, length: usize) {
        self.number(length as u64);
    }

    pub fn pair(&mut self, kind: u8, number: u64) {
        self.byte(kind);
        self.number(number);
    }

    pub fn fixed(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.fixed(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub fn optional_text(&mut self, text: Option<&str>) {
        match text {
            None => self.byte(0),
            Some(text) => {
                self.byte(1);
                self.text(text);
            }
        }
    }
}

/// Reads from a slice. Never allocates more than the slice has bytes.
pub(crate) struct Reader<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    /// How far it has read.
    pub fn position(&self) -> usize {
        self.at
    }

    pub fn is_at_end(&self) -> bool {
        self.at == self.all.len()
    }

    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.all.get(self.at).ok_or(Malformed("ends too early"))?;
        self.at += 1;
        Ok(byte)
    }

    pub fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed("a number is too large"));
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed("a number is too long"))
    }

    pub fn number_u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed("a number is too large"))
    }

    /// How many things follow. Each takes a byte at least, so more than the bytes that are left can't be true.
    pub fn length(&mut self) -> Result<usize, Malformed> {
        let length = usize::try_from(self.number()?).map_err(|_| Malformed("a length is too large"))?;
        if length > self.all.len() - self.at {
            return Err(Malformed("a length points past the end"));
        }
        Ok(length)
    }

    pub fn slice(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let rest = &self.all[self.at..];
        let slice = rest.get(..length).ok_or(Malformed("ends too early"))?;
        self.at += length;
        Ok(slice)
    }

    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        Ok(self.slice(N)?.try_into().expect("the slice has N bytes"))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.length()?;
        self.slice(length)
    }

    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed("a text is not UTF-8"))
    }

    pub fn optional_text(&mut self) -> Result<Option<String>, Malformed> {
        match self.byte()? {
            0 => Ok(None),
            1 => Ok(Some(self.text()?.to_owned())),
            _ => Err(Malformed("an option is neither there nor absent")),
        }
    }

    /// Like [`Self::bytes`], as a part of `shared`, which this reader reads.
    pub fn shared_bytes(&mut self, shared: &Bytes) -> Result<Bytes, Malformed> {
        let length = self.length()?;
        let from = self.at;
        self.at += length;
        Ok(shared.slice(from..from + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_written() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            Writer(&mut bytes).number(number);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.number(), Ok(number));
            assert!(reader.is_at_end());
        }
    }

    #[test]
    fn numbers_that_no_one_writes_are_refused() {
        assert!(Reader::new(&[0x80; 11]).number().is_err());
        assert!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]).number().is_err());
        assert!(Reader::new(&[0x80]).number().is_err());
        assert!(Reader::new(&[5, 1, 2]).bytes().is_err());
        assert!(Reader::new(&[1, 0xff]).text().is_err());
    }
}

//! Reads HTTP/1.1 replies out of a stream of bytes, doing as little as a load generator can.
//!
//!   socket ──▶ space / filled ──▶ [ head ¦ body ¦ start of the next reply … ] ──▶ reply
//!                                            └ is_complete: has all of it arrived?
//!
//! No I/O in here: whoever owns the socket puts bytes in and asks whether a whole reply has arrived. What is known of
//! a reply that is still arriving is kept, so that no byte of a head is looked at twice.

use memchr::memmem;
use std::fmt;

/// Most bytes that a head or a body may have. Ten messages of 1 MiB, which a peer without AWS's limit might send, fit.
const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Room offered to each read of the socket.
const READ_BYTES: usize = 32 * 1024;

/// A whole reply. It borrows from the reader until the next one is asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    pub status: u16,
    /// Whether the connection can carry another request.
    pub keeps_alive: bool,
    pub body: &'a [u8],
}

/// Why the bytes that came are no HTTP reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "malformed reply: {}", self.0)
    }
}

/// Where a reply's body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    /// With neither header, the body goes on until the server hangs up.
    UntilClose,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    status: u16,
    keeps_alive: bool,
    framing: Framing,
    /// Bytes from the start of the head to the start of the body.
    bytes: usize,
}

/// Collects bytes of one connection and cuts them into replies.
#[derive(Debug, Default)]
pub struct ReplyReader {
    /// `buffer[start..end]` has arrived and belongs to no finished reply.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    head: Option<Head>,
    /// Of a chunked body: what was unpacked, and how far behind the head the next chunk begins.
    unpacked: Vec<u8>,
    unpacked_upto: usize,
    /// Bytes of the finished reply that [`Self::reply`] shows, dropped when the next one is asked for.
    finished: Option<usize>,
    hung_up: bool,
}

impl ReplyReader {
    /// Where the next bytes from the socket go; tell [`Self::filled`] how many came.
    pub fn space(&mut self) -> &mut [u8] {
        self.drop_finished();
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.buffer.len() < self.end + READ_BYTES && self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() < self.end + READ_BYTES {
            self.buffer.resize((self.end + READ_BYTES).next_power_of_two(), 0);
        }
        &mut self.buffer[self.end..]
    }

    /// Notes that `bytes` have been written to [`Self::space`]. None at all means that the server hung up.
    pub fn filled(&mut self, bytes: usize) {
        self.end += bytes;
        self.hung_up = bytes == 0;
    }

    /// Whether a whole reply has arrived, which [`Self::reply`] then shows. Interim replies (1xx) are skipped.
    pub fn is_complete(&mut self) -> Result<bool, Malformed> {
        self.drop_finished();
        loop {
            let head = match self.head {
                Some(head) => head,
                None => match parse_head(&self.buffer[self.start..self.end])? {
                    Some(head) if (100..200).contains(&head.status) => {
                        self.start += head.bytes;
                        continue;
                    }
                    Some(head) => *self.head.insert(head),
                    None if self.hung_up => return Err(Malformed("the server hung up before the head ended")),
                    None => return Ok(false),
                },
            };
            let body = &self.buffer[self.start + head.bytes..self.end];
            let body_bytes = match head.framing {
                Framing::Length(bytes) => (body.len() >= bytes).then_some(bytes),
                Framing::UntilClose => self.hung_up.then_some(body.len()),
                Framing::Chunked => unpack(body, &mut self.unpacked_upto, &mut self.unpacked)?,
            };
            if body_bytes.is_none() && self.hung_up {
                return Err(Malformed("the server hung up before the body ended"));
            }
            if body_bytes.is_none() && body.len() > REPLY_BYTES_MAX {
                return Err(Malformed("the body is larger than 16 MiB"));
            }
            self.finished = body_bytes.map(|bytes| head.bytes + bytes);
            return Ok(self.finished.is_some());
        }
    }

    /// The reply that [`Self::is_complete`] found.
    pub fn reply(&self) -> Reply<'_> {
        let head = self.head.expect("is_complete said that a reply is here");
        let reply_bytes = self.finished.expect("is_complete said that a reply is here");
        let body = match head.framing {
            Framing::Chunked => &self.unpacked[..],
            _ => &self.buffer[self.start + head.bytes..self.start + reply_bytes],
        };
        Reply { status: head.status, keeps_alive: head.keeps_alive, body }
    }

    fn drop_finished(&mut self) {
        if let Some(bytes) = self.finished.take() {
            self.start += bytes;
            self.head = None;
            self.unpacked.clear();
            self.unpacked_upto = 0;
        }
    }
}

/// The head at the start of `bytes`, or nothing while it hasn't all arrived.
fn parse_head(bytes: &[u8]) -> Result<Option<Head>, Malformed> {
    let Some(length) = memmem::find(bytes, b"\r\n\r\n") else {
        let fits = bytes.len() <= REPLY_BYTES_MAX;
        return if fits { Ok(None) } else { Err(Malformed("the head is larger than 16 MiB")) };
    };
    let mut lines = bytes[..length].split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let first = lines.next().unwrap_or_default();
    let version = first.strip_prefix(b"HTTP/1.").ok_or(Malformed("no HTTP/1 status line"))?;
    let status = version.get(2..5).and_then(decimal).ok_or(Malformed("no status"))?;
    let status = u16::try_from(status).map_err(|_| Malformed("no status"))?;

    let mut keeps_alive = version.first() == Some(&b'1');
    let mut framing = if status == 204 || status == 304 { Framing::Length(0) } else { Framing::UntilClose };
    for line in lines {
        let colon = memchr::memchr(b':', line).ok_or(Malformed("a header without a colon"))?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            let bytes = decimal(value).filter(|&bytes| bytes <= REPLY_BYTES_MAX);
            framing = Framing::Length(bytes.ok_or(Malformed("a content length that is no number up to 16 MiB"))?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") && value.eq_ignore_ascii_case(b"chunked") {
            framing = Framing::Chunked;
        } else if name.eq_ignore_ascii_case(b"connection") {
            keeps_alive = !value.eq_ignore_ascii_case(b"close");
        }
    }
    keeps_alive &= framing != Framing::UntilClose;
    Ok(Some(Head { status, keeps_alive, framing, bytes: length + 4 }))
}

/// Appends the chunks that have wholly arrived to `unpacked`, from `upto` on. Returns the bytes of the whole chunked
/// body once its last chunk and trailer are here.
fn unpack(body: &[u8], upto: &mut usize, unpacked: &mut Vec<u8>) -> Result<Option<usize>, Malformed> {
    loop {
        let rest = &body[*upto..];
        let Some(line_bytes) = memmem::find(rest, b"\r\n") else { return Ok(None) };
        let size = rest[..line_bytes].split(|&byte| byte == b';').next().unwrap_or_default();
        let size = std::str::from_utf8(size.trim_ascii()).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.filter(|&size| size <= REPLY_BYTES_MAX).ok_or(Malformed("a chunk without a size"))?;
        let data = line_bytes + 2;
        if size == 0 {
            // The trailer: header lines, if any, and an empty line. The size's own line break may be part of its end.
            let end = memmem::find(&rest[line_bytes..], b"\r\n\r\n");
            return Ok(end.map(|end| *upto + line_bytes + end + 4));
        }
        if rest.len() < data + size + 2 {
            return Ok(None);
        }
        if rest[data + size..data + size + 2] != *b"\r\n" {
            return Err(Malformed("a chunk that doesn't end where it said"));
        }
        unpacked.extend_from_slice(&rest[data..data + size]);
        *upto += data + size + 2;
    }
}

fn decimal(text: &[u8]) -> Option<usize> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    const EMPTY: &str = "HTTP/1.1 204 No Content\r\n\r\n";
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                           2\r\nhe\r\n3;why=not\r\nllo\r\n0\r\n\r\n";
    const TRAILER: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nDigest: x\r\n\r\n";
    const CONTINUED: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    const CLOSING: &str = "HTTP/1.1 400 BAD REQUEST\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbad";
    const OLD: &str = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello";

    type Owned = (u16, bool, String);

    /// Feeds `stream` in pieces of `piece_bytes` and returns the replies that came out, and whether it ended well.
    fn read(stream: &str, piece_bytes: usize, hangs_up: bool) -> (Vec<Owned>, Result<bool, Malformed>) {
        let mut reader = ReplyReader::default();
        let mut replies = Vec::new();
        let hang_up = hangs_up.then_some(&[][..]);
        for piece in stream.as_bytes().chunks(piece_bytes).chain(hang_up) {
            reader.space()[..piece.len()].copy_from_slice(piece);
            reader.filled(piece.len());
            loop {
                match reader.is_complete() {
                    Ok(true) => {
                        let Reply { status, keeps_alive, body } = reader.reply();
                        replies.push((status, keeps_alive, String::from_utf8_lossy(body).into_owned()));
                        if hangs_up && piece.is_empty() {
                            return (replies, Ok(true));
                        }
                    }
                    Ok(false) => break,
                    Err(malformed) => return (replies, Err(malformed)),
                }
            }
        }
        (replies, Ok(false))
    }

    #[test]
    fn replies_come_out_whole_however_the_bytes_were_split() {
        let stream = [PLAIN, EMPTY, CHUNKED, TRAILER, CONTINUED, OLD, CLOSING, PLAIN].concat();
        let wanted: Vec<Owned> = [
            (200, true, "hello"),
            (204, true, ""),
            (200, true, "hello"),
            (200, true, "hello"),
            (200, true, "hello"),
            (200, false, "hello"),
            (400, false, "bad"),
            (200, true, "hello"),
        ]
        .map(|(status, keeps_alive, body)| (status, keeps_alive, body.to_owned()))
        .to_vec();
        for piece_bytes in 1..=stream.len() {
            assert_eq!(read(&stream, piece_bytes, false), (wanted.clone(), Ok(false)), "in pieces of {piece_bytes}");
        }
    }

    #[test]
    fn a_body_without_a_length_ends_when_the_server_hangs_up() {
        let stream = "HTTP/1.1 200 OK\r\n\r\nhello";
        let wanted = (200, false, "hello".to_owned());
        for piece_bytes in 1..=stream.len() {
            assert_eq!(read(stream, piece_bytes, true), (vec![wanted.clone()], Ok(true)), "in pieces of {piece_bytes}");
        }
    }

    #[test]
    fn a_server_that_hangs_up_too_soon_is_noticed() {
        for reply in [PLAIN, CHUNKED, TRAILER] {
            for kept in 1..reply.len() {
                let (replies, end) = read(&reply[..kept], kept, true);
                assert!(replies.is_empty() && end.is_err(), "{kept} bytes of {reply:?}");
            }
        }
    }

    #[test]
    fn what_is_no_http_reply_is_refused() {
        let cases = [
            ("SSH-2.0-OpenSSH\r\n\r\n", "no HTTP/1 status line"),
            ("HTTP/1.1 abc\r\n\r\n", "no status"),
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "a header without a colon"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "a content length that is no number up to 16 MiB"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "a content length that is no number up to 16 MiB"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "a chunk without a size"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabcd",
                "a chunk that doesn't end where it said",
            ),
        ];
        for (stream, why) in cases {
            assert_eq!(read(stream, stream.len(), false), (vec![], Err(Malformed(why))), "{stream:?}");
        }
    }

    #[test]
    fn a_large_reply_arrives_whole() {
        let body = "x".repeat(3 * READ_BYTES);
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let stream = reply.repeat(3);
        assert_eq!(read(&stream, 10_000, false).0, vec![(200, true, body); 3]);
    }
}

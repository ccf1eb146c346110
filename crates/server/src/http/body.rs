//! The body of a request, in memory: bounded before it is read, while it is read, and while it is decompressed.
//!
//! ```text
//!   Content-Length ──too large?──▶ 413
//!        │
//!        ▼            each part
//!   socket ─▶ part ─▶ claims its bytes from the budget of all requests ──none left?──▶ 503
//!               │
//!               ▼
//!            gzip? ─▶ inflated, claiming as it grows ──too large?──▶ 413
//! ```

use api::{Error, ErrorKind};
use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use http::header::{CONTENT_ENCODING, EXPECT};
use http::request::Parts;
use http_body_util::BodyExt;
use hyper::body::Body;
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What a body may take.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// As sent, and once it is decompressed.
    pub bytes_max: usize,
    /// Longest wait for its next part.
    pub pause_max: Duration,
}

/// Longest time for which a body that is too large is read and thrown away.
const DISCARD_MAX: Duration = Duration::from_secs(2);

/// Memory for the bodies of all requests being carried out.
#[derive(Debug)]
pub struct Budget {
    bytes_max: usize,
    used: AtomicUsize,
}

impl Budget {
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, used: AtomicUsize::new(0) }
    }

    /// Nothing as yet.
    pub fn claim(&self) -> Claim<'_> {
        Claim { budget: self, bytes: 0 }
    }
}

/// One request's share of the budget. Dropping it gives it back.
#[derive(Debug)]
pub struct Claim<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Claim<'_> {
    /// Takes more.
    ///
    /// Errors: [`ErrorKind::ServiceUnavailable`] when there isn't as much.
    fn grow(&mut self, bytes: usize) -> Result<(), Error> {
        let taken = |used: usize| used.checked_add(bytes).filter(|&used| used <= self.budget.bytes_max);
        match self.budget.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken) {
            Ok(_) => {
                self.bytes += bytes;
                Ok(())
            }
            Err(_) => Err(Error::new(
                ErrorKind::ServiceUnavailable,
                "The requests being carried out take all the memory set aside for them. Try again.",
            )),
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Reads a body to its end and decompresses it. The bytes are claimed for as long as `claim` lives.
///
/// Errors: [`ErrorKind::RequestEntityTooLarge`], [`ErrorKind::ServiceUnavailable`] when memory is short,
/// [`ErrorKind::RequestTimeout`], [`ErrorKind::UnsupportedMediaType`] for encodings other than gzip, and
/// [`ErrorKind::Serialization`] for what is no gzip.
pub async fn read<B>(parts: &Parts, body: B, limits: BodyLimits, claim: &mut Claim<'_>) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let is_gzip = is_gzip(parts)?;
    let bytes = read_all(parts, body, limits, claim).await?;
    if is_gzip { inflate(&bytes, limits.bytes_max, claim) } else { Ok(bytes) }
}

async fn read_all<B>(parts: &Parts, mut body: B, limits: BodyLimits, claim: &mut Claim<'_>) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    let announced = body.size_hint().lower();
    if announced > limits.bytes_max as u64 {
        if !parts.headers.contains_key(EXPECT) {
            discard(&mut body, limits).await;
        }
        return Err(too_large(limits.bytes_max));
    }
    // Nearly always the whole body is one part, and stays where it was read.
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(part) = next_part(&mut body, limits.pause_max).await? {
        if first.len() + all.len() + part.len() > limits.bytes_max {
            discard(&mut body, limits).await;
            return Err(too_large(limits.bytes_max));
        }
        claim.grow(part.len())?;
        if first.is_empty() && all.is_empty() {
            first = part;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&part);
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

/// The next part; nothing at the end. Trailers are skipped.
async fn next_part<B>(body: &mut B, pause_max: Duration) -> Result<Option<Bytes>, Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    loop {
        let Ok(frame) = tokio::time::timeout(pause_max, body.frame()).await else {
            return Err(Error::new(
                ErrorKind::RequestTimeout,
                "The rest of the request's body did not arrive in time.",
            ));
        };
        match frame {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(part) = frame.into_data() {
                    return Ok(Some(part));
                }
            }
            // The client has gone, or what it sends is no body. It may still hear why.
            Some(Err(_)) => return Err(Error::new(ErrorKind::Serialization, "The request's body is cut short.")),
        }
    }
}

/// Reads on for a while without keeping anything: a client that is still sending doesn't hear an answer.
async fn discard<B>(body: &mut B, limits: BodyLimits)
where
    B: Body<Data = Bytes> + Unpin,
{
    // Chosen: enough for any mistake; who sends more than that, or drips, is cut off.
    let mut left = limits.bytes_max.saturating_mul(8);
    let all = async {
        while let Ok(Some(part)) = next_part(body, limits.pause_max).await {
            left = left.saturating_sub(part.len());
            if left == 0 {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_MAX, all).await;
}

fn is_gzip(parts: &Parts) -> Result<bool, Error> {
    match parts.headers.get(CONTENT_ENCODING).map(|value| value.as_bytes().trim_ascii()) {
        // aws-chunked is the other encoding that SDKs have, for S3 only.
        None | Some(b"" | b"identity") => Ok(false),
        Some(encoding) if encoding.eq_ignore_ascii_case(b"gzip") => Ok(true),
        Some(_) => Err(Error::new(
            ErrorKind::UnsupportedMediaType,
            "The Content-Encoding of the request is not supported. Send the body with gzip or as it is.",
        )),
    }
}

fn inflate(compressed: &[u8], bytes_max: usize, claim: &mut Claim<'_>) -> Result<Bytes, Error> {
    const STEP_BYTES: usize = 16 << 10;
    let mut decoder = MultiGzDecoder::new(compressed);
    let mut inflated = BytesMut::new();
    let mut step = [0; STEP_BYTES];
    loop {
        let read = decoder.read(&mut step).map_err(|_| {
            Error::new(ErrorKind::Serialization, "The request's body is not gzip, as its Content-Encoding says it is.")
        })?;
        if read == 0 {
            return Ok(inflated.freeze());
        }
        if inflated.len() + read > bytes_max {
            return Err(too_large(bytes_max));
        }
        claim.grow(read)?;
        inflated.extend_from_slice(&step[..read]);
    }
}

fn too_large(bytes_max: usize) -> Error {
    Error::new(
        ErrorKind::RequestEntityTooLarge,
        format!("The request's body is larger than {bytes_max} bytes, the most that this server takes."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use http_body_util::Full;
    use hyper::body::Frame;
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::io::Write;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    const LIMITS: BodyLimits = BodyLimits { bytes_max: 1_000, pause_max: Duration::from_secs(60) };

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }

    async fn read_with(budget: &Budget, encoding: &str, body: impl Into<Bytes>) -> Result<usize, ErrorKind> {
        let request = http::Request::post("/").header("Content-Encoding", encoding).body(()).expect("a request");
        let body = Full::new(body.into());
        let mut claim = budget.claim();
        let read = read(&request.into_parts().0, body, LIMITS, &mut claim).await;
        read.map(|bytes| bytes.len()).map_err(|error| error.kind)
    }

    #[tokio::test]
    async fn a_body_is_bounded_also_when_it_is_inflated() {
        let budget = Budget::new(10_000);
        let zeros = |bytes: usize| gzip(&vec![0; bytes]);
        for (encoding, body, expected) in [
            ("", vec![], Ok(0)),
            ("", vec![0; 1_000], Ok(1_000)),
            ("identity", vec![0; 1_000], Ok(1_000)),
            ("", vec![0; 1_001], Err(ErrorKind::RequestEntityTooLarge)),
            ("gzip", zeros(1_000), Ok(1_000)),
            ("GZIP", [zeros(500), zeros(500)].concat(), Ok(1_000)),
            ("gzip", zeros(1_001), Err(ErrorKind::RequestEntityTooLarge)),
            ("gzip", zeros(500_000), Err(ErrorKind::RequestEntityTooLarge)),
            ("gzip", b"not gzip".to_vec(), Err(ErrorKind::Serialization)),
            ("gzip", zeros(900)[..15].to_vec(), Err(ErrorKind::Serialization)),
            ("br", b"x".to_vec(), Err(ErrorKind::UnsupportedMediaType)),
            ("gzip, gzip", zeros(1), Err(ErrorKind::UnsupportedMediaType)),
        ] {
            assert_eq!(read_with(&budget, encoding, body).await, expected, "{encoding}");
        }
        assert_eq!(budget.used.load(Ordering::Relaxed), 0, "everything was given back");
    }

    #[tokio::test]
    async fn all_bodies_together_are_bounded() {
        let budget = Budget::new(1_000);
        let mut other = budget.claim();
        other.grow(600).expect("there is as much");
        assert_eq!(read_with(&budget, "", vec![0; 401]).await, Err(ErrorKind::ServiceUnavailable));
        assert_eq!(read_with(&budget, "gzip", gzip(&[0; 401])).await, Err(ErrorKind::ServiceUnavailable));
        assert_eq!(read_with(&budget, "", vec![0; 400]).await, Ok(400));
        drop(other);
        assert_eq!(read_with(&budget, "", vec![0; 401]).await, Ok(401));
    }

    /// A body of unknown length.
    struct Chunked {
        parts: VecDeque<&'static str>,
        ends: bool,
    }

    impl Body for Chunked {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.parts.pop_front() {
                Some(part) => Poll::Ready(Some(Ok(Frame::data(part.into())))),
                None if self.ends => Poll::Ready(None),
                None => Poll::Pending,
            }
        }
    }

    async fn read_chunked(ends: bool, limits: BodyLimits) -> Result<Bytes, ErrorKind> {
        let (head, ()) = http::Request::post("/").body(()).expect("a request").into_parts();
        let body = Chunked { parts: ["one ", "", "two ", "three"].into(), ends };
        let budget = Budget::new(1_000);
        read(&head, body, limits, &mut budget.claim()).await.map_err(|error| error.kind)
    }

    #[tokio::test]
    async fn parts_are_put_together() {
        assert_eq!(read_chunked(true, LIMITS).await, Ok("one two three".into()));
        let small = BodyLimits { bytes_max: 12, ..LIMITS };
        assert_eq!(read_chunked(true, small).await, Err(ErrorKind::RequestEntityTooLarge));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_large_is_not_waited_for() {
        let small = BodyLimits { bytes_max: 3, ..LIMITS };
        let before = tokio::time::Instant::now();
        assert_eq!(read_chunked(false, small).await, Err(ErrorKind::RequestEntityTooLarge));
        assert_eq!(before.elapsed(), DISCARD_MAX);
    }

    #[tokio::test]
    async fn a_body_that_never_ends_is_given_up() {
        let impatient = BodyLimits { pause_max: Duration::from_millis(1), ..LIMITS };
        assert_eq!(read_chunked(false, impatient).await, Err(ErrorKind::RequestTimeout));
    }
}

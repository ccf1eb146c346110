//! Forms: `Action=SendMessage&MessageBody=a+b%21`, in a URL or in a body.
//!
//! Decoding is strict. Half an escape, or bytes that are no UTF-8, could only be guessed at, and a message that was
//! guessed at is worse than an error.

use crate::call::{MEMBERS_MAX, clipped, too_many_members};
use api::{Error, ErrorKind};
use http::Uri;
use std::borrow::Cow;

/// A name and a value as the client meant them.
#[derive(Debug)]
pub struct Parameter<'a> {
    pub key: Cow<'a, str>,
    pub value: Cow<'a, str>,
}

/// A name and a value as they were sent.
pub struct Pair<'a> {
    key: &'a [u8],
    value: &'a [u8],
}

impl<'a> Pair<'a> {
    /// The name, its escapes untouched.
    pub fn raw_key(&self) -> &'a [u8] {
        self.key
    }

    pub fn key(&self) -> Result<Cow<'a, str>, Error> {
        unescape(self.key).map_err(|reason| malformed("A parameter name", self.key, reason))
    }

    pub fn value(&self) -> Result<Cow<'a, str>, Error> {
        unescape(self.value).map_err(|reason| malformed("The value of parameter", self.key, reason))
    }
}

fn malformed(what: &str, key: &[u8], reason: &str) -> Error {
    let key = String::from_utf8_lossy(key);
    Error::new(ErrorKind::Serialization, format!("{what} {} {reason}", clipped(&key)))
}

/// The parameters of the URL and then those of the body, still escaped. Empty ones (`&&`) are skipped.
pub fn pairs<'a>(uri: &'a Uri, body: &'a [u8]) -> impl Iterator<Item = Pair<'a>> {
    let query = uri.query().unwrap_or_default().as_bytes();
    [query, body].into_iter().flat_map(|form| form.split(|&byte| byte == b'&')).filter(|pair| !pair.is_empty()).map(
        |pair| match pair.iter().position(|&byte| byte == b'=') {
            Some(at) => Pair { key: &pair[..at], value: &pair[at + 1..] },
            None => Pair { key: pair, value: b"" },
        },
    )
}

/// All parameters, unescaped. Those without an escape are not copied.
///
/// Errors: [`ErrorKind::Serialization`] for a bad escape and for text that is no UTF-8;
/// [`ErrorKind::InvalidParameterValue`] for more than [`MEMBERS_MAX`] of them.
pub fn parameters<'a>(uri: &'a Uri, body: &'a [u8]) -> Result<Vec<Parameter<'a>>, Error> {
    let mut parameters = Vec::new();
    for pair in pairs(uri, body) {
        if parameters.len() == MEMBERS_MAX {
            return Err(too_many_members());
        }
        parameters.push(Parameter { key: pair.key()?, value: pair.value()? });
    }
    Ok(parameters)
}

/// Undoes percent escapes, and `+` for a space.
fn unescape(text: &[u8]) -> Result<Cow<'_, str>, &'static str> {
    const NOT_UTF8: &str = "is not valid UTF-8.";
    let Some(first) = text.iter().position(|byte| matches!(byte, b'%' | b'+')) else {
        return std::str::from_utf8(text).map(Cow::Borrowed).map_err(|_| NOT_UTF8);
    };

    let mut plain = Vec::with_capacity(text.len());
    plain.extend_from_slice(&text[..first]);
    let mut rest = text[first..].iter();
    while let Some(&byte) = rest.next() {
        plain.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || rest.next().and_then(|&digit| (digit as char).to_digit(16));
                let (Some(high), Some(low)) = (digit(), digit()) else {
                    return Err("has a percent sign that doesn't begin an escape such as %25.");
                };
                (high * 16 + low) as u8
            }
            plain => plain,
        });
    }
    String::from_utf8(plain).map(Cow::Owned).map_err(|_| NOT_UTF8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Result<&[(&str, &str)], &str>) {
        let uri = Uri::from_static("/");
        let seen = parameters(&uri, body.as_bytes());
        let seen = seen.as_ref().map_err(|error| {
            assert_eq!(error.kind, ErrorKind::Serialization);
            error.message.as_str()
        });
        let seen: Result<Vec<_>, _> =
            seen.map(|all| all.iter().map(|parameter| (&*parameter.key, &*parameter.value)).collect());
        assert_eq!(seen.as_deref(), expected.as_ref().map(|all| *all), "{body}");
    }

    #[test]
    fn forms() {
        check("", Ok(&[]));
        check("&&", Ok(&[]));
        check("a=1&b=2", Ok(&[("a", "1"), ("b", "2")]));
        check("a=x+y%2Bz%20%26", Ok(&[("a", "x y+z &")]));
        check("a%2Eb=%C3%A9%e2%80%93", Ok(&[("a.b", "é–")]));
        check("a&b=&=c&d=e=f", Ok(&[("a", ""), ("b", ""), ("", "c"), ("d", "e=f")]));
        check("a=1&a=2", Ok(&[("a", "1"), ("a", "2")]));
    }

    #[test]
    fn what_could_only_be_guessed_at_is_refused() {
        let escape = "The value of parameter a has a percent sign that doesn't begin an escape such as %25.";
        for body in ["a=%", "a=%4", "a=%zz", "a=b%4", "a=%%41", "a=%+1"] {
            check(body, Err(escape));
        }
        check("a=%ff", Err("The value of parameter a is not valid UTF-8."));
        check("a=%ED%A0%80", Err("The value of parameter a is not valid UTF-8."));
        check("a%=1", Err("A parameter name a% has a percent sign that doesn't begin an escape such as %25."));
    }

    #[test]
    fn parameters_are_bounded() {
        let count = |form: &str| parameters(&Uri::from_static("/"), form.as_bytes()).map(|all| all.len());
        let all = vec!["a"; MEMBERS_MAX].join("&");
        assert_eq!(count(&all), Ok(MEMBERS_MAX));
        assert_eq!(count(&format!("{all}&a")), Err(too_many_members()));
    }

    #[test]
    fn the_url_comes_before_the_body() {
        let uri = Uri::from_static("/?a=url");
        let all = parameters(&uri, b"a=body").expect("a form");
        assert_eq!(all.iter().map(|parameter| &*parameter.value).collect::<Vec<_>>(), ["url", "body"]);
    }
}

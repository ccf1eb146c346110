//! The characters that a message may carry: those of XML 1.0, since every message must fit into an XML answer.
//!
//! Source: SQS API Reference, SendMessage.

/// The first character of `text` that a message may not carry.
pub(super) fn first_forbidden(text: &str) -> Option<char> {
    // A megabyte of plain text is passed a vector at a time; only what looks suspicious is decoded.
    let suspicious = |byte: u8| (byte < 0x20 && !matches!(byte, 0x9 | 0xa | 0xd)) | (byte == 0xef);
    let clean = |chunk: &[u8]| !chunk.iter().fold(false, |found, &byte| found | suspicious(byte));
    if text.as_bytes().chunks(64).all(clean) {
        return None;
    }
    text.chars().find(|&character| !is_allowed(character))
}

/// Surrogates are none of Rust's characters, and so need no rule.
fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// Says which character was found where. The set is written as AWS writes it.
///
/// Observed by field reports: `Invalid binary character '#xFFFF' was found in the message body, …`
pub(super) fn forbidden_text(character: char, place: &str) -> String {
    format!(
        "Invalid binary character '#x{:X}' was found in {place}, the set of allowed characters is \
         #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].",
        u32::from(character)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_judged_alone_and_within_a_long_text() {
        let long = "x".repeat(200);
        for character in ('\0'..='\u{ffff}').chain(['\u{10000}', '\u{1f600}', '\u{10ffff}']) {
            let code = u32::from(character);
            let allowed = matches!(code, 0x9 | 0xa | 0xd | 0x20..=0xd7ff | 0xe000..=0xfffd | 0x10000..=0x10ffff);
            let expected = (!allowed).then_some(character);
            assert_eq!(first_forbidden(&character.to_string()), expected, "{code:x}");
            assert_eq!(first_forbidden(&format!("{long}{character}{long}")), expected, "{code:x}");
        }
        assert_eq!(first_forbidden(""), None);
    }

    #[test]
    fn the_text_names_the_character() {
        assert_eq!(
            forbidden_text('\u{ffff}', "the message body"),
            "Invalid binary character '#xFFFF' was found in the message body, the set of allowed characters is \
             #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]."
        );
    }
}

//! How answers look in a scenario: only what a client can see, and nothing that differs from run to run.

use crate::call::Received;

/// What pads a message's body to its size. Not shown.
pub const PADDING: char = '.';

/// Moments are shown to so many seconds, since at some altitudes real time passes as well.
const MOMENT_SECONDS: u64 = 10;

/// A moment, from the beginning of the scenario: `T+30s`.
pub fn moment(since_1970: u64, began: u64) -> String {
    let passed = since_1970.saturating_sub(began) + MOMENT_SECONDS / 2;
    format!("T+{}s", passed / MOMENT_SECONDS * MOMENT_SECONDS)
}

/// A queue attribute.
pub fn attribute(name: &str, value: &str, began: u64) -> String {
    let value = match (name, value.parse()) {
        ("CreatedTimestamp" | "LastModifiedTimestamp", Ok(seconds)) => moment(seconds, began),
        // The account is another in each run.
        ("QueueArn", _) => {
            value.split(':').map(|part| if is_account(part) { "ACCOUNT" } else { part }).collect::<Vec<_>>().join(":")
        }
        _ => value.to_owned(),
    };
    format!("{name}={value}")
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A message: its name, how often it was received, and the attributes that were asked for.
pub fn message(received: &Received, began: u64) -> String {
    let mut line = received.body.trim_end_matches(PADDING).to_owned();
    let receives = received.system_attributes.get("ApproximateReceiveCount");
    line += &format!(" receives={}", receives.map_or("?", String::as_str));
    for (name, value) in &received.system_attributes {
        match (name.as_str(), value.parse::<u64>()) {
            ("ApproximateReceiveCount", _) => {}
            // Who asks is another at each altitude.
            ("SenderId", _) => line += " SenderId",
            ("SentTimestamp" | "ApproximateFirstReceiveTimestamp", Ok(milliseconds)) => {
                line += &format!(" {name}={}", moment(milliseconds / 1_000, began));
            }
            _ => line += &format!(" {name}={value}"),
        }
    }
    for (name, attribute) in &received.attributes {
        line += &format!(" {name}={}:{}", attribute.data_type, attribute.value);
    }
    line
}

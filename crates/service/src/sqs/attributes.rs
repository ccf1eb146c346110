//! The attributes of a queue: reading those that a request sets, and showing those that it asks for.
//!
//! Source: SQS API Reference, SetQueueAttributes and GetQueueAttributes.

use crate::errors;
use api::sqs::StringMap;
use api::{Error, ErrorKind};
use model::QueueKey;
use model::limits::*;
use serde_json::Value;
use shard::{QueueFacts, Setting};
use std::ops::RangeInclusive;

/// Every attribute that AWS knows, and so may be asked for. Those that a queue doesn't have are left out of the answer.
const NAMES: &[&str] = &[
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
    "ContentBasedDeduplication",
    "CreatedTimestamp",
    "DeduplicationScope",
    "DelaySeconds",
    "FifoQueue",
    "FifoThroughputLimit",
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "LastModifiedTimestamp",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "Policy",
    "QueueArn",
    "ReceiveMessageWaitTimeSeconds",
    "RedriveAllowPolicy",
    "RedrivePolicy",
    "SqsManagedSseEnabled",
    "VisibilityTimeout",
];

/// The names to show for the `AttributeNames` of a request.
///
/// Errors: InvalidAttributeName for a name that AWS doesn't know.
pub(super) fn selected(names: &[String]) -> Result<Vec<&'static str>, Error> {
    let mut selected = Vec::new();
    for name in names {
        match NAMES.iter().find(|known| *known == name) {
            Some(known) if !selected.contains(known) => selected.push(known),
            Some(_) => {}
            None if name == "All" => selected = NAMES.to_vec(),
            None => return Err(errors::unknown_attribute(name)),
        }
    }
    Ok(selected)
}

/// The attributes of these names that the queue has.
pub(super) fn show(names: &[&'static str], queue: &QueueKey, facts: &QueueFacts) -> StringMap {
    let value = |&name: &&str| Some((name.to_owned(), value(name, queue, facts)?));
    names.iter().filter_map(value).collect()
}

fn value(name: &str, queue: &QueueKey, facts: &QueueFacts) -> Option<String> {
    let settings = &facts.settings;
    Some(match name {
        "ApproximateNumberOfMessages" => facts.visible.to_string(),
        "ApproximateNumberOfMessagesDelayed" => facts.delayed.to_string(),
        "ApproximateNumberOfMessagesNotVisible" => facts.in_flight.to_string(),
        "CreatedTimestamp" => facts.created_at.as_seconds().to_string(),
        "DelaySeconds" => settings.delay_seconds.to_string(),
        // The default isn't shown. Observed in a recording of 2025.
        "KmsDataKeyReusePeriodSeconds" => {
            settings.kms_data_key_reuse_seconds.filter(|&seconds| seconds != KMS_REUSE_SECONDS_DEFAULT)?.to_string()
        }
        "KmsMasterKeyId" => settings.kms_master_key.clone()?,
        "LastModifiedTimestamp" => facts.modified_at.as_seconds().to_string(),
        "MaximumMessageSize" => settings.message_bytes_max.to_string(),
        "MessageRetentionPeriod" => settings.retention_seconds.to_string(),
        "Policy" => settings.policy.clone()?,
        "QueueArn" => queue.arn(),
        "ReceiveMessageWaitTimeSeconds" => settings.wait_seconds.to_string(),
        "SqsManagedSseEnabled" => settings.sqs_managed_sse.to_string(),
        "VisibilityTimeout" => settings.visibility_seconds.to_string(),
        _ => return None,
    })
}

/// Reads the attributes that a request sets on a standard queue.
///
/// Errors: InvalidAttributeName for an attribute that can't be set, for one that only FIFO queues have, and for both
/// kinds of encryption at once; InvalidAttributeValue; UnsupportedOperation for dead-letter queues, which aren't built
/// yet.
pub(super) fn settings(attributes: &StringMap) -> Result<Vec<Setting>, Error> {
    let mut settings = Vec::with_capacity(attributes.len());
    for (name, value) in attributes {
        settings.extend(setting(name, value)?);
    }
    let has_key = settings.iter().any(|setting| matches!(setting, Setting::KmsMasterKey { id: Some(_) }));
    if has_key && settings.contains(&Setting::SqsManagedSse { enabled: true }) {
        return Err(errors::encryption_conflict());
    }
    Ok(settings)
}

/// One attribute; nothing where it asks for what is so anyway.
fn setting(name: &str, value: &str) -> Result<Option<Setting>, Error> {
    let integer = |range| integer(name, value, range);
    Ok(Some(match name {
        "VisibilityTimeout" => Setting::VisibilityTimeout { seconds: integer(0..=VISIBILITY_TIMEOUT_SECONDS_MAX)? },
        "DelaySeconds" => Setting::Delay { seconds: integer(0..=DELAY_SECONDS_MAX)? },
        "MessageRetentionPeriod" => {
            Setting::Retention { seconds: integer(RETENTION_SECONDS_MIN..=RETENTION_SECONDS_MAX)? }
        }
        "MaximumMessageSize" => {
            Setting::MaximumMessageSize { bytes: integer(MAXIMUM_MESSAGE_SIZE_MIN as u32..=MESSAGE_BYTES_MAX as u32)? }
        }
        "ReceiveMessageWaitTimeSeconds" => Setting::ReceiveWait { seconds: integer(0..=WAIT_SECONDS_MAX)? },
        "SqsManagedSseEnabled" => Setting::SqsManagedSse { enabled: boolean(name, value)? },
        "KmsMasterKeyId" => Setting::KmsMasterKey { id: key_id(name, value)? },
        "KmsDataKeyReusePeriodSeconds" => {
            Setting::KmsDataKeyReuse { seconds: integer(KMS_REUSE_SECONDS_MIN..=KMS_REUSE_SECONDS_MAX)? }
        }
        "Policy" => Setting::Policy { document: policy(name, value)? },
        // Nothing to take away from a queue that has none. Observed by field reports: infrastructure tools do this.
        "RedrivePolicy" | "RedriveAllowPolicy" if value.is_empty() => return Ok(None),
        "RedrivePolicy" | "RedriveAllowPolicy" => {
            return Err(errors::not_built(&format!(
                "Dead-letter queues are not built yet in this version of Posthouse. Leave out the attribute {name}."
            )));
        }
        // Observed in recordings of 2024.
        "DeduplicationScope" | "FifoThroughputLimit" => {
            let message = format!("You can specify the {name} only when FifoQueue is set to true.");
            return Err(Error::new(ErrorKind::InvalidAttributeName, message));
        }
        _ => return Err(errors::unknown_attribute(name)),
    }))
}

fn integer(name: &str, value: &str, range: RangeInclusive<u32>) -> Result<u32, Error> {
    // Not left to `parse` alone, which takes a plus sign as well.
    let is_plain = value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|number| is_plain && range.contains(number));
    number.ok_or_else(|| {
        let (least, most) = range.into_inner();
        errors::invalid_attribute_value(name, &format!("Must be a whole number from {least} to {most}."))
    })
}

/// Chosen: in capitals too, as some languages write it.
pub(super) fn boolean(name: &str, value: &str) -> Result<bool, Error> {
    match value {
        _ if value.eq_ignore_ascii_case("true") => Ok(true),
        _ if value.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(errors::invalid_attribute_value(name, "Must be true or false.")),
    }
}

/// A key's id, ARN or alias; empty for none. Whether there is such a key is asked when a message is sent.
///
/// Source: KMS API Reference, `KeyId`: 1 to 2,048 characters. Chosen: characters that show, and no others.
fn key_id(name: &str, value: &str) -> Result<Option<String>, Error> {
    let fits = value.len() <= KMS_KEY_ID_CHARS_MAX && value.bytes().all(|byte| byte.is_ascii_graphic());
    if !fits {
        return Err(errors::invalid_attribute_value(name, "Must be the id, the ARN or the alias of a key."));
    }
    Ok(Some(value.to_owned()).filter(|id| !id.is_empty()))
}

/// A policy document, kept as it was written; empty for none.
///
/// Chosen: only its outline is checked as long as policies are not evaluated.
fn policy(name: &str, value: &str) -> Result<Option<String>, Error> {
    let refuse = |reason: &str| Err(errors::invalid_attribute_value(name, reason));
    if value.is_empty() {
        return Ok(None);
    }
    if value.len() > POLICY_BYTES_MAX {
        return refuse(&format!("A policy can have at most {POLICY_BYTES_MAX} bytes."));
    }
    let Ok(Value::Object(document)) = serde_json::from_str(value) else {
        // AWS's own text, which gives no reason.
        let message = format!("Invalid value for the parameter {name}.");
        return Err(Error::new(ErrorKind::InvalidAttributeValue, message));
    };
    let version = document.get("Version").map(Value::as_str);
    if !matches!(version, None | Some(Some("2008-10-17" | "2012-10-17"))) {
        return refuse("The Version of a policy is 2012-10-17 or 2008-10-17.");
    }
    let has_effect = |statement: &Value| matches!(statement["Effect"].as_str(), Some("Allow" | "Deny"));
    let has_statements = match document.get("Statement") {
        Some(Value::Array(statements)) => !statements.is_empty() && statements.iter().all(has_effect),
        Some(statement) => has_effect(statement),
        None => false,
    };
    if !has_statements {
        return refuse("A policy has a Statement with the Effect Allow or Deny.");
    }
    Ok(Some(value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::ErrorKind::*;
    use model::{AccountId, QueueName, Region, Timestamp};
    use shard::Settings;

    fn read(attributes: &[(&str, &str)]) -> Result<Vec<Setting>, Error> {
        settings(&attributes.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn numbers_have_ranges() {
        for (name, least, most) in [
            ("VisibilityTimeout", 0, 43_200),
            ("DelaySeconds", 0, 900),
            ("MessageRetentionPeriod", 60, 1_209_600),
            ("MaximumMessageSize", 1_024, 1_048_576),
            ("ReceiveMessageWaitTimeSeconds", 0, 20),
            ("KmsDataKeyReusePeriodSeconds", 60, 86_400),
        ] {
            for good in [least, most] {
                let seen = read(&[(name, &good.to_string())]).expect(name);
                assert_eq!(seen.iter().map(Setting::name).collect::<Vec<_>>(), [name]);
            }
            let outside = [(least - 1).to_string(), (most + 1).to_string()];
            for bad in outside.iter().map(String::as_str).chain(["", "abc", "+60", "60.0", " 60", "99999999999"]) {
                assert_eq!(
                    read(&[(name, bad)]).map_err(|error| error.kind),
                    Err(InvalidAttributeValue),
                    "{name}={bad}"
                );
            }
        }
        assert_eq!(read(&[("DelaySeconds", "007")]), Ok(vec![Setting::Delay { seconds: 7 }]));
    }

    #[test]
    fn attributes_that_a_standard_queue_cannot_be_given() {
        let check = |name: &str, value: &str, kind: ErrorKind, message: &str| {
            assert_eq!(read(&[(name, value)]), Err(Error::new(kind, message)), "{name}={value}");
        };
        for name in ["Nope", "", "delayseconds", "All", "QueueArn", "CreatedTimestamp", "ContentBasedDeduplication"] {
            check(name, "true", InvalidAttributeName, &format!("Unknown Attribute {name}."));
        }
        for value in ["true", "false"] {
            check("FifoQueue", value, InvalidAttributeName, "Unknown Attribute FifoQueue.");
        }
        for name in ["DeduplicationScope", "FifoThroughputLimit"] {
            let message = format!("You can specify the {name} only when FifoQueue is set to true.");
            check(name, "queue", InvalidAttributeName, &message);
        }
        for name in ["RedrivePolicy", "RedriveAllowPolicy"] {
            assert_eq!(read(&[(name, "")]), Ok(vec![]));
            assert_eq!(read(&[(name, "{}")]).map_err(|error| error.kind), Err(UnsupportedOperation));
        }
    }

    #[test]
    fn one_kind_of_encryption_at_a_time() {
        let key = ("KmsMasterKeyId", "testKeyId");
        assert_eq!(
            read(&[key, ("SqsManagedSseEnabled", "true")]),
            Err(Error::new(
                InvalidAttributeName,
                "You can use one type of server-side encryption (SSE) at one time. \
                 You can either enable KMS SSE or SQS SSE.",
            ))
        );
        assert!(read(&[key, ("SqsManagedSseEnabled", "false")]).is_ok());
        assert_eq!(read(&[("KmsMasterKeyId", "")]), Ok(vec![Setting::KmsMasterKey { id: None }]));
        for bad in ["a key", "é", "k\n", &"k".repeat(2_049)] {
            assert_eq!(
                read(&[("KmsMasterKeyId", bad)]).map_err(|error| error.kind),
                Err(InvalidAttributeValue),
                "{bad}"
            );
        }
        assert_eq!(
            read(&[("SqsManagedSseEnabled", "yes")]).map_err(|error| error.message),
            Err("Invalid value for the parameter SqsManagedSseEnabled. Reason: Must be true or false.".into())
        );
    }

    #[test]
    fn a_policy_is_kept_as_written() {
        let statement = r#"{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"}"#;
        for good in [
            format!(r#"{{"Version":"2012-10-17","Statement":[{statement}]}}"#),
            format!(r#"{{ "Statement" : {statement} }}"#),
        ] {
            assert_eq!(read(&[("Policy", &good)]), Ok(vec![Setting::Policy { document: Some(good.clone()) }]));
        }
        assert_eq!(read(&[("Policy", "")]), Ok(vec![Setting::Policy { document: None }]));

        let long = format!(r#"{{"Statement":{statement},"Id":"{}"}}"#, "x".repeat(POLICY_BYTES_MAX));
        let deep = "[".repeat(POLICY_BYTES_MAX);
        for bad in [
            " ",
            "null",
            "[]",
            "{}",
            "{",
            "not json",
            r#"{"Statement":[]}"#,
            r#"{"Statement":"Allow"}"#,
            r#"{"Statement":[{"Effect":"Maybe"}]}"#,
            r#"{"Version":"2020-01-01","Statement":{"Effect":"Allow"}}"#,
            r#"{"Version":1,"Statement":{"Effect":"Allow"}}"#,
            &long,
            &deep,
        ] {
            assert_eq!(read(&[("Policy", bad)]).map_err(|error| error.kind), Err(InvalidAttributeValue), "{bad}");
        }
    }

    #[test]
    fn a_policy_that_is_no_json_object_is_refused_in_aws_s_words() {
        for bad in ["{", "not json", "[]", "1"] {
            let expected = Error::new(InvalidAttributeValue, "Invalid value for the parameter Policy.");
            assert_eq!(read(&[("Policy", bad)]), Err(expected), "{bad}");
        }
    }

    /// What a new queue shows for these names, as `name=value`.
    fn shown(names: &[&str], settings: Settings) -> Result<Vec<String>, Error> {
        let queue = QueueKey {
            account: AccountId::parse("123456789012").expect("an account"),
            region: Region::parse("us-east-1").expect("a Region"),
            name: QueueName::parse("q").expect("a name"),
        };
        let facts = QueueFacts {
            created_at: Timestamp(1_700_000_000_999),
            modified_at: Timestamp(1_700_000_001_000),
            settings,
            tags: StringMap::new(),
            visible: 1,
            delayed: 2,
            in_flight: 3,
        };
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let attributes = show(&selected(&names)?, &queue, &facts);
        Ok(attributes.iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    /// Observed in recordings of 2025.
    #[test]
    fn a_new_queue_shows_twelve_attributes() {
        let all = [
            "ApproximateNumberOfMessages=1",
            "ApproximateNumberOfMessagesDelayed=2",
            "ApproximateNumberOfMessagesNotVisible=3",
            "CreatedTimestamp=1700000000",
            "DelaySeconds=0",
            "LastModifiedTimestamp=1700000001",
            "MaximumMessageSize=1048576",
            "MessageRetentionPeriod=345600",
            "QueueArn=arn:aws:sqs:us-east-1:123456789012:q",
            "ReceiveMessageWaitTimeSeconds=0",
            "SqsManagedSseEnabled=true",
            "VisibilityTimeout=30",
        ];
        for names in [&["All"][..], &["All", "QueueArn"], &["QueueArn", "All"], NAMES] {
            let seen = shown(names, Settings::default()).expect("names that AWS knows");
            assert_eq!(seen, all, "{names:?}");
        }
    }

    #[test]
    fn attributes_are_shown_by_name() {
        let default = Settings::default;
        assert_eq!(shown(&[], default()), Ok(vec![]));
        assert_eq!(shown(&["DelaySeconds", "DelaySeconds"], default()), Ok(vec!["DelaySeconds=0".into()]));
        assert_eq!(shown(&["Policy", "FifoQueue", "RedrivePolicy"], default()), Ok(vec![]));
        assert_eq!(
            shown(&["DelaySeconds", "Nope"], default()),
            Err(Error::new(InvalidAttributeName, "Unknown Attribute Nope."))
        );

        let names = ["KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "Policy"];
        let with_key = |seconds| Settings {
            kms_master_key: Some("testKeyId".into()),
            kms_data_key_reuse_seconds: Some(seconds),
            policy: Some("{}".into()),
            ..default()
        };
        let expected =
            vec!["KmsDataKeyReusePeriodSeconds=6000".into(), "KmsMasterKeyId=testKeyId".into(), "Policy={}".into()];
        assert_eq!(shown(&names, with_key(6_000)), Ok(expected.clone()));
        assert_eq!(shown(&names, with_key(300)), Ok(expected[1..].to_vec()));
    }
}

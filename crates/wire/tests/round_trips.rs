//! Whatever a client can say arrives as it was said, and whatever we say back arrives too.

mod common;

use api::sqs::*;
use common::{Xml, form_of, json_call, query_call};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::json;

/// Text that XML 1.0 can hold, which is what SQS lets into messages, with the awkward characters often.
fn legal_text() -> impl Strategy<Value = String> {
    let awkward = prop::sample::select(
        "\t\n\r &<>\"';%+=\u{7f}\u{85}\u{a0}\u{2028}\u{2029}\u{d7ff}\u{fffd}]".chars().collect::<Vec<_>>(),
    );
    let any = any::<char>().prop_filter(
        "not in XML",
        |&c| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..),
    );
    vec(prop_oneof![awkward, any], 0..40).prop_map(|chars| chars.into_iter().collect())
}

fn body_through_xml(body: &str) -> String {
    let message = ReceivedMessage { body: body.into(), ..ReceivedMessage::default() };
    let call = query_call("ReceiveMessage", "");
    let answer = wire::reply(&call, &ReceiveMessageReply { messages: vec![message] }, "r");
    let document = Xml::parse(answer.body());
    document.text_at(&["ReceiveMessageResult", "Message", "Body"]).expect("a body").to_owned()
}

#[test]
fn bodies_from_the_field_survive_xml() {
    for body in [
        "a\r\nb",
        "&quot;<>&'\"",
        "{\n    \"hello\": \"world\"\n}",
        "A\u{7f}\u{85}\u{c3}\u{2028}B",
        r#"{"Body":"{\"S\":\"Box – reset\"}"}"#,
        " \n ",
        "]]>",
    ] {
        assert_eq!(body_through_xml(body), body);
    }
    let call = query_call("ReceiveMessage", "");
    let message = ReceivedMessage { body: "a\r\nb".into(), ..ReceivedMessage::default() };
    let answer = wire::reply(&call, &ReceiveMessageReply { messages: vec![message] }, "r");
    assert!(!answer.body().contains(&b'\r'), "a bare carriage return would become a newline");
}

proptest! {
    #[test]
    fn any_legal_text_survives_xml(text in legal_text()) {
        prop_assert_eq!(body_through_xml(&text), text);
    }

    #[test]
    fn any_text_at_all_makes_a_legal_document(text in any::<String>()) {
        let error = api::Error::new(api::ErrorKind::InvalidParameterValue, text);
        Xml::parse(wire::error(wire::WireProtocol::Query, &error, "r").body());
    }

    #[test]
    fn any_send_reads_the_same_in_both_protocols(
        bodies in vec(legal_text(), 1..4),
        delay in any::<Option<i32>>(),
        attributes in btree_map("[a-z.]{1,8}", (legal_text(), any::<Option<bool>>()), 0..4),
    ) {
        let attributes: serde_json::Map<_, _> = attributes
            .into_iter()
            .map(|(name, (value, more))| {
                let mut attribute = json!({"DataType": "String", "StringValue": value});
                if more == Some(true) {
                    attribute["BinaryValue"] = "AP8=".into();
                }
                (name, attribute)
            })
            .collect();
        let entries: Vec<_> = bodies
            .iter()
            .enumerate()
            .map(|(id, body)| {
                let mut entry = json!({"Id": id.to_string(), "MessageBody": body});
                if !attributes.is_empty() {
                    entry["MessageAttributes"] = attributes.clone().into();
                }
                if let Some(delay) = delay {
                    entry["DelaySeconds"] = delay.into();
                }
                entry
            })
            .collect();
        let request = json!({"QueueUrl": "http://h/123456789012/q", "Entries": entries});
        let in_json = json_call("SendMessageBatch", request.to_string()).decode::<SendMessageBatch>();
        let in_form = query_call("SendMessageBatch", &form_of("SendMessageBatch", &request)).decode();
        prop_assert_eq!(&in_json, &in_form);
        let seen = in_json.expect("a request").entries.expect("entries");
        prop_assert_eq!(seen.iter().map(|entry| entry.message_body.clone().expect("a body")).collect::<Vec<_>>(), bodies);
    }

    /// Bytes of any kind are read or refused.
    #[test]
    fn any_form_is_read_or_refused(form in "[A-Za-z0-9.&=%+]{0,80}") {
        for operation in ["SendMessage", "SendMessageBatch", "SetQueueAttributes"] {
            let call = query_call(operation, &form);
            let _ = (call.decode::<SendMessage>(), call.decode::<SendMessageBatch>(), call.decode::<SetQueueAttributes>());
        }
    }
}

//! Every operation's request, as both protocols write it.

mod common;

use api::sqs::*;
use common::{binary_attribute, json_call, query_call, string_attribute, string_map};
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// `json` and `form` are the same request.
fn check<T: api::Operation + DeserializeOwned + PartialEq + Debug>(json: &str, form: &str, expected: T) {
    let read = json_call(T::NAME, json.to_owned()).decode::<T>();
    assert_eq!(read.as_ref(), Ok(&expected), "{json}");
    let read = query_call(T::NAME, form).decode::<T>();
    assert_eq!(read.as_ref(), Ok(&expected), "{form}");
}

fn url() -> Option<String> {
    Some("http://h/123456789012/q".into())
}

#[test]
fn requests_about_queues() {
    check(
        r#"{"QueueName":"q","Attributes":{"DelaySeconds":"5","VisibilityTimeout":"30"},"tags":{"team":"a"}}"#,
        "QueueName=q&Attribute.1.Name=DelaySeconds&Attribute.1.Value=5\
         &Attribute.2.Name=VisibilityTimeout&Attribute.2.Value=30&Tag.1.Key=team&Tag.1.Value=a",
        CreateQueue {
            queue_name: Some("q".into()),
            attributes: Some(string_map(&[("DelaySeconds", "5"), ("VisibilityTimeout", "30")])),
            tags: Some(string_map(&[("team", "a")])),
        },
    );
    check(
        r#"{"QueueName":"q","QueueOwnerAWSAccountId":"123456789012"}"#,
        "QueueName=q&QueueOwnerAWSAccountId=123456789012",
        GetQueueUrl { queue_name: Some("q".into()), queue_owner_aws_account_id: Some("123456789012".into()) },
    );
    check(
        r#"{"QueueNamePrefix":"a","NextToken":"t","MaxResults":2}"#,
        "QueueNamePrefix=a&NextToken=t&MaxResults=2",
        ListQueues { queue_name_prefix: Some("a".into()), next_token: Some("t".into()), max_results: Some(2) },
    );
    check("{}", "", ListQueues::default());
    check(
        r#"{"QueueUrl":"http://h/123456789012/q"}"#,
        "QueueUrl=http%3A%2F%2Fh%2F123456789012%2Fq",
        DeleteQueue { queue_url: url() },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q"}"#,
        "QueueUrl=http://h/123456789012/q",
        PurgeQueue { queue_url: url() },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","AttributeNames":["All","QueueArn"]}"#,
        "QueueUrl=http://h/123456789012/q&AttributeName.1=All&AttributeName.2=QueueArn",
        GetQueueAttributes { queue_url: url(), attribute_names: Some(vec!["All".into(), "QueueArn".into()]) },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","Attributes":{"Policy":""}}"#,
        "QueueUrl=http://h/123456789012/q&Attribute.1.Name=Policy&Attribute.1.Value=",
        SetQueueAttributes { queue_url: url(), attributes: Some(string_map(&[("Policy", "")])) },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","Tags":{"a":"1","b":"é"}}"#,
        "QueueUrl=http://h/123456789012/q&Tag.1.Key=a&Tag.1.Value=1&Tag.2.Key=b&Tag.2.Value=%C3%A9",
        TagQueue { queue_url: url(), tags: Some(string_map(&[("a", "1"), ("b", "é")])) },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","TagKeys":["a","b"]}"#,
        "QueueUrl=http://h/123456789012/q&TagKey.1=a&TagKey.2=b",
        UntagQueue { queue_url: url(), tag_keys: Some(vec!["a".into(), "b".into()]) },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q"}"#,
        "QueueUrl=http://h/123456789012/q",
        ListQueueTags { queue_url: url() },
    );
}

#[test]
fn requests_about_messages() {
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","MessageBody":"a b\r\n","DelaySeconds":0,
            "MessageAttributes":{"bin":{"DataType":"Binary","BinaryValue":"AP8="},"str":{"DataType":"String","StringValue":"v"}},
            "MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"Root=1"}},
            "MessageDeduplicationId":"d","MessageGroupId":"g"}"#,
        "QueueUrl=http://h/123456789012/q&MessageBody=a+b%0D%0A&DelaySeconds=0\
         &MessageAttribute.1.Name=bin&MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=AP8%3D\
         &MessageAttribute.2.Name=str&MessageAttribute.2.Value.DataType=String&MessageAttribute.2.Value.StringValue=v\
         &MessageSystemAttribute.1.Name=AWSTraceHeader&MessageSystemAttribute.1.Value.DataType=String\
         &MessageSystemAttribute.1.Value.StringValue=Root%3D1&MessageDeduplicationId=d&MessageGroupId=g",
        SendMessage {
            queue_url: url(),
            message_body: Some("a b\r\n".into()),
            delay_seconds: Some(0),
            message_attributes: Some(
                [("bin".into(), binary_attribute(b"\x00\xff")), ("str".into(), string_attribute("v"))].into(),
            ),
            message_system_attributes: Some([("AWSTraceHeader".into(), string_attribute("Root=1"))].into()),
            message_deduplication_id: Some("d".into()),
            message_group_id: Some("g".into()),
        },
    );
    let entry = |id: &str, body: &str| SendMessageBatchEntry {
        id: Some(id.into()),
        message_body: Some(body.into()),
        ..SendMessageBatchEntry::default()
    };
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","Entries":[
            {"Id":"a","MessageBody":"1","DelaySeconds":900,"MessageAttributes":{"k":{"DataType":"String","StringValue":"v"}}},
            {"Id":"b","MessageBody":"2","MessageGroupId":"g"}]}"#,
        "QueueUrl=http://h/123456789012/q\
         &SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.MessageBody=1\
         &SendMessageBatchRequestEntry.1.DelaySeconds=900&SendMessageBatchRequestEntry.1.MessageAttribute.1.Name=k\
         &SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.DataType=String\
         &SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue=v\
         &SendMessageBatchRequestEntry.2.Id=b&SendMessageBatchRequestEntry.2.MessageBody=2\
         &SendMessageBatchRequestEntry.2.MessageGroupId=g",
        SendMessageBatch {
            queue_url: url(),
            entries: Some(vec![
                SendMessageBatchEntry {
                    delay_seconds: Some(900),
                    message_attributes: Some([("k".into(), string_attribute("v"))].into()),
                    ..entry("a", "1")
                },
                SendMessageBatchEntry { message_group_id: Some("g".into()), ..entry("b", "2") },
            ]),
        },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","AttributeNames":["All"],"MessageSystemAttributeNames":["SenderId"],
            "MessageAttributeNames":["a","b.*"],"MaxNumberOfMessages":10,"VisibilityTimeout":-1,"WaitTimeSeconds":20,
            "ReceiveRequestAttemptId":"r"}"#,
        "QueueUrl=http://h/123456789012/q&AttributeName.1=All&MessageSystemAttributeName.1=SenderId\
         &MessageAttributeName.1=a&MessageAttributeName.2=b.*&MaxNumberOfMessages=10&VisibilityTimeout=-1\
         &WaitTimeSeconds=20&ReceiveRequestAttemptId=r",
        ReceiveMessage {
            queue_url: url(),
            attribute_names: Some(vec!["All".into()]),
            message_system_attribute_names: Some(vec!["SenderId".into()]),
            message_attribute_names: Some(vec!["a".into(), "b.*".into()]),
            max_number_of_messages: Some(10),
            visibility_timeout: Some(-1),
            wait_time_seconds: Some(20),
            receive_request_attempt_id: Some("r".into()),
        },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","ReceiptHandle":"AQ+/="}"#,
        "QueueUrl=http://h/123456789012/q&ReceiptHandle=AQ%2B%2F%3D",
        DeleteMessage { queue_url: url(), receipt_handle: Some("AQ+/=".into()) },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","Entries":[{"Id":"a","ReceiptHandle":"x"}]}"#,
        "QueueUrl=http://h/123456789012/q&DeleteMessageBatchRequestEntry.1.Id=a\
         &DeleteMessageBatchRequestEntry.1.ReceiptHandle=x",
        DeleteMessageBatch {
            queue_url: url(),
            entries: Some(vec![DeleteMessageBatchEntry { id: Some("a".into()), receipt_handle: Some("x".into()) }]),
        },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","ReceiptHandle":"x","VisibilityTimeout":43200}"#,
        "QueueUrl=http://h/123456789012/q&ReceiptHandle=x&VisibilityTimeout=43200",
        ChangeMessageVisibility {
            queue_url: url(),
            receipt_handle: Some("x".into()),
            visibility_timeout: Some(43_200),
        },
    );
    check(
        r#"{"QueueUrl":"http://h/123456789012/q","Entries":[{"Id":"a","ReceiptHandle":"x","VisibilityTimeout":0}]}"#,
        "QueueUrl=http://h/123456789012/q&ChangeMessageVisibilityBatchRequestEntry.1.Id=a\
         &ChangeMessageVisibilityBatchRequestEntry.1.ReceiptHandle=x\
         &ChangeMessageVisibilityBatchRequestEntry.1.VisibilityTimeout=0",
        ChangeMessageVisibilityBatch {
            queue_url: url(),
            entries: Some(vec![ChangeMessageVisibilityBatchEntry {
                id: Some("a".into()),
                receipt_handle: Some("x".into()),
                visibility_timeout: Some(0),
            }]),
        },
    );
}

/// Other ways to write the same in the Query protocol.
#[test]
fn forms_that_clients_write_differently() {
    let names = |form: &str| {
        let request = query_call("GetQueueAttributes", form).decode::<GetQueueAttributes>().expect(form);
        request.attribute_names.map(|names| names.join(" "))
    };
    for form in [
        "AttributeName.1=A&AttributeName.2=B&AttributeName.10=C",
        "AttributeName.10=C&AttributeName.2=B&AttributeName.1=A",
        "AttributeName.3=A&AttributeName.99999999999999999998=B&AttributeName.99999999999999999999=C",
        "AttributeName.0=A&AttributeName.7=B&AttributeName.8=C&AttributeName.x=D&AttributeName.01=E",
        "AttributeNames.1=A&AttributeNames.2=B&AttributeNames.3=C",
        "AttributeNames.member.1=A&AttributeNames.member.2=B&AttributeNames.member.3=C",
        "AttributeName.1=A&AttributeName.1=Z&AttributeName.2=B&AttributeName.3=C",
    ] {
        assert_eq!(names(form).as_deref(), Some("A B C"), "{form}");
    }
    assert_eq!(names("AttributeName=All").as_deref(), Some("All"));
    assert_eq!(names("AttributeName=").as_deref(), Some(""), "an empty list, as some clients write it");
    assert_eq!(names("Nope.1=A"), None);

    let attributes =
        |form: &str| query_call("SetQueueAttributes", form).decode::<SetQueueAttributes>().expect(form).attributes;
    for form in [
        "Attribute.Name=DelaySeconds&Attribute.Value=5",
        "Attribute.1.Value=5&Attribute.1.Name=DelaySeconds",
        "Attribute.5.Name=DelaySeconds&Attribute.5.Value=5",
        "Attributes.entry.1.key=DelaySeconds&Attributes.entry.1.value=5",
    ] {
        assert_eq!(attributes(form), Some(string_map(&[("DelaySeconds", "5")])), "{form}");
    }
}

/// What was left out and what is null are the same; what isn't known is skipped.
#[test]
fn members_that_are_absent_null_or_unknown() {
    for body in [
        "",
        "{}",
        r#"{"QueueUrl":null,"MessageBody":null,"DelaySeconds":null,"MessageAttributes":null}"#,
        r#"{"Unknown":{"a":[1,2,{"b":null}]},"QueueURL":"case matters"}"#,
    ] {
        assert_eq!(json_call("SendMessage", body).decode(), Ok(SendMessage::default()), "{body}");
    }
    assert_eq!(query_call("SendMessage", "Unknown.1.a=b&queueurl=x").decode(), Ok(SendMessage::default()));

    let body = r#"{"MessageAttributes":{"k":{"DataType":"String","StringValue":"v","BinaryValue":null,
                   "StringListValues":null,"BinaryListValues":null}}}"#;
    let request = json_call("SendMessage", body).decode::<SendMessage>().expect(body);
    assert_eq!(request.message_attributes, Some([("k".into(), string_attribute("v"))].into()));
}

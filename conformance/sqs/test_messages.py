"""What a message carries: body, attributes, system attributes, digests, size."""

import re

import pytest

from kit import raw
from kit.clients import attributes, binary, bodies, counts, number, receive, receive_one, refused, send, text
from kit.digest import md5, md5_of_attributes

MIB = 1_048_576
TRACE = "Root=1-3152b799-8954dae64eda91bc9a23a7e8;Parent=7fa8c0f79203be72;Sampled=1"
# Recorded: test_receive_message_message_attribute_names_filters.
GREETING = {"Hello": text("There"), "General": text("Kenobi"), "Help.Me": text("Me")}


class TestBodies:
    """A body comes back byte for byte, whichever protocol brought it and whichever takes it."""

    BODIES = {
        "F011 carriage return": ("a\r\nb", "65d5f03c46e62e3f2babbe712d2ce464"),
        "F012 entities": ("&quot;<>&'\"", "98403b1f9fb4cce9594dff7b24afd67f"),
        "F013 pretty-printed JSON": ('{\n    "hello": "world"\n}', None),
        "F016 escaped JSON in JSON": ('{"Body":"{\\"S\\":\\"Box \u2013 reset\\"}"}', None),
        "F210 allowed control range": ("A\u007f\u0085\u00c3\u2028B", None),
        "SMSG-01 edges of the character set": ("\t\n\r \ud7ff\ue000\ufffd\U00010000\U0010ffff", None),
        "emoji": ("\U0001f426 carrier pigeon \U0001f426", None),
        "leading and trailing space": ("  x  \n", None),
        "CDATA end": ("<![CDATA[x]]>&#13;&amp;", None),
        "plus and percent": ("a+b %20 100% c=d&e", None),
        "recorded message": ("message", "78e731027d8fd50ed642340b7c9a63b3"),
        "replacement characters": ("\ufffd\ufffd\ufffd\ufffd", "4906fc8bbfeecb5625100a7b6edf9f7a"),
    }

    @pytest.mark.parametrize("case", BODIES)
    def test_bytes_survive(self, sqs, clients, queue, case):
        body, known_md5 = self.BODIES[case]
        sent = sqs.send_message(QueueUrl=queue, MessageBody=body)
        assert sent["MD5OfMessageBody"] == md5(body) == (known_md5 or md5(body))
        for reader in clients.values():
            message = receive_one(reader, queue, VisibilityTimeout=0)
            assert message["Body"] == body
            assert message["MD5OfBody"] == md5(body)

    def test_F011_the_xml_escapes_carriage_returns(self, server, json_sqs, queue):
        """A bare CR in XML becomes LF in every parser."""
        send(json_sqs, queue, "a\r\nb")
        answer = raw.query(server, "ReceiveMessage", QueueUrl=queue)
        assert b"\r" not in answer.body
        assert re.search(rb"a(&#13;|&#xD;)\n?(&#10;|&#xA;)?b", answer.body)

    @pytest.mark.parametrize("character", ["\x00", "\x01", "\x08", "\x0b", "\x0c", "\x1f", "\ufffe", "\uffff"])
    def test_SMSG_01_SERR_10_forbidden_characters(self, sqs, queue, character):
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody=f"a{character}b")
        assert (refusal.code, refusal.status) == ("InvalidMessageContents", 400)
        assert refusal.name == ("InvalidMessageContents" if sqs.protocol == "json" else None)
        assert counts(sqs, queue) == (0, 0, 0)

    def test_SMSG_01_lone_surrogate(self, server, json_sqs, queue):
        """Not text at all: refused while the JSON is read, or as contents."""
        with raw.Connection(server) as connection:
            body = b'{"QueueUrl":"%s","MessageBody":"a\\ud800b"}' % queue.encode()
            answer = connection.request("POST", "/", body, raw.json_headers("SendMessage"))
        assert answer.status == 400
        assert answer.code in ("SerializationException", "InvalidMessageContents")
        assert counts(json_sqs, queue) == (0, 0, 0)


class TestSize:
    """LIFE-11, LIFE-12, SMSG-15: body, and names, types and values of attributes, in bytes of UTF-8."""

    def test_LIFE_11_one_mebibyte(self, sqs, queue):
        body = "x" * MIB
        sqs.send_message(QueueUrl=queue, MessageBody=body)
        assert receive_one(sqs, queue)["MD5OfBody"] == md5(body)

    def test_F093_one_byte_more(self, sqs, queue):
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="x" * (MIB + 1))
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert (
            refusal.message == "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
        )

    def test_F093_attributes_count_and_the_queue_decides(self, sqs, make_queue):
        url = make_queue(MaximumMessageSize="2048")
        with_attribute = {"MessageAttributes": {"k": text("x")}}
        refusal = refused(sqs.send_message, QueueUrl=url, MessageBody="x" * 2041, **with_attribute)
        assert refusal.code == "InvalidParameterValue"
        assert refusal.message == "One or more parameters are invalid. Reason: Message must be shorter than 2048 bytes."
        sqs.send_message(QueueUrl=url, MessageBody="x" * 2040, **with_attribute)

    def test_LIFE_12_bytes_not_characters(self, sqs, make_queue):
        url = make_queue(MaximumMessageSize="1024")
        sqs.send_message(QueueUrl=url, MessageBody="ü" * 512)
        assert refused(sqs.send_message, QueueUrl=url, MessageBody="ü" * 513).code == "InvalidParameterValue"

    def test_LIFE_12_a_large_body_and_a_small_attribute(self, sqs, queue):
        refusal = refused(
            sqs.send_message, QueueUrl=queue, MessageBody="x" * (MIB - 6), MessageAttributes={"a": text("bc")}
        )
        assert refusal.code == "InvalidParameterValue"

    def test_SMSG_07_system_attributes_are_not_counted(self, sqs, make_queue):
        url = make_queue(MaximumMessageSize="1024")
        sqs.send_message(QueueUrl=url, MessageBody="x" * 1024, MessageSystemAttributes={"AWSTraceHeader": text(TRACE)})

    def test_a_new_limit_is_for_new_messages(self, sqs, queue):
        send(sqs, queue, "x" * 2000)
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"MaximumMessageSize": "1024"})
        assert bodies(receive(sqs, queue)) == ["x" * 2000]


class TestReplyOfSend:
    def test_SOP_18_SMSG_10_members(self, sqs, queue):
        answer = sqs.send_message(QueueUrl=queue, MessageBody="message")
        del answer["ResponseMetadata"]
        assert set(answer) == {"MD5OfMessageBody", "MessageId"}
        assert answer["MD5OfMessageBody"] == "78e731027d8fd50ed642340b7c9a63b3"

    def test_SMSG_16_message_ids_are_uuids(self, sqs, queue):
        ids = send(sqs, queue, *"abcdefghij")
        assert len(set(ids)) == 10
        for one in ids:
            assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", one)

    def test_SMSG_16_receive_shows_the_id_of_the_send(self, sqs, queue):
        [sent] = send(sqs, queue, "m")
        assert receive_one(sqs, queue)["MessageId"] == sent

    def test_F019_no_attributes_no_digest(self, sqs, queue):
        answer = sqs.send_message(QueueUrl=queue, MessageBody="m")
        assert not {"MD5OfMessageAttributes", "MD5OfMessageSystemAttributes"} & set(answer)

    def test_SMSG_13_digest_of_system_attributes(self, sqs, queue):
        """Recorded: send-system-attribute-md5."""
        trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
        answer = sqs.send_message(
            QueueUrl=queue,
            MessageBody='{"message_index":1}',
            MessageAttributes={"test-key": text("test-value")},
            MessageSystemAttributes={"AWSTraceHeader": text(trace)},
        )
        assert answer["MD5OfMessageBody"] == "4504dd781f625d681c31cda87e260702"
        assert answer["MD5OfMessageAttributes"] == "befa18540a897f7d022bf07057754a03"
        assert answer["MD5OfMessageSystemAttributes"] == "5ae4d5d7636402d80f4eb6d213245a88"


class TestMessageAttributes:
    # SMSG-11, F018: digests that AWS answered.
    KNOWN_DIGESTS = [
        ({"Foo": text("Bar")}, "ae7155c6026991b6d54b11589678bf9c"),
        ({"attr1": number("19.12")}, "1f07082409022a373fa2a2601f82b3cb"),
        ({"content-encoding": text("lz4")}, "d5b1c8868f6406a7a6a8f4cebc4fcc94"),
        ({"test-key": text("test-value"), "test-key-alt": text("test-value-alt")}, "2256c3b617e2b4b3ae4f2d455dcf54d0"),
        (
            {"attr1": binary(b"traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01")},
            "8cbe4db156db8a94db8b801b7addb984",
        ),
        (GREETING, "4c360f3fdafd970e05fae2f149d997f5"),
    ]

    @pytest.mark.parametrize("given, digest", KNOWN_DIGESTS, ids=[digest[:8] for _, digest in KNOWN_DIGESTS])
    def test_SMSG_11_F018_digests(self, sqs, queue, given, digest):
        answer = sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=given)
        assert answer["MD5OfMessageAttributes"] == digest == md5_of_attributes(given)
        message = receive_one(sqs, queue, names=["All"])
        assert message["MD5OfMessageAttributes"] == digest
        assert message["MessageAttributes"] == given

    KINDS = {
        "text": text("v"),
        "text with a label": text("v", ".json"),
        "unicode": text("\u2013 ü \U0001f426"),
        "whitespace": text(" \t\r\n "),
        "integer": number("42"),
        "negative": number("-7"),
        "fraction": number("0.5"),
        "exponent": number("1e10"),
        "number with a label": number("12", ".int"),
        "38 digits": number("9" * 38),
        "trailing zeros stay": number("1.500"),
        "bytes": binary(bytes(range(256))),
        "bytes with a label": binary(b"\x89PNG", ".png"),
        "a large value": text("x" * 100_000),
    }

    @pytest.mark.parametrize("kind", KINDS)
    def test_SMSG_04_05_kinds(self, sqs, queue, kind):
        """Chosen: a number is kept as the text that was sent, and so is its digest."""
        given = {"attribute": self.KINDS[kind]}
        answer = sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=given)
        assert answer["MD5OfMessageAttributes"] == md5_of_attributes(given)
        assert receive_one(sqs, queue, names=["All"])["MessageAttributes"] == given

    def test_SMSG_02_at_most_ten(self, sqs, queue):
        eleven = {f"a{index}": text("v") for index in range(11)}
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageAttributes=eleven)
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert refusal.message == "Number of message attributes [11] exceeds the allowed maximum [10]."
        del eleven["a10"]
        sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=eleven)

    @pytest.mark.parametrize(
        "key",
        ["", ".a", "a.", "a..b", "a b", "ä", "a/b", "a" * 257, "AWS.x", "aws.x", "Amazon.x", "AMAZON.x"],
    )
    def test_SMSG_03_bad_names(self, sqs, queue, key):
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageAttributes={key: text("v")})
        assert refusal.code in ("InvalidParameterValue", "MissingParameter")
        assert refusal.status == 400
        assert counts(sqs, queue) == (0, 0, 0)

    @pytest.mark.parametrize("key", ["a", "a.b", "A-b_c.9", "a" * 256, "awsx", "AWSTraceHeader", "amazon"])
    def test_SMSG_03_good_names(self, sqs, queue, key):
        sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes={key: text("v")})
        assert set(receive_one(sqs, queue, names=["All"])["MessageAttributes"]) == {key}

    def test_SMSG_03_names_are_case_sensitive(self, sqs, queue):
        given = {"key": text("lower"), "KEY": text("upper")}
        sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=given)
        assert receive_one(sqs, queue, names=["All"])["MessageAttributes"] == given

    @pytest.mark.parametrize("data_type", ["string", "Foo", "Strin", "binary.x", " String", "Strings"])
    def test_F096_SMSG_04_unknown_types(self, sqs, queue, data_type):
        given = {"Author": {"DataType": data_type, "StringValue": "A"}}
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageAttributes=given)
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert refusal.message == (
            "The message attribute 'Author' has an invalid message attribute type, "
            "the set of supported type prefixes is Binary, Number, and String."
        )

    def test_SMSG_04_type_too_long(self, sqs, queue):
        given = {"a": {"DataType": "String." + "x" * 250, "StringValue": "v"}}
        assert refused(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageAttributes=given).status == 400

    def test_no_type(self, sqs, queue):
        given = {"a": {"StringValue": "v"}}
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageAttributes=given)
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)

    @pytest.mark.parametrize("value", ["abc", "1.2.3", "0x10", "1,5", "9" * 39, "1e127", "1e-129", "NaN", "Infinity"])
    def test_SMSG_05_not_a_number(self, sqs, queue, value):
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageAttributes={"n": number(value)})
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert "'n'" in refusal.message

    def test_F095_SMSG_06_empty_text(self, sqs, queue):
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="bar", MessageAttributes={"piyo": text("")})
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert refusal.message == "Message (user) attribute 'piyo' must contain a non-empty value of type 'String'."

    def test_SMSG_06_empty_bytes(self, sqs, queue):
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="bar", MessageAttributes={"piyo": binary(b"")})
        assert refusal.message == "Message (user) attribute 'piyo' must contain a non-empty value of type 'Binary'."

    def test_forbidden_characters_in_a_value(self, sqs, queue):
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageAttributes={"a": text("\x01")})
        assert refusal.status == 400
        assert counts(sqs, queue) == (0, 0, 0)

    def test_SMSG_04_list_values_are_reserved(self, json_sqs, queue):
        given = {"a": {"DataType": "String", "StringValue": "v", "StringListValues": ["x"]}}
        assert refused(json_sqs.send_message, QueueUrl=queue, MessageBody="x", MessageAttributes=given).status == 400


class TestSelection:
    """SMSG-12, SMSG-14: which message attributes a receive answers, and their digest."""

    # Recorded: test_receive_message_message_attribute_names_filters. Names asked for, names answered, digest.
    CASES = [
        (None, set(), None),
        (["All"], set(GREETING), "4c360f3fdafd970e05fae2f149d997f5"),
        ([".*"], set(GREETING), "4c360f3fdafd970e05fae2f149d997f5"),
        (["*"], set(GREETING), "4c360f3fdafd970e05fae2f149d997f5"),
        (["Hello"], {"Hello"}, "a311262e065454b75da111d535b8dacd"),
        (["Hel.*"], {"Hello", "Help.Me"}, "83fee93c1bcd8b9a5a923ffacdc636c7"),
        (["Hello", "General"], {"Hello", "General"}, "fca026605781cb4126a1e9044df24232"),
        (["Hello", "nope"], {"Hello"}, "a311262e065454b75da111d535b8dacd"),
        (["nope"], set(), None),
        (["hello"], set(), None),
        (["AWS."], set(), None),
        (["..foo"], set(), None),
    ]

    @pytest.mark.parametrize("asked, answered, digest", CASES, ids=[str(case[0]) for case in CASES])
    def test_F026_F027_names(self, sqs, queue, asked, answered, digest):
        sqs.send_message(QueueUrl=queue, MessageBody="msg", MessageAttributes=GREETING)
        message = receive_one(sqs, queue, names=asked)
        assert set(message.get("MessageAttributes", {})) == answered
        assert ("MessageAttributes" in message) == bool(answered)
        assert message.get("MD5OfMessageAttributes") == digest

    def test_F008_SMSG_08_system_attributes(self, sqs, queue):
        """Recorded: test_receive_message_attribute_names_filters."""
        send(sqs, queue, "m")
        assert "Attributes" not in receive_one(sqs, queue, VisibilityTimeout=0)
        only = receive_one(sqs, queue, system=["SenderId"], VisibilityTimeout=0)
        assert set(only["Attributes"]) == {"SenderId"}
        every = receive_one(sqs, queue, system=["All"])["Attributes"]
        assert set(every) == {
            "SenderId",
            "SentTimestamp",
            "ApproximateReceiveCount",
            "ApproximateFirstReceiveTimestamp",
        }
        assert every["ApproximateReceiveCount"] == "3"
        for moment in ("SentTimestamp", "ApproximateFirstReceiveTimestamp"):
            assert re.fullmatch(r"\d{13}", every[moment])
        # SMSG-09
        assert every["SenderId"]

    def test_F008_the_older_member_works_too(self, json_sqs, queue):
        send(json_sqs, queue, "m")
        message = receive_one(json_sqs, queue, AttributeNames=["All"])
        assert len(message["Attributes"]) == 4

    def test_PROTO_04_both_members_ask_for_the_union(self, json_sqs, queue):
        """Recorded: test_message_system_attribute_names_with_attribute_names."""
        send(json_sqs, queue, "m")
        message = receive_one(
            json_sqs, queue, AttributeNames=["SenderId"], MessageSystemAttributeNames=["SentTimestamp"]
        )
        assert set(message["Attributes"]) == {"SenderId", "SentTimestamp"}

    def test_system_and_message_attributes_together(self, sqs, queue):
        sqs.send_message(QueueUrl=queue, MessageBody="msg", MessageAttributes={"Foo": text("Bar")})
        message = receive_one(sqs, queue, system=["All"], names=["All"])
        assert len(message["Attributes"]) == 4
        assert message["MessageAttributes"] == {"Foo": text("Bar")}
        assert message["MD5OfMessageAttributes"] == "ae7155c6026991b6d54b11589678bf9c"

    def test_SMSG_07_trace_header(self, sqs, queue):
        """Recorded: test_aws_trace_header_propagation."""
        sqs.send_message(QueueUrl=queue, MessageBody="test", MessageSystemAttributes={"AWSTraceHeader": text(TRACE)})
        message = receive_one(sqs, queue, system=["AWSTraceHeader"], VisibilityTimeout=0)
        assert message["Attributes"] == {"AWSTraceHeader": TRACE}
        assert receive_one(sqs, queue, system=["All"])["Attributes"]["AWSTraceHeader"] == TRACE

    def test_SMSG_07_no_other_system_attribute_can_be_sent(self, sqs, queue):
        refusal = refused(
            sqs.send_message, QueueUrl=queue, MessageBody="x", MessageSystemAttributes={"SenderId": text("me")}
        )
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)

    def test_F029_names_that_belong_to_fifo_are_allowed(self, sqs, queue):
        """And answered where a message has them: a standard queue keeps a group id."""
        sqs.send_message(QueueUrl=queue, MessageBody="m", MessageGroupId="g1")
        asked = ["MessageGroupId", "MessageDeduplicationId", "SequenceNumber", "AWSTraceHeader"]
        assert receive_one(sqs, queue, system=asked)["Attributes"] == {"MessageGroupId": "g1"}

    def test_SMSG_08_unknown_system_attribute(self, sqs, queue):
        """Recorded: receive-system-attribute-names-invalid. It is ignored."""
        send(sqs, queue, "m")
        assert "Attributes" not in receive_one(sqs, queue, system=["not-a-real-name"])


class TestMessageGroupId:
    """SMSG-24: a standard queue takes it too (fair queues)."""

    def test_it_comes_back(self, sqs, queue):
        """Recorded: test_fair_queue_with_message_group_id."""
        answer = sqs.send_message(QueueUrl=queue, MessageBody="message", MessageGroupId="test")
        assert "SequenceNumber" not in answer
        assert receive_one(sqs, queue, system=["All"])["Attributes"]["MessageGroupId"] == "test"

    @pytest.mark.parametrize("good", ["a" * 128, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"])
    def test_good(self, sqs, queue, good):
        sqs.send_message(QueueUrl=queue, MessageBody="x", MessageGroupId=good)

    @pytest.mark.parametrize("bad", ["a" * 129, "group 123", "ü"])
    def test_bad(self, sqs, queue, bad):
        """Recorded: test_send_message_to_standard_queue_with_invalid_message_group_id."""
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageGroupId=bad)
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert refusal.message == (
            f"Value {bad} for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include "
            "alphanumeric and punctuation characters. 1 to 128 in length."
        )

    def test_empty(self, json_sqs, queue):
        refusal = refused(json_sqs.send_message, QueueUrl=queue, MessageBody="x", MessageGroupId="")
        assert refusal.message.startswith("Value  for parameter MessageGroupId is invalid.")

    def test_SMSG_25_no_deduplication_on_a_standard_queue(self, sqs, queue):
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="x", MessageDeduplicationId="d1")
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert counts(sqs, queue) == (0, 0, 0)


def test_F075_receive_request_attempt_id_is_tolerated(sqs, queue):
    send(sqs, queue, "m")
    assert bodies(receive(sqs, queue, ReceiveRequestAttemptId="5b2f9a0e-6c05-4a4c-9b9e-0b9d0c7b7c11")) == ["m"]


def test_an_answer_holds_at_most_ten_of_the_largest_messages(sqs, queue):
    """Ten messages of 1 MiB are 10 MiB of answer: AWS may return fewer, we must return some and lose none."""
    for index in range(10):
        sqs.send_message(QueueUrl=queue, MessageBody=str(index) * MIB)
    seen = []
    while messages := receive(sqs, queue):
        seen += [body[0] for body in bodies(messages)]
    assert sorted(seen) == list("0123456789")
    assert attributes(sqs, queue, "ApproximateNumberOfMessagesNotVisible") == {
        "ApproximateNumberOfMessagesNotVisible": "10"
    }

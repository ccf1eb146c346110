"""The AWS CLI, version 1. CLIS-06.

It is pointed here by --endpoint-url: for SQS this version overrides AWS_ENDPOINT_URL with AWS's own address.
"""

import json
import os
import subprocess

import pytest

from kit.server import TARGET

AWS = TARGET / "venv" / "bin" / "aws"


@pytest.fixture
def aws(server, tmp_path):
    """Runs `aws sqs …` and returns its answer as data."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_PAGER": "",
    }

    def run(*arguments, fails=False):
        done = subprocess.run(
            [AWS, "--endpoint-url", server.endpoint, "sqs", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if fails:
            assert done.returncode != 0, done.stdout
            return done.stderr
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else {}

    return run


def test_a_message_s_life(aws, name):
    url = aws("create-queue", "--queue-name", name, "--attributes", "VisibilityTimeout=60")["QueueUrl"]
    assert aws("get-queue-url", "--queue-name", name)["QueueUrl"] == url
    assert url in aws("list-queues", "--queue-name-prefix", name)["QueueUrls"]

    sent = aws(
        "send-message",
        "--queue-url",
        url,
        "--message-body",
        "hello from the shell",
        "--message-attributes",
        '{"k": {"DataType": "String", "StringValue": "v"}}',
    )
    received = aws(
        "receive-message",
        "--queue-url",
        url,
        "--wait-time-seconds",
        "20",
        "--max-number-of-messages",
        "10",
        "--message-attribute-names",
        "All",
        "--attribute-names",
        "All",
    )
    [message] = received["Messages"]
    assert message["MessageId"] == sent["MessageId"]
    assert message["Body"] == "hello from the shell"
    assert message["MessageAttributes"]["k"]["StringValue"] == "v"
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"

    aws("delete-message", "--queue-url", url, "--receipt-handle", message["ReceiptHandle"])
    left = aws("get-queue-attributes", "--queue-url", url, "--attribute-names", "All")["Attributes"]
    assert left["ApproximateNumberOfMessagesNotVisible"] == "0"
    aws("delete-queue", "--queue-url", url)
    assert "AWS.SimpleQueueService.NonExistentQueue" in aws("purge-queue", "--queue-url", url, fails=True)


def test_a_batch(aws, name):
    url = aws("create-queue", "--queue-name", name)["QueueUrl"]
    entries = [{"Id": str(index), "MessageBody": f"message {index}"} for index in range(3)]
    assert len(aws("send-message-batch", "--queue-url", url, "--entries", json.dumps(entries))["Successful"]) == 3
    received = aws("receive-message", "--queue-url", url, "--max-number-of-messages", "10")["Messages"]
    assert [message["Body"] for message in received] == ["message 0", "message 1", "message 2"]


def test_pages_and_tags(aws, name):
    for index in range(3):
        aws("create-queue", "--queue-name", f"{name}-{index}", "--tags", "team=post")
    # The CLI turns pages by itself.
    listed = aws("list-queues", "--queue-name-prefix", name, "--page-size", "1")["QueueUrls"]
    assert len(listed) == 3
    assert aws("list-queue-tags", "--queue-url", listed[0])["Tags"] == {"team": "post"}


def test_an_error_is_shown_with_its_code(aws, name):
    said = aws("get-queue-url", "--queue-name", name, fails=True)
    assert "AWS.SimpleQueueService.NonExistentQueue" in said
    assert "The specified queue does not exist." in said

"""Making, finding, listing, tagging and removing queues."""

import re

import pytest

from kit import raw
from kit.clients import attributes, bodies, client, counts, receive, refused, send

NAME_RULE = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"


def test_SOP_05_create_answers_the_url(sqs, server, name):
    """Source: CreateQueue. PROTO-11: the URL is {scheme}://{host}/{account}/{name}."""
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    assert re.fullmatch(re.escape(server.endpoint) + rf"/\d{{12}}/{name}", url)


def test_CLIS_04_a_queue_is_ready_at_once(sqs, name):
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="now")
    assert bodies(receive(sqs, url)) == ["now"]


def test_F046_SERR_24_create_again(sqs, name):
    """Observed: only attributes that the request names are compared."""
    url = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "40", "DelaySeconds": "5"})["QueueUrl"]
    before = attributes(sqs, url)
    for same in ({"VisibilityTimeout": "40", "DelaySeconds": "5"}, {}, {"VisibilityTimeout": "40"}):
        assert sqs.create_queue(QueueName=name, Attributes=same)["QueueUrl"] == url
    refusal = refused(sqs.create_queue, QueueName=name, Attributes={"VisibilityTimeout": "41"})
    assert (refusal.code, refusal.status) == ("QueueAlreadyExists", 400)
    assert refusal.name == ("QueueNameExists" if sqs.protocol == "json" else None)
    assert refusal.message == (
        "A queue already exists with the same name and a different value for attribute VisibilityTimeout"
    )
    assert attributes(sqs, url) == before


def test_create_again_with_a_default_written_out(sqs, name):
    """A default counts as the queue's value."""
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    assert sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "30"})["QueueUrl"] == url
    refusal = refused(sqs.create_queue, QueueName=name, Attributes={"DelaySeconds": "1"})
    assert refusal.message.endswith("a different value for attribute DelaySeconds")


def test_F048_SERR_22_a_deleted_name_rests_for_a_minute(sqs, advance, name):
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.delete_queue(QueueUrl=url)
    refusal = refused(sqs.create_queue, QueueName=name)
    assert refusal.code == "AWS.SimpleQueueService.QueueDeletedRecently"
    assert refusal.status == 400
    assert refusal.name == ("QueueDeletedRecently" if sqs.protocol == "json" else None)
    assert refusal.message == (
        "You must wait 60 seconds after deleting a queue before you can create another with the same name."
    )
    advance(61)
    assert sqs.create_queue(QueueName=name)["QueueUrl"] == url


def test_SOP_08_a_deleted_queue_is_gone_with_its_messages(sqs, advance, name):
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    send(sqs, url, "lost")
    sqs.delete_queue(QueueUrl=url)
    for call, parameters in [
        (sqs.send_message, {"MessageBody": "x"}),
        (sqs.receive_message, {}),
        (sqs.get_queue_attributes, {"AttributeNames": ["All"]}),
        (sqs.delete_queue, {}),
    ]:
        assert refused(call, QueueUrl=url, **parameters).code == "AWS.SimpleQueueService.NonExistentQueue"
    advance(61)
    sqs.create_queue(QueueName=name)
    assert receive(sqs, url) == []


def test_F205_queue_names(sqs, name):
    stem = name.ljust(75, "x")
    eighty = stem + "yyyyy"
    assert sqs.create_queue(QueueName=eighty)["QueueUrl"].endswith("/" + eighty)
    for bad in (eighty + "z", "a.b", "a/b", "x.fifo", "", "a b", "ü", "a\n"):
        refusal = refused(sqs.create_queue, QueueName=bad)
        if bad == "" and refusal.code == "MissingParameter":
            continue
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400), bad
        assert NAME_RULE in refusal.message, bad


@pytest.mark.parametrize("good", ["a", "A-b_C9", "-", "_", "0"])
def test_SATTR_22_allowed_names(sqs, name, good):
    full = f"{name}{good}"
    assert sqs.create_queue(QueueName=full)["QueueUrl"].endswith("/" + full)


def test_SATTR_22_names_are_case_sensitive(sqs, name):
    lower = sqs.create_queue(QueueName=name + "x")["QueueUrl"]
    upper = sqs.create_queue(QueueName=name + "X")["QueueUrl"]
    assert lower != upper
    send(sqs, lower, "m")
    assert receive(sqs, upper) == []


def test_fifo_queues_are_not_built_yet(sqs, name):
    """Until they are, the answer says so rather than making a queue that keeps no order."""
    refusal = refused(sqs.create_queue, QueueName=name + ".fifo", Attributes={"FifoQueue": "true"})
    assert refusal.code == "AWS.SimpleQueueService.UnsupportedOperation"
    assert refusal.status == 400


NOT_BUILT = {
    "AddPermission": {"Label": "p1", "AWSAccountIds": ["222222222222"], "Actions": ["ReceiveMessage"]},
    "RemovePermission": {"Label": "p1"},
    "ListDeadLetterSourceQueues": {},
    "StartMessageMoveTask": {"SourceArn": "arn:aws:sqs:us-east-1:000000000000:dead"},
    "ListMessageMoveTasks": {"SourceArn": "arn:aws:sqs:us-east-1:000000000000:dead"},
    "CancelMessageMoveTask": {"TaskHandle": "handle"},
}


@pytest.mark.parametrize("operation", NOT_BUILT)
def test_SERR_28_operations_to_come_say_so(sqs, queue, operation):
    """They are AWS's, so the answer is not UnknownOperation."""
    parameters = dict(NOT_BUILT[operation])
    if operation in ("AddPermission", "RemovePermission", "ListDeadLetterSourceQueues"):
        parameters["QueueUrl"] = queue
    method = getattr(sqs, re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower())
    refusal = refused(method, **parameters)
    assert refusal.code == "AWS.SimpleQueueService.UnsupportedOperation"
    assert refusal.status == 400
    assert refusal.name == ("UnsupportedOperation" if sqs.protocol == "json" else None)
    assert operation in refusal.message


def test_SATTR_12_a_redrive_policy_is_refused_until_it_works(sqs, queue):
    """A queue that takes the policy and ignores it would lose messages' way to their dead-letter queue."""
    policy = '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":"3"}'
    refusal = refused(sqs.set_queue_attributes, QueueUrl=queue, Attributes={"RedrivePolicy": policy})
    assert refusal.code == "AWS.SimpleQueueService.UnsupportedOperation"
    assert refusal.status == 400
    # F036: removing what isn't there works, as Terraform does on destroy.
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"RedrivePolicy": ""})


def test_SATTR_13_a_redrive_allow_policy_is_refused_until_it_works(sqs, queue):
    policy = '{"redrivePermission":"denyAll"}'
    refusal = refused(sqs.set_queue_attributes, QueueUrl=queue, Attributes={"RedriveAllowPolicy": policy})
    assert refusal.code == "AWS.SimpleQueueService.UnsupportedOperation"


def test_SOP_10_get_queue_url(sqs, queue, name):
    assert sqs.get_queue_url(QueueName=name)["QueueUrl"] == queue


def test_SOP_10_get_queue_url_of_the_own_account(sqs, queue, name):
    account = queue.split("/")[-2]
    assert sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)["QueueUrl"] == queue


@pytest.mark.parametrize("owner", [{}, {"QueueOwnerAWSAccountId": "222222222222"}])
def test_SOP_10_get_queue_url_of_no_queue(sqs, name, owner):
    refusal = refused(sqs.get_queue_url, QueueName=name, **owner)
    assert refusal.code == "AWS.SimpleQueueService.NonExistentQueue"
    assert refusal.status == 400


def test_SOP_14_list_by_prefix(sqs, name):
    urls = [sqs.create_queue(QueueName=f"{name}-list-{letter}")["QueueUrl"] for letter in "cab"]
    listed = sqs.list_queues(QueueNamePrefix=f"{name}-list-")["QueueUrls"]
    assert sorted(listed) == sorted(urls)
    assert urls[0] in sqs.list_queues(QueueNamePrefix=f"{name}-list-c")["QueueUrls"]


def test_SOP_14_list_of_nothing_has_no_member(sqs, name):
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=f"{name}-none")


def test_SOP_14_list_without_parameters(sqs, queue):
    assert queue in sqs.list_queues()["QueueUrls"]


def test_SOP_14_pages(sqs, name):
    """NextToken is there only while MaxResults is asked for and more is to come."""
    urls = [sqs.create_queue(QueueName=f"{name}-page-{index}")["QueueUrl"] for index in range(10)]
    prefix = {"QueueNamePrefix": f"{name}-page-"}
    everything = sqs.list_queues(**prefix)
    assert sorted(everything["QueueUrls"]) == urls
    assert "NextToken" not in everything
    seen, token = [], {}
    for page in range(5):
        answer = sqs.list_queues(MaxResults=2, **prefix, **token)
        assert len(answer["QueueUrls"]) == 2
        seen += answer["QueueUrls"]
        token = {"NextToken": answer["NextToken"]} if "NextToken" in answer else {}
        assert bool(token) == (page < 4)
    assert seen == sorted(urls)


def test_SOP_14_a_page_goes_on_where_queues_have_come_and_gone(sqs, name):
    prefix = {"QueueNamePrefix": f"{name}-drift-", "MaxResults": 2}
    urls = [sqs.create_queue(QueueName=f"{name}-drift-{letter}")["QueueUrl"] for letter in "bdfh"]
    first = sqs.list_queues(**prefix)
    assert first["QueueUrls"] == urls[:2]
    sqs.delete_queue(QueueUrl=urls[1])
    sqs.create_queue(QueueName=f"{name}-drift-a")
    assert sqs.list_queues(**prefix, NextToken=first["NextToken"])["QueueUrls"] == urls[2:]


@pytest.mark.parametrize("bad", [0, -1, 1001])
def test_SOP_14_max_results_range(sqs, bad):
    refusal = refused(sqs.list_queues, MaxResults=bad)
    assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)


def test_SOP_14_bad_token(sqs):
    refusal = refused(sqs.list_queues, MaxResults=2, NextToken="no such token")
    assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)


def test_SOP_15_purge_removes_everything(sqs, advance, queue):
    """Visible, in flight and delayed messages alike."""
    send(sqs, queue, "a", "b")
    receive(sqs, queue, count=1)
    send(sqs, queue, "later", DelaySeconds=60)
    sqs.purge_queue(QueueUrl=queue)
    assert counts(sqs, queue) == (0, 0, 0)
    advance(100)
    assert receive(sqs, queue) == []


def test_F049_SERR_21_second_purge_within_a_minute(sqs, advance, queue, name):
    sqs.purge_queue(QueueUrl=queue)
    refusal = refused(sqs.purge_queue, QueueUrl=queue)
    assert refusal.code == "AWS.SimpleQueueService.PurgeQueueInProgress"
    assert refusal.status == 403
    assert refusal.name == ("PurgeQueueInProgress" if sqs.protocol == "json" else None)
    assert refusal.message == f"Only one PurgeQueue operation on {name} is allowed every 60 seconds."
    advance(61)
    sqs.purge_queue(QueueUrl=queue)


def test_messages_sent_after_a_purge_stay(sqs, queue):
    send(sqs, queue, "before")
    sqs.purge_queue(QueueUrl=queue)
    send(sqs, queue, "after")
    assert bodies(receive(sqs, queue)) == ["after"]


class TestTags:
    """SOP-13, SOP-22, SOP-23, SATTR-23."""

    def test_round_trip(self, sqs, queue):
        """Recorded: test_tag_untag_queue."""
        assert "Tags" not in sqs.list_queue_tags(QueueUrl=queue)
        sqs.tag_queue(QueueUrl=queue, Tags={"tag1": "value1", "tag2": "value2", "tag3": ""})
        assert sqs.list_queue_tags(QueueUrl=queue)["Tags"] == {"tag1": "value1", "tag2": "value2", "tag3": ""}
        sqs.untag_queue(QueueUrl=queue, TagKeys=["tag1", "tag3"])
        assert sqs.list_queue_tags(QueueUrl=queue)["Tags"] == {"tag2": "value2"}
        sqs.untag_queue(QueueUrl=queue, TagKeys=["tag2", "missing"])
        assert "Tags" not in sqs.list_queue_tags(QueueUrl=queue)

    def test_overwrite(self, sqs, queue):
        sqs.tag_queue(QueueUrl=queue, Tags={"k": "old", "other": "x"})
        sqs.tag_queue(QueueUrl=queue, Tags={"k": "new"})
        assert sqs.list_queue_tags(QueueUrl=queue)["Tags"] == {"k": "new", "other": "x"}

    def test_at_creation(self, sqs, name):
        url = sqs.create_queue(QueueName=name, tags={"team": "post"})["QueueUrl"]
        assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "post"}

    def test_keys_are_case_sensitive_and_may_be_unicode(self, sqs, queue):
        tags = {"Key": "1", "key": "2", "clé é": "ü _.:/=+-@"}
        sqs.tag_queue(QueueUrl=queue, Tags=tags)
        assert sqs.list_queue_tags(QueueUrl=queue)["Tags"] == tags

    def test_F206_limits(self, sqs, queue):
        for bad in ({"k": "v" * 257}, {"k" * 129: "v"}, {f"k{index}": "v" for index in range(51)}, {"": "v"}):
            refusal = refused(sqs.tag_queue, QueueUrl=queue, Tags=bad)
            assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
            assert "Tags" not in sqs.list_queue_tags(QueueUrl=queue)
        fifty = {f"k{index}": "v" * 256 for index in range(49)} | {"k" * 128: "v"}
        sqs.tag_queue(QueueUrl=queue, Tags=fifty)
        assert sqs.list_queue_tags(QueueUrl=queue)["Tags"] == fifty

    @pytest.mark.parametrize("key", ["aws:x", "AWS:x"])
    def test_reserved_prefix(self, sqs, queue, key):
        assert refused(sqs.tag_queue, QueueUrl=queue, Tags={key: "v"}).code == "InvalidParameterValue"

    def test_of_no_queue(self, sqs, queue):
        missing = queue + "-missing"
        for call, parameters in [
            (sqs.tag_queue, {"Tags": {"a": "b"}}),
            (sqs.untag_queue, {"TagKeys": ["a"]}),
            (sqs.list_queue_tags, {}),
        ]:
            assert refused(call, QueueUrl=missing, **parameters).code == "AWS.SimpleQueueService.NonExistentQueue"

    def test_F045_null_is_not_the_text_null(self, server, json_sqs, queue):
        answer = raw.call(server, "TagQueue", QueueUrl=queue, Tags={"A": None, "B": "x"})
        tags = json_sqs.list_queue_tags(QueueUrl=queue).get("Tags", {})
        if answer.status == 200:
            assert tags["B"] == "x"
            assert tags.get("A", "") == ""
        else:
            assert answer.status == 400
            assert tags == {}


class TestAddresses:
    """PROTO-11, PROTO-13, PROTO-18: account and name are read from the path, whatever the host."""

    @pytest.mark.parametrize(
        "form",
        [
            "http://other-host:1234/{account}/{name}",
            "https://sqs.us-east-1.amazonaws.com/{account}/{name}",
            "https://us-east-1.queue.amazonaws.com/{account}/{name}",
            "https://queue.amazonaws.com/{account}/{name}",
            "https://sqs.us-east-1.api.aws/{account}/{name}",
            "https://sqs-fips.us-east-1.amazonaws.com/{account}/{name}",
            "http://localhost/queue/{account}/{name}",
            "http://other-host/{account}/{name}/",
            "/{account}/{name}",
        ],
    )
    def test_F100_host_does_not_matter(self, sqs, queue, form):
        account, name = queue.split("/")[-2:]
        sqs.send_message(QueueUrl=form.format(account=account, name=name), MessageBody="arrived")
        assert bodies(receive(sqs, queue)) == ["arrived"]

    def test_F102_bare_name(self, json_sqs, queue, name):
        json_sqs.send_message(QueueUrl=name, MessageBody="arrived")
        assert bodies(receive(json_sqs, queue)) == ["arrived"]

    def test_the_name_is_case_sensitive(self, sqs, queue):
        base, name = queue.rsplit("/", 1)
        refusal = refused(sqs.receive_message, QueueUrl=f"{base}/{name.upper()}")
        assert refusal.code == "AWS.SimpleQueueService.NonExistentQueue"

    def test_urls_follow_the_host_that_the_client_used(self, server, name):
        """The most frequent complaint about peers, behind Docker and proxies."""
        with raw.Connection(server) as connection:
            made = connection.request(
                "POST",
                "/",
                b'{"QueueName":"%s"}' % name.encode(),
                raw.json_headers("CreateQueue") | {"Host": "queues.example:8080"},
            )
            assert made.json()["QueueUrl"].startswith("http://queues.example:8080/")
            listed = connection.request(
                "POST",
                "/",
                b'{"QueueNamePrefix":"%s"}' % name.encode(),
                raw.json_headers("ListQueues") | {"Host": "elsewhere.example"},
            )
            assert listed.json()["QueueUrls"][0].startswith("http://elsewhere.example/")

    @pytest.mark.parametrize("bad", ["http://host", "http://host/", "", "http://"])
    def test_SERR_06_no_queue_in_the_address(self, sqs, bad):
        """Observed: which of these codes AWS answers depends on how bad the URL is."""
        refusal = refused(sqs.send_message, QueueUrl=bad, MessageBody="x")
        allowed = {
            "InvalidAddress",
            "MissingParameter",
            "AWS.SimpleQueueService.NonExistentQueue",
            "InvalidParameterValue",
        }
        assert refusal.code in allowed
        assert 400 <= refusal.status < 500


class TestRegionsAndAccounts:
    """GEN-01: the credential scope names the Region; twelve digits as access key name the account."""

    def test_regions_share_nothing(self, server, name):
        east, west = (client(server.endpoint, region=region) for region in ("us-east-1", "eu-west-1"))
        east_url = east.create_queue(QueueName=name)["QueueUrl"]
        assert refused(west.get_queue_url, QueueName=name).code == "AWS.SimpleQueueService.NonExistentQueue"
        west_url = west.create_queue(QueueName=name)["QueueUrl"]
        send(east, east_url, "east")
        assert receive(west, west_url) == []
        assert attributes(east, east_url, "QueueArn")["QueueArn"].split(":")[3] == "us-east-1"
        assert attributes(west, west_url, "QueueArn")["QueueArn"].split(":")[3] == "eu-west-1"
        east.create_queue(QueueName=name + "-east-only")
        assert len(west.list_queues(QueueNamePrefix=name)["QueueUrls"]) == 1

    def test_accounts_share_nothing(self, server, name):
        one, two = (client(server.endpoint, access_key=account) for account in ("111111111111", "222222222222"))
        url_one = one.create_queue(QueueName=name)["QueueUrl"]
        url_two = two.create_queue(QueueName=name)["QueueUrl"]
        assert url_one.split("/")[-2:] == ["111111111111", name]
        assert url_two.split("/")[-2:] == ["222222222222", name]
        send(one, url_one, "for one")
        assert receive(two, url_two) == []
        assert attributes(two, url_two, "QueueArn")["QueueArn"] == f"arn:aws:sqs:us-east-1:222222222222:{name}"

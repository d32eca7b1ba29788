"""What the URL answers, and which pods come of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from messages.pods import CONFIG_HASH
from messages.sources import RejectReason, Verdict
from sources.http.asking import FetchError
from tests.support.kernel.clock import EPOCH
from tests.support.sources.http_source_stage import (
    SHOWN,
    HttpSourceStage,
    bad_item,
    http_rules,
    http_source_stage,
    list_body,
    pod_body,
    pod_item,
)

GARBAGE = [
    pytest.param(b"\x01\x02\x03", RejectReason.SYNTAX, id="bytes"),
    pytest.param(b"{", RejectReason.SYNTAX, id="half of JSON"),
    pytest.param("name: caf\xe9".encode("latin-1"), RejectReason.SYNTAX, id="latin-1"),
    pytest.param(b"<html>Bad Gateway</html>", RejectReason.NOT_A_POD, id="a web page"),
    pytest.param(b"", RejectReason.EMPTY, id="nothing"),
    pytest.param(b" \n\t", RejectReason.EMPTY, id="white space"),
    pytest.param(b"null", RejectReason.EMPTY, id="null"),
    pytest.param(
        b'{"apiVersion": "v1", "kind": "Service"}', RejectReason.NOT_A_POD, id="a Service"
    ),
    pytest.param(
        b'{"apiVersion": "v1", "kind": "List", "items": []}', RejectReason.NOT_A_POD, id="a List"
    ),
    pytest.param(
        b'{"apiVersion": "v2", "kind": "PodList", "items": []}', RejectReason.NOT_A_POD, id="v2"
    ),
    pytest.param(
        b'{"apiVersion": "v1", "kind": "PodList"}',
        RejectReason.NOT_A_POD,
        id="a list without items",
    ),
    pytest.param(
        b"apiVersion: v1\nkind: PodList\nitems:",
        RejectReason.NOT_A_POD,
        id="a list that was cut before its items",
    ),
    pytest.param(
        b'{"apiVersion": "v1", "kind": "PodList", "items": {}}',
        RejectReason.NOT_A_POD,
        id="items of a map",
    ),
    pytest.param(b"a: [" * 200, RejectReason.TOO_LARGE, id="too deep"),
]


@pytest.fixture
def web_source(source: HttpSourceStage) -> HttpSourceStage:
    """Return a source that serves ``web``."""
    source.serves(pod_body("web"))
    assert source.listings() == [["web"]]
    return source


def test_scenario_15_an_url_that_cannot_be_reached_is_an_error_and_nothing_is_told() -> None:
    with http_source_stage(first=FetchError("no connection: Connection refused")) as source:
        assert source.listings() == []
        described = source.described()
        assert described.error == f"{SHOWN}: no connection: Connection refused"
        assert (described.ready, described.last_listed, described.manifests) == (False, None, ())


def variant(**changes: Any) -> bytes:
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", **pod_item("foo")}
    pod["spec"] |= changes.pop("spec", {})
    return json.dumps({key: value for key, value in {**pod, **changes}.items() if value}).encode()


VOLUME = {"name": "data", "emptyDir": {}}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        pytest.param(variant(apiVersion=""), "apiVersion", id="no version"),
        pytest.param(variant(apiVersion="v999"), "apiVersion", id="bad version"),
        pytest.param(
            variant(spec={"volumes": [{"name": "_INVALID_", "emptyDir": {}}]}),
            "spec.volumes[0].name",
            id="bad volume name",
        ),
        pytest.param(
            variant(spec={"volumes": [VOLUME, VOLUME]}), "spec.volumes[1].name", id="two volumes"
        ),
        pytest.param(
            variant(spec={"containers": [{"name": "", "image": "a"}]}),
            "spec.containers[0].name",
            id="empty container name",
        ),
        pytest.param(
            variant(spec={"containers": [{"name": "_INVALID_", "image": "a"}]}),
            "spec.containers[0].name",
            id="bad container name",
        ),
    ],
)
def test_scenario_16_a_pod_that_is_none_is_an_error_and_nothing_is_told(
    body: bytes, named: str
) -> None:
    with http_source_stage(first=body) as source:
        assert source.listings() == []
        assert named in source.described().error
        (verdict,) = source.described().manifests
        assert (verdict.path, verdict.verdict) == (SHOWN, Verdict.REJECTED)
        assert named in verdict.reason


def test_scenario_17_a_single_pod_gets_name_node_and_hash_and_no_toleration() -> None:
    item = pod_item("foo", uid="111")
    item["metadata"]["namespace"] = "mynamespace"
    body = json.dumps({"apiVersion": "v1", "kind": "Pod", **item}).encode()
    with http_source_stage(first=body, rules=http_rules(node_name="different-value")) as source:
        (pod,) = source.pods()
    assert pod.display_name == "mynamespace/foo-different-value"
    assert (pod.uid, pod.annotations[CONFIG_HASH]) == ("111", "111")
    assert "tolerations" not in pod.document["spec"]
    assert pod.document["spec"]["nodeName"] == "different-value"
    assert pod.document["spec"]["restartPolicy"] == "Always"
    assert pod.phase == "Pending"


def test_scenario_18_the_items_of_a_list_get_what_a_single_pod_gets(
    source: HttpSourceStage,
) -> None:
    foo, bar = pod_item("foo", uid="111", image="foo"), pod_item("bar", uid="222", image="a:bartag")
    foo["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    source.serves(list_body(foo, bar))
    served = {pod.display_name: pod for pod in source.pods()}
    assert {name: pod.uid for name, pod in served.items()} == {
        "default/foo-node1": "111",
        "default/bar-node1": "222",
    }
    policies = {
        name: pod.document["spec"]["containers"][0]["imagePullPolicy"]
        for name, pod in served.items()
    }
    assert policies == {"default/foo-node1": "Always", "default/bar-node1": "IfNotPresent"}


@pytest.mark.parametrize("body", [b"", b" \n"])
def test_scenario_20_an_empty_body_is_an_error_and_removes_nothing(
    web_source: HttpSourceStage, body: bytes
) -> None:
    """A kubelet removes all."""
    web_source.serves(body)
    assert web_source.listings() == []
    assert web_source.described().error == f"{SHOWN}: the body is empty"
    assert web_source.verdicts() == {"": (Verdict.KEPT, "default/web")}


def test_scenario_21_what_comes_back_after_an_empty_body_never_went(
    source: HttpSourceStage,
) -> None:
    """A kubelet lists nothing for the second, and says nothing for the third (K2)."""
    source.serves(pod_body("web"))
    source.serves(b"")
    source.serves(pod_body("web"))
    assert source.listings() == [["web"]]
    assert source.described().error == ""
    assert source.verdicts() == {"": (Verdict.ACCEPTED, "default/web")}


@pytest.mark.parametrize(
    "body",
    [
        list_body(),
        b"apiVersion: v1\nkind: PodList\nitems: []\n",
        b'\xef\xbb\xbf\n{"apiVersion": "v1", "kind": "PodList", "items": null}',
    ],
)
def test_a_valid_list_of_no_pods_removes_all(web_source: HttpSourceStage, body: bytes) -> None:
    web_source.serves(body)
    assert web_source.listings() == [[]]
    assert (web_source.described().error, web_source.verdicts()) == ("", {})


@pytest.mark.parametrize(("body", "code"), GARBAGE)
def test_what_cannot_be_used_keeps_the_last_good_pods(
    web_source: HttpSourceStage, body: bytes, code: RejectReason
) -> None:
    web_source.serves(body)
    assert web_source.listings() == []
    (verdict,) = web_source.described().manifests
    assert (verdict.verdict, verdict.code) == (Verdict.KEPT, code)
    assert web_source.described().error == f"{SHOWN}: {verdict.reason}"


@pytest.mark.parametrize(("body", "code"), GARBAGE)
def test_what_cannot_be_used_from_the_start_has_a_verdict_and_no_pod(
    body: bytes, code: RejectReason
) -> None:
    with http_source_stage(first=body) as source:
        assert source.listings() == []
        (verdict,) = source.described().manifests
        assert (verdict.path, verdict.verdict) == (SHOWN, Verdict.REJECTED)
        assert source.described().rejected == {code: 1}


def test_a_body_that_is_too_large_keeps_the_last_good_pods(web_source: HttpSourceStage) -> None:
    web_source.is_too_large()
    assert web_source.listings() == []
    assert web_source.verdicts() == {"": (Verdict.KEPT, "default/web")}
    assert web_source.described().rejected == {RejectReason.TOO_LARGE: 1}


def test_quirk_k2_a_bad_body_is_bad_at_every_poll(web_source: HttpSourceStage) -> None:
    web_source.serves(b"garbage")
    web_source.polls()
    web_source.polls()
    assert web_source.verdicts() == {"": (Verdict.KEPT, "default/web")}
    assert web_source.described().error != ""


def test_rule_h5_the_same_body_again_is_looked_at_and_tells_nothing(
    web_source: HttpSourceStage,
) -> None:
    before = web_source.described().last_listed
    web_source.polls()
    assert web_source.listings() == []
    assert (before, web_source.described().last_listed) == (EPOCH + 20.0, EPOCH + 40.0)


def test_a_body_that_cannot_be_used_is_no_look(web_source: HttpSourceStage) -> None:
    before = web_source.described().last_listed
    web_source.serves(b"garbage")
    web_source.fails()
    assert web_source.described().last_listed == before


def test_rule_h3_an_error_of_the_server_changes_nothing_but_the_error(
    web_source: HttpSourceStage,
) -> None:
    web_source.fails("answered with status 503")
    assert web_source.listings() == []
    assert web_source.described().error == f"{SHOWN}: answered with status 503"
    assert web_source.verdicts() == {"": (Verdict.ACCEPTED, "default/web")}


def test_rule_h7_an_invalid_pod_is_told_as_a_pod(web_source: HttpSourceStage) -> None:
    web_source.serves(json.dumps({"apiVersion": "v1", "kind": "Pod", **bad_item()}).encode())
    assert "spec.containers" in web_source.described().error
    assert "PodList" not in web_source.described().error


# --- lists ---------------------------------------------------------------------------------------------


def test_rule_h8_one_bad_item_keeps_the_last_good_list_whole(source: HttpSourceStage) -> None:
    source.serves(
        list_body(pod_item("same"), pod_item("edited"), pod_item("broken"), pod_item("gone"))
    )
    source.listings()
    source.serves(
        list_body(
            pod_item("new"),
            bad_item("broken"),
            pod_item("edited", image="b"),
            pod_item("same"),
            bad_item("fresh"),
        )
    )
    assert source.listings() == []
    assert source.verdicts() == {
        "#items[0]": (Verdict.REJECTED, "default/new"),
        "#items[1]": (Verdict.KEPT, "default/broken"),
        "#items[2]": (Verdict.KEPT, "default/edited"),
        "#items[3]": (Verdict.ACCEPTED, "default/same"),
        "#items[4]": (Verdict.REJECTED, "default/fresh"),
        "": (Verdict.KEPT, "default/gone"),
    }
    reasons = {each.path: each.reason for each in source.described().manifests}
    held_back = "items[1] cannot be used, and a list is taken as a whole or not at all"
    assert reasons[f"{SHOWN}#items[0]"] == reasons[f"{SHOWN}#items[2]"] == held_back
    assert reasons[SHOWN] == f"it is not in the list any more, but {held_back}"
    assert reasons[f"{SHOWN}#items[1]"].startswith("spec.containers")
    assert reasons[f"{SHOWN}#items[3]"] == ""
    assert source.described().error.startswith(f"{SHOWN}: items[1]: spec.containers")


def test_of_two_items_that_claim_one_pod_the_first_has_it(source: HttpSourceStage) -> None:
    source.serves(list_body(pod_item("web", image="a"), pod_item("web", image="b"), pod_item("db")))
    images = [pod.document["spec"]["containers"][0]["image"] for pod in source.pods()]
    assert images == ["registry.example/web:1", "a"]
    assert source.verdicts() == {
        "#items[0]": (Verdict.ACCEPTED, "default/web"),
        "#items[1]": (Verdict.SHADOWED, "default/web"),
        "#items[2]": (Verdict.ACCEPTED, "default/db"),
    }
    reason = source.described().manifests[1].reason
    assert reason == "items[0] has the name default/web-node1 and comes first"


def test_what_waited_behind_another_item_is_still_shadowed_when_the_body_breaks(
    source: HttpSourceStage,
) -> None:
    source.serves(list_body(pod_item("web", image="a"), pod_item("web", image="b")))
    source.serves(b"garbage")
    assert source.verdicts() == {"#items[0]": (Verdict.KEPT, "default/web")}


def test_an_item_that_stays_is_the_identical_pod(source: HttpSourceStage) -> None:
    source.serves(list_body(pod_item("a"), pod_item("b")))
    a, _ = source.pods()
    source.serves(list_body(pod_item("c"), pod_item("a")))
    again, _ = source.pods()
    assert again is a


def test_another_order_of_the_items_tells_nothing(source: HttpSourceStage) -> None:
    source.serves(list_body(pod_item("a"), pod_item("b")))
    source.listings()
    source.serves(list_body(pod_item("b"), pod_item("a")))
    assert source.listings() == []
    assert source.verdicts() == {
        "#items[0]": (Verdict.ACCEPTED, "default/b"),
        "#items[1]": (Verdict.ACCEPTED, "default/a"),
    }


def test_a_pod_is_the_same_alone_in_a_list_and_in_yaml(source: HttpSourceStage) -> None:
    source.serves(pod_body("web"))
    (pod,) = source.pods()
    source.serves(list_body(pod_item("web")))
    source.serves(
        b"apiVersion: v1\nkind: PodList\nitems:\n- kind: Pod\n  metadata: {name: web}\n"
        b"  spec: {containers: [{name: main, image: 'registry.example/web:1'}]}\n"
    )
    source.asks_for_listing()
    (again,) = source.pods()
    assert again is pod


# --- not modified --------------------------------------------------------------------------------------


def test_the_server_is_asked_about_the_last_good_body_only(source: HttpSourceStage) -> None:
    source.serves(pod_body("web"), etag="a")
    source.serves(b"garbage", etag="b")
    source.serves(pod_body("web"), etag="a")
    source.serves(pod_body("web"), etag="a")
    source.serves(pod_body("shop"))
    source.polls()
    assert source.website.asked == ["", "", "a", "a", "a", "a", ""]
    assert source.listings() == [["web"], ["shop"]]


def test_an_unmodified_body_after_a_bad_one_is_the_good_one_again(source: HttpSourceStage) -> None:
    source.serves(pod_body("web"), etag="a")
    source.serves(b"garbage", etag="b")
    source.listings()
    source.serves(pod_body("web"), etag="a")
    assert source.listings() == []
    assert source.verdicts() == {"": (Verdict.ACCEPTED, "default/web")}
    assert (source.described().error, source.described().last_listed) == ("", EPOCH + 60.0)
    source.serves(b"garbage", etag="b")
    assert source.verdicts() == {"": (Verdict.KEPT, "default/web")}

"""Bodies of the manifest URL: lines, warnings, and what is not decoded twice."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
import yaml

from manifests.pod_manifest import Decoded, ManifestRules, decode_document
from manifests.reading.document import Document
from manifests.refusals import Refused
from messages.pods import HTTP
from messages.sources import ManifestVerdict, Verdict
from sources.http import bodies
from sources.http.verdicts import HttpState, confirm, judge
from tests.support.sources.http_source_stage import bad_item, list_body, pod_body, pod_item

URL = "https://pods.example/node1"
DECODE = partial(decode_document, rules=ManifestRules(node_name="node1", source=HTTP))
STRICT = partial(decode_document, rules=ManifestRules(node_name="node1", source=HTTP, strict=True))


def judged(body: bytes, state: HttpState | None = None) -> HttpState:
    return judge(state or HttpState(), body, DECODE, URL)


def by_place(state: HttpState) -> dict[str, ManifestVerdict]:
    return {verdict.path.removeprefix(URL): verdict for verdict in state.verdicts}


YAML_LIST = b"""\
apiVersion: v1
kind: PodList
items:
- metadata: {name: good}
  spec: {containers: [{name: main, image: a}]}
- metadata:
    name: bad
  spec:
    containers:
    - name: main
      image: a
      imagePullPolicy: Sometimes
"""


def test_a_problem_of_an_item_is_told_with_its_line_in_the_body() -> None:
    reason = by_place(judged(YAML_LIST))["#items[1]"].reason
    assert reason.startswith("spec.containers[0].imagePullPolicy (line 12): ")


def test_a_problem_of_a_json_item_is_told_with_its_line_too() -> None:
    items = [pod_item("good"), bad_item("bad")]
    text = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": items}, indent=1)
    (line,) = [n for n, t in enumerate(text.splitlines(), 1) if '"containers": []' in t]
    reason = by_place(judged(text.encode()))["#items[1]"].reason
    assert reason.startswith(f"spec.containers (line {line}): ")


def test_what_is_missing_in_an_item_is_told_with_the_line_where_the_item_begins() -> None:
    body = (
        b"apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n  spec: {}\n- kind: Pod\n"
    )
    reasons = {place: verdict.reason for place, verdict in by_place(judged(body)).items()}
    assert "(line 5)" in reasons["#items[0]"]
    assert "(line 6)" in reasons["#items[1]"]


def test_a_problem_of_json_that_is_no_yaml_is_told_without_a_line() -> None:
    item = bad_item("bad")
    item["metadata"]["annotations"] = {"delete": "\x7f"}
    body = json.dumps(
        {"apiVersion": "v1", "kind": "PodList", "items": [item]}, ensure_ascii=False, indent=1
    ).encode()
    assert judged(body).error == "items[0]: spec.containers: is required"


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"kind": "Service"}, "items[0].kind (line 1): must be Pod"),
        ({"kind": "PodList", "items": []}, "items[0].kind (line 1): must be Pod"),
        ({"apiVersion": "v2"}, 'apiVersion (line 1): must be v1, not "v2"'),
        (None, "the document (line 1): must be an object with apiVersion: v1 and kind: Pod"),
        ("text", "the document (line 1): must be an object with apiVersion: v1 and kind: Pod"),
    ],
)
def test_an_item_of_another_kind_is_refused(item: Any, reason: str) -> None:
    body = list_body({**pod_item(), **item} if isinstance(item, dict) else item)
    assert by_place(judged(body))["#items[0]"].reason == reason


def test_a_warning_of_an_item_is_told_with_it_and_one_of_the_list_with_the_first() -> None:
    body = YAML_LIST.replace(b"Sometimes", b"Never\n      image: b").replace(
        b"kind: PodList", b"kind: PodList\nkind: PodList"
    )
    verdicts = by_place(judged(body + b"---\nkind: Pod\n"))
    first, second = verdicts["#items[0]"].warnings, verdicts["#items[1]"].warnings
    assert first[0].startswith("kind (line 3): the key stands here twice")
    assert "only the first document" in first[1]
    assert len(first) == 2
    (warning,) = second
    assert warning.startswith("spec.containers[0].image (line 14): the key stands here twice")


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"apiVersion: v1\nkind: PodList\n", 1),
        (b"apiVersion: v1\nkind: PodList\nitems:\n", 3),
        (b"apiVersion: v1\nkind: PodList\nitems: null\n", 3),
        (b'{"apiVersion": "v1", "kind": "PodList"}', 1),
    ],
)
def test_a_list_without_items_may_have_been_cut_and_is_told_how_to_say_no_pods(
    body: bytes, line: int
) -> None:
    assert judged(body).error == f"items (line {line}): is required; [] stands for no pods"


def test_a_list_of_more_items_than_any_node_runs_has_one_verdict() -> None:
    items = b"[1" + b",1" * 10_000 + b"]"
    state = judged(b'{"apiVersion": "v1", "kind": "PodList", "items": ' + items + b"}")
    assert [verdict.reason for verdict in state.verdicts] == [state.error]
    assert state.error == "items (line 1): must not be more than 10,000"
    in_yaml = judged(b"kind: PodList\napiVersion: v1\nitems: [1" + b",1" * 10_000 + b"]")
    assert in_yaml.error == "items (line 3): must not be more than 10,000"


def test_a_list_with_items_twice_is_taken_as_it_is_read_with_a_warning() -> None:
    item = b"\n- metadata: {name: b}\n  spec: {containers: [{name: main, image: a}]}\n"
    verdicts = by_place(judged(b"apiVersion: v1\nkind: PodList\nitems: []\nitems:" + item))
    (warning,) = verdicts["#items[0]"].warnings
    assert warning.startswith("items (line 4): the key stands here twice")


def test_an_unknown_field_of_an_item_is_a_warning_or_strictly_a_problem() -> None:
    body = list_body({**pod_item(), "colour": "blue"})
    (verdict,) = judge(HttpState(), body, DECODE, URL).verdicts
    assert (verdict.verdict, len(verdict.warnings)) == (Verdict.ACCEPTED, 1)
    (verdict,) = judge(HttpState(), body, STRICT, URL).verdicts
    assert verdict.verdict is Verdict.REJECTED


def test_items_that_repeat_by_an_alias_are_the_same_claim_twice() -> None:
    body = (
        b"apiVersion: v1\nkind: PodList\nitems:\n- &a\n  metadata: {name: a}\n"
        b"  spec: {containers: [{name: main, image: a}]}\n- *a\n"
    )
    verdicts = by_place(judged(body))
    assert verdicts["#items[0]"].verdict is Verdict.ACCEPTED
    assert verdicts["#items[1]"].verdict is Verdict.SHADOWED


def test_a_body_is_decoded_once_however_often_it_comes() -> None:
    decoded = []

    def decode(document: Document) -> Decoded | Refused:
        decoded.append(document)
        return DECODE(document)

    state = HttpState()
    bodies = [pod_body("web"), pod_body("web"), b"garbage", b"garbage", list_body(bad_item())]
    for body in [*bodies, bodies[-1]]:
        state = judge(state, body, decode, URL)
    assert len(decoded) == 2
    assert judge(state, bodies[-1], decode, URL) is state


def test_the_same_pods_are_the_identical_tuple() -> None:
    before = judged(list_body(pod_item("a"), pod_item("b")))
    after = judged(list_body(pod_item("b"), pod_item("a")), before)
    assert after.pods is before.pods


def test_a_bad_body_that_is_confirmed_good_and_comes_again_is_bad_again() -> None:
    good = judged(pod_body("web"))
    bad = judged(b"garbage", good)
    assert confirm(bad).verdicts == good.verdicts
    assert judged(b"garbage", confirm(bad)).verdicts == bad.verdicts


def test_what_is_known_of_a_body_shows_no_content() -> None:
    body = json.dumps(
        {
            "kind": "Pod",
            "apiVersion": "v1",
            **pod_item(),
            "metadata": {"name": "web", "annotations": {"a": "hunter2"}},
        }
    ).encode()
    state = judged(body)
    assert state.pods
    assert "hunter2" not in repr(state)


def many(count: int, **changed: str) -> bytes:
    """Return a list of pods as large as small pods are; those in ``changed`` have another image."""
    items = []
    for number in range(count):
        item = pod_item(f"pod-{number}")
        item["spec"]["containers"][0] |= {
            "image": changed.get(f"pod_{number}", "a"),
            "env": [{"name": f"NAME_{each}", "value": "x"} for each in range(15)],
        }
        items.append(item)
    return list_body(*items)


def test_a_list_may_have_more_values_than_any_document() -> None:
    state = judged(many(4_000))
    assert state.error == ""
    assert len(state.pods or ()) == 4_000


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_of_a_list_in_which_one_pod_changed_only_that_one_is_decoded(form: str) -> None:
    decoded: list[str] = []

    def decode(document: Document) -> Decoded | Refused:
        decoded.append(document.value["metadata"]["name"])
        return DECODE(document)

    def body(**changed: str) -> bytes:
        text = many(5, **changed)
        return yaml.safe_dump(json.loads(text)).encode() if form == "yaml" else text

    before = judge(HttpState(), body(), decode, URL)
    decoded.clear()
    after = judge(before, body(pod_3="b"), decode, URL)
    assert decoded == ["pod-3"]
    assert [new is old for new, old in zip(after.pods or (), before.pods or (), strict=True)] == [
        True,
        True,
        True,
        False,
        True,
    ]


def test_an_item_with_warnings_that_stands_elsewhere_is_decoded_again_for_its_lines() -> None:
    item = {**pod_item(), "colour": "blue"}
    text = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [item]}, indent=1)
    state = judged(text.encode())
    (before,) = state.verdicts[0].warnings
    (there,) = judged(text.encode() + b"\n", state).verdicts[0].warnings
    (elsewhere,) = judged(b"{\n\n" + text[1:].encode(), state).verdicts[0].warnings
    assert before == there != elsewhere


def test_items_that_were_good_in_a_list_that_was_not_are_known_too() -> None:
    decoded: list[Document] = []

    def decode(document: Document) -> Decoded | Refused:
        decoded.append(document)
        return DECODE(document)

    bad = judge(HttpState(), list_body(pod_item("a"), bad_item("b")), decode, URL)
    assert bad.error
    decoded.clear()
    good = judge(bad, list_body(pod_item("a"), pod_item("b")), decode, URL)
    assert len(decoded) == 1
    assert len(good.pods or ()) == 2


def test_a_list_has_room_for_each_of_its_items_and_no_more() -> None:
    large = {**pod_item("a"), "x": "y" * 5_500_000}
    two = judged(list_body(large, {**pod_item("b"), "x": "y" * 5_500_000}))
    assert two.error == "10 MiB or more, and 64 kB for each of its 2 items"
    assert judged(list_body(large, pod_item("b"))).error == ""


def test_an_item_that_is_too_large_for_a_pod_is_told_by_its_place() -> None:
    item = {**pod_item("b"), "x": list(range(100_000))}
    assert judged(list_body(pod_item("a"), item)).error == "items[1]: more than 100,000 values"


def test_a_body_in_yaml_that_is_no_list_has_the_limits_of_any_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bodies, "MOST_YAML_VALUES", 150_000)
    body = b"kind: Pod\napiVersion: v1\nx: [" + b"1," * 100_000 + b"1]\n"
    assert judged(body).error == "more than 100,000 values"
    assert judged(b"kind: PodList\nx: [" + b"1," * 150_000 + b"1]\n").error == (
        "more than 150,000 values"
    )


def test_a_body_is_no_larger_than_the_largest_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_BYTES", 100)
    assert judged(many(5)).error == "256 MB or more"

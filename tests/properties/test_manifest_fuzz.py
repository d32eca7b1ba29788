"""Whatever the bytes are, there is an answer, quickly, and it can be shown to people."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from manifests.pod_manifest import Decoded, decode_manifest
from manifests.refusals import Refused
from tests.support.manifests.manifest_text import RULES

FIXTURES = Path(__file__).parent.parent / "fixtures" / "manifests"
TEXTS = [path.read_bytes() for path in sorted(FIXTURES.glob("*/*"))]
DOCUMENTS = [
    yaml.safe_load(path.read_bytes())
    for path in sorted(FIXTURES.glob("good/*"))
    if path.name != "kube-scheduler.yaml"
]
RULE_SETS = st.builds(
    replace,
    st.just(RULES),
    strict=st.booleans(),
    allow_references=st.booleans(),
)

FIELDS = sorted(
    {
        name
        for fields in json.loads(
            (Path(__file__).parents[2] / "manifests/pod_schema.json").read_text(),
        ).values()
        for name in fields
    },
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10)
    | st.sampled_from(["1Gi", "100m", "v1", "Pod", "Always", "TCP", "a", "/a", "..", "10.0.0.1"])
)
TREES = st.recursive(
    SCALARS,
    lambda child: (
        st.lists(child, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), child, max_size=4)
    ),
    max_leaves=12,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of ``value`` with each of its keys or indices."""
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    for step, child in list(steps):
        yield value, step
        if isinstance(child, (dict, list)):
            yield from places(child)


@st.composite
def mutated_documents(draw: st.DrawFn) -> bytes:
    """A good manifest with a few of its fields replaced, removed, added or repeated."""
    document = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        container, step = draw(st.sampled_from(list(places(document))))
        match draw(st.sampled_from(["replace", "remove", "repeat", "add"])):
            case "replace":
                container[step] = draw(TREES)
            case "remove":
                del container[step]
            case "add" if isinstance(container, dict):
                container[draw(st.sampled_from(FIELDS))] = draw(TREES)
            case _ if isinstance(container, list):
                container.append(copy.deepcopy(container[step]))
            case _:
                container[draw(st.text(max_size=5))] = copy.deepcopy(container[step])
        if not document:
            break
    return json.dumps(document).encode()


@st.composite
def mutated_texts(draw: st.DrawFn) -> bytes:
    """The bytes of a manifest with a piece of them replaced by other bytes."""
    text = draw(st.sampled_from(TEXTS))
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 20)))
    marks = st.sampled_from(
        [b"{", b"[", b"]", b"&a ", b"*a", b"\n", b"\t", b": ", b"- ", b"<<: ", b"!!", b"%"]
    )
    return text[:start] + draw(st.binary(max_size=5) | marks) + text[end:]


def judged(data: bytes, rules: Any) -> Decoded | Refused:
    """Decode ``data`` and check of the answer what must be true of every one."""
    answer = decode_manifest(data, rules)
    if isinstance(answer, Refused):
        assert answer.reason
        assert answer.reason.isprintable()
        assert len(answer.reason) <= 1000
        return answer
    assert all(warning and warning.isprintable() for warning in answer.warnings)
    again = decode_manifest(json.dumps(dict(answer.pod.document)).encode(), rules)
    if isinstance(again, Decoded):
        assert again.pod.uid == answer.pod.uid
    else:
        # The name gets the node's again, and may become too long by it.
        assert "metadata.name" in again.reason
        assert len(answer.pod.name) > 240
    return answer


@given(data=st.binary(max_size=200), rules=RULE_SETS)
@example(data=b"\x01\x02\x03", rules=RULES)
@example(data=b"[" * 100_000, rules=RULES)
@example(data=b'{"a":' * 100_000, rules=RULES)
@example(data=b"a: &a [*a]", rules=RULES)
@example(data=b"? ? ? ?", rules=RULES)
def test_random_bytes_have_an_answer(data: bytes, rules: Any) -> None:
    judged(data, rules)


@given(text=st.text(alphabet="{}[]:,-?!&*#|>'\"% \n\tabyn0123._~<", max_size=80), rules=RULE_SETS)
def test_what_looks_like_yaml_has_an_answer(text: str, rules: Any) -> None:
    judged(text.encode(), rules)
    judged(b"apiVersion: v1\nkind: Pod\nmetadata: " + text.encode(), rules)


@given(tree=TREES, rules=RULE_SETS)
def test_random_json_has_an_answer(tree: Any, rules: Any) -> None:
    judged(json.dumps(tree).encode(), rules)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": tree}
    judged(json.dumps(pod).encode(), rules)


@given(data=mutated_documents(), rules=RULE_SETS)
def test_a_good_manifest_with_other_fields_has_an_answer(data: bytes, rules: Any) -> None:
    judged(data, rules)


@given(data=mutated_texts(), rules=RULE_SETS)
def test_a_good_manifest_with_other_bytes_has_an_answer(data: bytes, rules: Any) -> None:
    judged(data, rules)


@given(document=st.sampled_from(DOCUMENTS), indent=st.none() | st.integers(0, 4))
def test_how_a_document_is_written_changes_no_uid(document: Any, indent: int | None) -> None:
    as_json = decode_manifest(json.dumps(document, indent=indent).encode(), RULES)
    as_yaml = decode_manifest(yaml.safe_dump(document).encode(), RULES)
    assert isinstance(as_json, Decoded)
    assert isinstance(as_yaml, Decoded)
    assert as_json.pod == as_yaml.pod


@pytest.mark.parametrize("seed", range(3))
def test_the_manifests_that_are_mutated_are_good_ones(seed: int) -> None:
    assert isinstance(judged(json.dumps(DOCUMENTS[seed]).encode(), RULES), Decoded)

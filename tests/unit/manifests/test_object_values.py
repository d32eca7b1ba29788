"""Which documents are versions of a Secret or ConfigMap, and what differs between two."""

from __future__ import annotations

import base64
import gc
import json
import re
import weakref
from collections import UserDict
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.objects.values import (
    MAX_BYTES,
    UnusableObjectError,
    changed_keys,
    object_value,
)
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pods import JsonObject
from tests.support.canary import CANARY

SECRET = ObjectId(kind=ObjectKind.SECRET, namespace="shop", name="db")
CONFIG_MAP = ObjectId(kind=ObjectKind.CONFIG_MAP, namespace="shop", name="db")

CANARY_BASE64 = base64.b64encode(CANARY.encode()).decode()
METADATA = {"name": "db", "namespace": "shop", "uid": "u1", "resourceVersion": "7"}


def document(**fields: Any) -> JsonObject:
    """Return a document of either kind: neither says ``kind``, as in a list."""
    return {"metadata": METADATA, **fields}


def secret(**fields: Any) -> ObjectValue:
    return object_value(document(**fields), SECRET)


def config_map(**fields: Any) -> ObjectValue:
    return object_value(document(**fields), CONFIG_MAP)


def flaw(wanted: ObjectId, **fields: Any) -> str:
    """Return what is wrong with a document; fails the test when it can be used, or when a value shows."""
    with pytest.raises(UnusableObjectError) as caught:
        object_value(document(**fields), wanted)
    sentence = str(caught.value)
    assert CANARY not in sentence
    assert CANARY_BASE64 not in sentence
    start = f"{wanted.kind} shop/db cannot be used: "
    assert sentence.startswith(start)
    return sentence.removeprefix(start)


@pytest.mark.parametrize(
    ("fields", "entry", "text"),
    [
        ({"data": {"a": CANARY}}, ("data", "a"), "is no base64"),
        ({"data": {"a/b": "YQ=="}}, ("data", "a/b"), "is no key that an object can have"),
        ({"data": []}, None, "data is no object"),
    ],
)
def test_an_error_says_which_entry_it_is_about(
    fields: dict[str, Any], entry: tuple[str, str] | None, text: str
) -> None:
    with pytest.raises(UnusableObjectError) as caught:
        secret(**fields)
    assert (caught.value.entry, caught.value.flaw) == (entry, text)


def test_a_secret_is_decoded() -> None:
    value = secret(
        apiVersion="v1",
        kind="Secret",
        type="kubernetes.io/tls",
        data={"tls.crt": "Y2VydA==", "tls.key": "a2V5"},
    )
    assert value == ObjectValue(
        uid="u1",
        resource_version="7",
        data={"tls.crt": b"cert", "tls.key": b"key"},
        type="kubernetes.io/tls",
    )


def test_a_config_map_has_texts_and_bytes() -> None:
    value = config_map(
        apiVersion="v1",
        kind="ConfigMap",
        data={"greeting": "grüß dich"},
        binaryData={"logo": "iVBORw0K"},
    )
    assert value.data == {"greeting": "grüß dich".encode(), "logo": b"\x89PNG\r\n"}
    assert value.type == ""


@pytest.mark.parametrize("wanted", [SECRET, CONFIG_MAP])
@pytest.mark.parametrize("fields", [{}, {"data": None, "binaryData": None}, {"data": {}}], ids=str)
def test_an_object_may_be_empty(wanted: ObjectId, fields: dict[str, Any]) -> None:
    assert object_value(document(**fields), wanted).data == {}


def test_fields_of_a_newer_server_are_left_alone() -> None:
    value = secret(data={"a": "YQ=="}, sealed={"by": "me"}, binaryData={"b": "??"}, stringData=5)
    assert value.data == {"a": b"a"}


def test_only_a_secret_has_a_type() -> None:
    assert config_map(type="kubernetes.io/tls").type == ""


@pytest.mark.parametrize(
    ("immutable", "is_so"),
    [(True, True), (False, False), (None, False), ("true", False), (1, False), ("", False)],
)
def test_only_true_makes_an_object_immutable(immutable: object, is_so: bool) -> None:  # noqa: FBT001  # a parameter of the table
    assert secret(immutable=immutable).immutable is is_so
    assert config_map(immutable=immutable).immutable is is_so


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"kind": "ConfigMap"}, "kind is not Secret"),
        ({"kind": ""}, "kind is not Secret"),
        ({"kind": ["Secret"]}, "kind is not Secret"),
        ({"kind": "Status", "metadata": {}}, "kind is not Secret"),
        ({"apiVersion": "v2"}, "apiVersion is not v1"),
        ({"metadata": None}, "it has no metadata"),
        ({"metadata": [CANARY]}, "it has no metadata"),
        ({"metadata": METADATA | {"name": "cache"}}, "metadata.name is another one, or missing"),
        ({"metadata": METADATA | {"name": None}}, "metadata.name is another one, or missing"),
        ({"metadata": METADATA | {"namespace": "x"}}, "metadata.namespace is another one, or miss"),
        ({"metadata": {"name": "db"}}, "metadata.namespace is another one, or missing"),
        ({"metadata": METADATA | {"uid": ""}}, "metadata.uid is missing or no string"),
        ({"metadata": METADATA | {"uid": 5}}, "metadata.uid is missing or no string"),
        ({"metadata": METADATA | {"resourceVersion": None}}, "metadata.resourceVersion is missing"),
        ({"metadata": METADATA | {"resourceVersion": 7}}, "metadata.resourceVersion is missing or"),
        ({"type": 5}, "type is no string"),
        ({"type": [CANARY]}, "type is no string"),
        ({"data": CANARY}, "data is no object"),
        ({"data": [CANARY]}, "data is no object"),
        ({"data": {"a": 90210}}, 'data["a"] is no string'),
        ({"data": {"a": [CANARY]}}, 'data["a"] is no string'),
        ({"data": {"a": "YQ==", "tls.key": CANARY}}, 'data["tls.key"] is no base64'),
    ],
    ids=str,
)
def test_a_secret_that_is_none_is_told(fields: dict[str, Any], sentence: str) -> None:
    assert flaw(SECRET, **fields).startswith(sentence)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"kind": "Secret"}, "kind is not ConfigMap"),
        ({"data": {"a": 5}}, 'data["a"] is no string'),
        ({"data": {"a": {"b": CANARY}}}, 'data["a"] is no string'),
        ({"data": {"a": f"{CANARY}\ud800"}}, 'data["a"] is no text that UTF-8 can hold'),
        ({"binaryData": CANARY}, "binaryData is no object"),
        ({"binaryData": {"a": CANARY}}, 'binaryData["a"] is no base64'),
        (
            {"data": {"a": CANARY}, "binaryData": {"a": CANARY_BASE64}},
            'binaryData["a"] is the key of a text in data as well',
        ),
    ],
    ids=str,
)
def test_a_config_map_that_is_none_is_told(fields: dict[str, Any], sentence: str) -> None:
    assert flaw(CONFIG_MAP, **fields) == sentence


@pytest.mark.parametrize("key", ["a", ".a", "A-b_c.d", "a..b", "x" * 253])
def test_what_can_be_a_key_is_one(key: str) -> None:
    assert secret(data={key: "YQ=="}).data == {key: b"a"}
    assert config_map(data={key: "a"}, binaryData={f"z{key[1:]}": ""}).data[key] == b"a"


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("", '""'),
        (".", '"."'),
        ("..", '".."'),
        ("..a", '"..a"'),
        ("a/b", '"a/b"'),
        ("a b", '"a b"'),
        ("a\n", r'"a\n"'),
        ("ä", r'"\u00e4"'),
        (5, '"5"'),
        ("x" * 254, f'"{"x" * 64}"'),
    ],
)
def test_what_can_be_no_key_is_told_in_one_line(key: Any, shown: str) -> None:
    assert (
        flaw(SECRET, data={key: CANARY_BASE64})
        == f"data[{shown}] is no key that an object can have"
    )


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("", b""),
        (None, b""),
        ("YQ==", b"a"),
        ("Y+/=", b"c\xef"),
        ("YQ\n==\r\n", b"a"),
        ("YR==", b"a"),
    ],
)
def test_base64_is_read_as_the_api_server_reads_it(text: str | None, decoded: bytes) -> None:
    assert secret(data={"a": text}).data == {"a": decoded}
    assert config_map(binaryData={"a": text}).data == {"a": decoded}


@pytest.mark.parametrize(
    "text",
    [
        *("YQ", "YQ=", "Y", "YWJj=", "YWJj====", "YWJjY===", "Y=Q=", "YQ==YQ==", "=", "===="),
        *("Y Q==", " YQ==", "YQ==\t", "YQ==\x00", "YQ\u2028==", "Y-_=", "é"),
    ],
    ids=ascii,
)
def test_base64_that_the_api_server_refuses_is_refused(text: str) -> None:
    assert flaw(SECRET, data={"a": text}) == 'data["a"] is no base64'


def test_an_empty_text_of_a_config_map_may_be_null() -> None:
    assert config_map(data={"a": None}).data == {"a": b""}


def test_an_object_may_be_as_large_as_the_api_server_lets_it() -> None:
    half = base64.b64encode(b"x" * (MAX_BYTES // 2)).decode()
    assert len(secret(data={"a": half, "b": half, "c": ""}).data) == 3
    assert flaw(SECRET, data={"a": half, "b": half, "c": "YQ=="}) == (
        "its values are 1048577 bytes, more than the 1048576 it may have"
    )


def test_texts_and_bytes_of_a_config_map_are_one_size() -> None:
    half = "x" * (MAX_BYTES // 2)
    assert len(config_map(data={"a": half}, binaryData={"b": "Y" * 4, "c": ""}).data) == 3
    assert flaw(CONFIG_MAP, data={"a": half, "b": half}, binaryData={"c": "YQ=="}).startswith(
        "its values are 1048577 bytes"
    )
    # What counts is bytes, not letters.
    assert flaw(CONFIG_MAP, data={"a": "ß" * (MAX_BYTES // 2 + 1)}).startswith("its values are")


def test_a_value_shows_nothing_of_its_data() -> None:
    value = secret(data={"password": CANARY_BASE64})
    assert CANARY not in repr(value)
    assert CANARY not in str(value)


def test_an_error_brings_no_value_along() -> None:
    with pytest.raises(UnusableObjectError) as caught:
        config_map(data={"a": f"{CANARY}\ud800"})
    inner = caught.value.__context__
    assert inner is not None
    assert CANARY not in repr(caught.value) + repr(inner)
    assert inner.__context__ is None
    assert caught.value.__cause__ is None


class Watched(UserDict[str, Any]):
    """A document that can be asked whether it is still there."""


def test_a_value_does_not_keep_its_document() -> None:
    source = Watched(document(data=UserDict({"a": "YQ=="})))
    there, data_there = weakref.ref(source), weakref.ref(source["data"])
    value = object_value(source, SECRET)
    del source
    gc.collect()
    assert there() is None
    assert data_there() is None
    assert value.data == {"a": b"a"}


def test_a_value_stays_as_it_is_when_its_document_does_not() -> None:
    data = {"a": "YQ=="}
    value = secret(data=data)
    data["a"] = "Yg=="
    assert value.data == {"a": b"a"}
    with pytest.raises(TypeError):
        value.data["a"] = b"b"  # type: ignore[index]  # what the test is about


def test_objects_share_the_text_of_their_keys() -> None:
    one, other = (secret(**json.loads('{"data":{"tls.crt":"YQ=="}}')) for _ in range(2))
    (key,), (same) = one.data, other.data
    assert key is next(iter(same))


def value_of(data: dict[str, bytes], **fields: Any) -> ObjectValue:
    return ObjectValue(uid="u", resource_version="1", data=data, **fields)


@pytest.mark.parametrize(
    ("before", "after", "keys"),
    [
        ({"a": b"1"}, {"a": b"1"}, ()),
        ({"a": b"1", "b": b"2"}, {"a": b"x", "b": b"2"}, ("a",)),
        ({"b": b"1"}, {"b": b"1", "a": b""}, ("a",)),
        ({"b": b"1", "a": b""}, {"b": b"1"}, ("a",)),
        ({"z": b"1", "m": b"2"}, {"a": b"1", "m": b"3"}, ("a", "m", "z")),
    ],
)
def test_changed_keys_are_those_that_differ_came_or_went(
    before: dict[str, bytes], after: dict[str, bytes], keys: tuple[str, ...]
) -> None:
    assert changed_keys(value_of(before), value_of(after)) == keys


def test_of_an_object_that_came_or_went_all_keys_changed() -> None:
    value = value_of({"b": b"1", "a": b""})
    assert changed_keys(None, value) == changed_keys(value, None) == ("a", "b")
    assert changed_keys(None, None) == ()


def test_another_type_or_another_object_with_the_same_values_changes_no_key() -> None:
    before = value_of({"a": b"1"}, type="Opaque")
    after = ObjectValue(uid="v", resource_version="2", data={"a": b"1"}, immutable=True, type="x")
    assert changed_keys(before, after) == ()


DATA = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([b"", b"1", b"2"]))


@given(DATA, DATA)
def test_putting_the_changed_keys_right_makes_both_equal(
    before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    keys = changed_keys(value_of(before), value_of(after))
    assert list(keys) == sorted(set(keys))
    kept = {key: value for key, value in before.items() if key not in keys}
    assert kept | {key: after[key] for key in keys if key in after} == after
    # And none of them is told without need.
    assert all(before.get(key) != after.get(key) for key in keys)
    assert keys == changed_keys(value_of(after), value_of(before))


@given(st.dictionaries(st.text("abc.-_", min_size=1).filter(lambda k: k[0] != "."), st.binary()))
def test_what_was_encoded_comes_back(data: dict[str, bytes]) -> None:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    assert secret(data=encoded).data == data
    assert config_map(binaryData=encoded).data == data
    folded = {key: base64.encodebytes(value).decode() for key, value in data.items()}
    assert secret(data=folded).data == data


GROUPS_OF_FOUR = re.compile(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


@given(st.text("YQ=+/-_ \n\r a", max_size=12) | st.text(max_size=8))
def test_a_text_is_base64_when_it_is_groups_of_four_digits(text: str) -> None:
    is_base64 = GROUPS_OF_FOUR.fullmatch(text.replace("\n", "").replace("\r", ""))
    with nullcontext() if is_base64 else pytest.raises(UnusableObjectError):
        secret(data={"a": text})


@given(st.from_regex(GROUPS_OF_FOUR, fullmatch=True))
def test_groups_of_four_digits_are_decoded(text: str) -> None:
    assert secret(data={"a": text}).data == {"a": base64.b64decode(text, validate=True)}


def value_or_sentence(source: JsonObject, wanted: ObjectId) -> ObjectValue | str:
    try:
        return object_value(source, wanted)
    except UnusableObjectError as error:
        return str(error)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
FIELDS = ("apiVersion", "kind", "metadata", "data", "binaryData", "immutable", "type")


@pytest.mark.parametrize("wanted", [SECRET, CONFIG_MAP])
@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_a_document_can_be_used_or_is_told(wanted: ObjectId, fields: dict[str, Any]) -> None:
    outcome = value_or_sentence(document(**fields), wanted)
    assert isinstance(outcome, ObjectValue) or "\n" not in outcome

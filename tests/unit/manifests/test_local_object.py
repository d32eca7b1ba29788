"""From the bytes of a file to a Secret or ConfigMap: what is taken, refused and warned of, and never told."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.objects.local import DecodedObject, decode_object
from manifests.refusals import Refused
from messages.objects import ObjectKind, ObjectValue, Origin
from messages.sources import RejectReason
from tests.support.canary import CANARY
from tests.support.manifests.object_text import (
    CONFIG_MAP,
    SECRET,
    decoded,
    described,
    refused,
)


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


# --- what is taken ------------------------------------------------------------------------------------


def test_a_secret_is_its_data_decoded() -> None:
    db = described({**SECRET, "data": {"password": b64("s3")}, "type": "example.com/own"})
    assert db.object.kind is ObjectKind.SECRET
    assert (db.object.namespace, db.object.name) == ("default", "db")
    assert db.object.origin is Origin.LOCAL
    assert db.display_name == "Secret default/db"
    assert db.value.data == {"password": b"s3"}
    assert db.value.type == "example.com/own"
    assert not db.value.immutable


def test_a_secret_without_a_type_is_opaque() -> None:
    assert described(SECRET).value.type == "Opaque"


def test_string_data_is_plain_text_and_wins_over_data() -> None:
    db = described(
        {
            **SECRET,
            "data": {"password": b64("old"), "user": b64("me")},
            "stringData": {"password": "new: ä", "host": "h"},
        }
    )
    assert db.value.data == {"password": "new: ä".encode(), "user": b"me", "host": b"h"}


def test_a_config_map_is_its_text_and_its_binary_data() -> None:
    app = described(
        {**CONFIG_MAP, "data": {"level": "ä"}, "binaryData": {"blob": "/w=="}, "immutable": True}
    )
    assert app.value == ObjectValue(
        uid=app.uid,
        resource_version=app.value.resource_version,
        data={"level": "ä".encode(), "blob": b"\xff"},
        binary_keys=frozenset({"blob"}),
        immutable=True,
    )


def test_it_may_be_empty() -> None:
    assert described({**SECRET, "data": None}).value.data == {}
    assert described(CONFIG_MAP).value.data == {}


def test_the_uid_that_a_file_names_is_kept() -> None:
    assert described({**SECRET, "metadata": {"name": "db", "uid": "4f1c"}}).uid == "4f1c"


def test_a_derived_uid_depends_on_what_the_object_is_called_and_on_nothing_else() -> None:
    uid = described(SECRET).uid
    # Pinned: another one would be another object to whoever remembers it.
    assert uid == "2b942859-ecc1-58fe-8417-0c7a7c7be314"
    assert described({**SECRET, "stringData": {"a": "b"}, "immutable": True}).uid == uid
    others = [
        {**SECRET, "kind": "ConfigMap"},
        {**SECRET, "metadata": {"name": "db2"}},
        {**SECRET, "metadata": {"name": "db", "namespace": "prod"}},
    ]
    assert len({uid, *(described(other).uid for other in others)}) == 4


def test_objects_are_equal_when_all_of_their_content_is() -> None:
    one = described({**SECRET, "stringData": {"a": "b"}})
    same = replace(described({**SECRET, "data": {"a": b64("b")}}), written=7)
    assert one == same
    assert hash(one) == hash(same)
    assert one != described({**SECRET, "stringData": {"a": "c"}})
    assert one != described({**SECRET, "stringData": {"a": "b"}, "type": "example.com/own"})


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ("kubernetes.io/tls", {"tls.crt": "", "tls.key": ""}),
        ("kubernetes.io/basic-auth", {"password": "p"}),
        ("kubernetes.io/basic-auth", {"username": "u"}),
        ("kubernetes.io/ssh-auth", {"ssh-privatekey": "k"}),
        ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "{}"}),
        ("kubernetes.io/dockercfg", {".dockercfg": '{"a": 1}'}),
    ],
)
def test_a_typed_secret_with_what_its_type_promises_is_taken(
    type_: str, data: dict[str, str]
) -> None:
    assert described({**SECRET, "type": type_, "stringData": data}).value.type == type_


def test_a_token_of_a_named_account_is_taken() -> None:
    metadata = {"name": "db", "annotations": {"kubernetes.io/service-account.name": "web"}}
    token = {**SECRET, "type": "kubernetes.io/service-account-token", "metadata": metadata}
    assert described(token).value.data == {}


# --- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "the document (line 1): must be an object with apiVersion: v1 and kind: Secret"),
        ("kind: Pod\napiVersion: v1", 'kind (line 1): must be Secret or ConfigMap, not "Pod"'),
        ("a: b", "kind (line 1): must be Secret or ConfigMap"),
        ("kind: [x]", "kind (line 1): must be Secret or ConfigMap"),
        ("kind: Secret", "apiVersion (line 1): must be v1"),
        ("kind: SecretList", 'kind (line 1): a file holds exactly one object, not a "SecretList"'),
        ("kind: List", 'kind (line 1): a file holds exactly one object, not a "List"'),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\nkind: Secret\n",
            "the document (line 1): a file holds exactly one object: put each into a file of its own",
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n]\n",
            "the document (line 1): a file holds exactly one object: put each into a file of its own",
        ),
    ],
)
def test_what_is_not_one_secret_or_config_map_is_refused_as_a_whole(text: str, reason: str) -> None:
    outcome = refused(text)
    assert outcome.code is RejectReason.NOT_A_POD
    assert outcome.reason.startswith(reason)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"metadata": {}}, "metadata.name (line 1): is required"),
        ({"metadata": None}, "metadata.name (line 1): is required"),
        ({"metadata": {"name": "Db"}}, "metadata.name (line 1): must be a DNS name"),
        ({"metadata": {"name": "a", "namespace": "b.c"}}, "metadata.namespace (line 1): must be a"),
        ({"metadata": {"name": "a", "uid": "b/c"}}, "metadata.uid (line 1): must have no '/'"),
        ({"metadata": {"name": "a", "labels": {"b": "c d"}}}, "metadata.labels.b (line 1): must"),
        ({"data": {"a/b": ""}}, 'data["a/b"] (line 1): is no key that an object can have'),
        ({"data": {"..a": ""}}, 'data["..a"] (line 1): is no key that an object can have'),
        ({"data": {"a": CANARY}}, "data.a (line 1): is no base64"),
        ({"stringData": {"a/b": CANARY}}, 'stringData["a/b"] (line 1): is no key that an object'),
        ({"data": CANARY}, "data (line 1): must be an object, not a string"),
        ({"stringData": {"a": 1}}, "stringData.a (line 1): must be a string, not a number"),
        ({"stringData": {"a": "\ud800"}}, "stringData.a (line 1): holds half a surrogate pair"),
        ({"immutable": "yes"}, "immutable (line 1): must be true or false, not a string"),
        ({"type": "kubernetes.io/tls"}, 'data["tls.crt"] (line 1): a Secret of type kubernetes'),
        ({"type": "kubernetes.io/ssh-auth"}, "data.ssh-privatekey (line 1): a Secret of type"),
        ({"type": "kubernetes.io/basic-auth"}, "data (line 1): a Secret of type kubernetes.io/ba"),
        ({"type": "kubernetes.io/dockercfg"}, 'data[".dockercfg"] (line 1): a Secret of type'),
        (
            {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": CANARY}},
            'stringData[".dockercfg"] (line 1): must be a JSON object',
        ),
        (
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "[1]"}},
            'stringData[".dockerconfigjson"] (line 1): must be a JSON object',
        ),
        (
            {"type": "kubernetes.io/service-account-token"},
            'metadata.annotations["kubernetes.io/service-account.name"] (line 1): a Secret of type',
        ),
    ],
)
def test_what_an_api_server_refuses_is_refused(change: dict[str, Any], reason: str) -> None:
    outcome = refused({**SECRET, **change})
    assert outcome.code is RejectReason.INVALID
    assert outcome.reason.startswith(reason)
    assert CANARY not in outcome.reason


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("data:\n  good: YQ==\n  bad: canary!\n", "data.bad (line 6): is no base64"),
        ("stringData:\n  good: canary\n  b/d: canary\n", 'stringData["b/d"] (line 6): is no key'),
        (
            "data: {a/b: YQ==}\nstringData:\n  a/b: canary\n",
            'stringData["a/b"] (line 6): is no key',
        ),
    ],
)
def test_what_is_wrong_with_an_entry_is_told_of_the_line_where_it_stands(
    text: str, place: str
) -> None:
    outcome = refused(f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\n{text}")
    assert outcome.reason.startswith(place)
    assert outcome.pod == "Secret default/db"
    assert "canary" not in outcome.reason


def test_a_key_cannot_be_both_text_and_binary() -> None:
    outcome = refused({**CONFIG_MAP, "data": {"a": "x"}, "binaryData": {"a": "eA=="}})
    assert "binaryData" in outcome.reason
    assert outcome.pod == "ConfigMap default/app"


def test_all_values_together_may_have_1_mib() -> None:
    half = "x" * (512 * 1024)
    assert len(described({**SECRET, "stringData": {"a": half, "b": half}}).value.data) == 2
    outcome = refused({**SECRET, "stringData": {"a": half, "b": f"{half}x"}})
    assert "1048577 bytes" in outcome.reason


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"name": "db"}, "Secret default/db"),
        ({"name": "db", "namespace": "prod"}, "Secret prod/db"),
        ({"name": "D B"}, ""),
        ({"name": 7}, ""),
        ({"name": "db", "namespace": "a.b"}, ""),
        ([], ""),
    ],
)
def test_a_refusal_says_which_object_it_is_about_where_that_can_be_told(
    metadata: Any, name: str
) -> None:
    assert refused({**SECRET, "metadata": metadata, "data": []}).pod == name


def test_unknown_fields_are_warned_of() -> None:
    outcome = decoded({**CONFIG_MAP, "binarydata": {}, "metadata": {"name": "a", "nmae": ""}})
    assert sorted(outcome.warnings) == [
        "binarydata (line 1): unknown field, did you mean binaryData?",
        "metadata.nmae (line 1): unknown field, did you mean name?",
    ]


def test_unknown_fields_are_refused_where_that_is_asked_for() -> None:
    outcome = refused({**SECRET, "binaryData": {}}, strict=True)
    assert outcome.code is RejectReason.UNKNOWN_FIELD


def test_what_stands_twice_is_warned_of() -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  x: a\n  x: b\n"
    outcome = decoded(text)
    assert outcome.described.value.data == {"x": b"b"}
    (warning,) = outcome.warnings
    assert warning.startswith("stringData.x (line 6): the key stands here twice")


# --- what is never told -------------------------------------------------------------------------------


SLIPS = [
    f"stringData: {{password: {CANARY}",
    f"stringData:\n  password: '{CANARY}\n",
    f'stringData:\n  password: "{CANARY}\\q"\n',
    f"stringData:\n  password: *{CANARY}\n",
    f"stringData:\n  password: &{CANARY} [*{CANARY}]\n",
    f"stringData:\n  password: !{CANARY}!x y\n",
    f"stringData:\n  password: !!int {CANARY}\n",
    f"stringData:\n  password: @{CANARY}\n",
    f"stringData:\n  password: `{CANARY}\n",
    f"stringData:\n  password: %{CANARY}\n",
    f"stringData:\n  password: {CANARY}: x\n",
    f"stringData:\n  password: |\n {CANARY}\nx\n",
    f"stringData:\n  password: [{CANARY}]\n",
    f"stringData: [{CANARY}]\n",
    f"stringData: {CANARY}\n",
    f"data:\n  password: {CANARY}\n",
    f"data: {{password: '{CANARY}=='}}\n",
    f"immutable: {CANARY}\n",
    f"type: kubernetes.io/dockercfg\nstringData: {{.dockercfg: {CANARY}}}\n",
]


@pytest.mark.parametrize("slip", SLIPS)
def test_no_slip_of_the_pen_gives_a_value_away(slip: str) -> None:
    outcome = refused(f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\n{slip}")
    assert CANARY not in repr(outcome)


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "Secret", "stringData": {"a": "CANARY}',
        '{"kind": "Secret", "stringData": {"a": "\\CANARY"}',
        '{"kind": "Secret", "stringData": {"a": CANARY}}',
        '{"kind": "Secret", "stringData": {"a": 1CANARY}}',
        '{"kind": "Secret"} CANARY',
    ],
)
def test_no_slip_in_json_gives_a_value_away(text: str) -> None:
    assert CANARY not in refused(text.replace("CANARY", CANARY)).reason


def test_bytes_that_are_no_utf_8_are_not_quoted() -> None:
    assert CANARY not in refused(f"stringData: {CANARY}\xff".encode("latin-1")).reason


def test_no_repr_shows_a_value() -> None:
    outcome = decoded({**SECRET, "stringData": {"password": CANARY}})
    assert CANARY not in repr(outcome)
    assert b64(CANARY) not in repr(outcome)


@given(
    st.binary(max_size=200)
    | st.text(alphabet="{}[]:,'\"\\*&!|>@`%#- \nabn1", max_size=60).map(
        lambda text: f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\n{text}".encode()
    )
)
def test_whatever_the_bytes_are_there_is_an_answer(data: bytes) -> None:
    outcome = decode_object(data, strict=False)
    assert isinstance(outcome, Refused | DecodedObject)
    assert decode_object(data, strict=False) == outcome

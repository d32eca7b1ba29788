"""Credentials of registries: how they are read, and which ones are tried for an image."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin
from runtimes.cri.images.keyring import (
    LARGEST_CONFIG,
    Keyring,
    LocatedAuth,
    RegistryAuth,
    covers,
    key_of,
    pull_secrets,
    read_docker_config,
    read_old_docker_config,
)

CANARY = "hunter2-" + "x" * 20


def joined(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def config(auths: Any) -> bytes:
    return json.dumps({"auths": auths}).encode()


def names(keyring: Keyring, repository: str) -> list[str]:
    """Return who is tried for a repository, in order."""
    return [each.auth.username for each in keyring.lookup(repository)]


def ring(*locations: str) -> Keyring:
    """Return a keyring whose users are called like their locations."""
    keyring = Keyring()
    keyring.add(LocatedAuth(each, RegistryAuth(username=each)) for each in locations)
    return keyring


# --- reading ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "auth"),
    [
        ({"username": "u", "password": "p"}, RegistryAuth(username="u", password="p")),
        ({"auth": joined("u:p:q")}, RegistryAuth(username="u", password="p:q")),
        ({"auth": joined("user:p").rstrip("=")}, RegistryAuth(username="user", password="p")),
        ({"auth": f" {joined('u:p')}\n"}, RegistryAuth(username="u", password="p")),
        ({"auth": joined("u:p"), "username": "other"}, RegistryAuth(username="u", password="p")),
        ({"identitytoken": "t"}, RegistryAuth(identity_token="t")),
        ({"registrytoken": "t"}, RegistryAuth(registry_token="t")),
        (
            {"username": "u", "password": "p", "email": "x"},
            RegistryAuth(username="u", password="p"),
        ),
    ],
)
def test_an_entry_has_credentials_in_one_of_several_fields(entry: Any, auth: RegistryAuth) -> None:
    read = read_docker_config(config({"quay.io": entry}))
    assert read == (((LocatedAuth("quay.io", auth)),), ())
    assert read_old_docker_config(json.dumps({"quay.io": entry}).encode()) == read


@pytest.mark.parametrize(
    "entry",
    [
        {"auth": CANARY + "!"},
        {"auth": joined(CANARY)},
        {"auth": base64.b64encode(b"\xff\xfe:" + CANARY.encode()).decode()},
        {"username": "u", "password": [CANARY]},
        {"username": "u", "password": CANARY + "\ud800"},
        CANARY,
    ],
)
def test_a_broken_entry_is_passed_over_and_said_without_its_content(entry: Any) -> None:
    entries, complaints = read_docker_config(config({"a.io": entry, "b.io": {"username": "u"}}))
    assert [each.location for each in entries] == ["b.io"]
    (complaint,) = complaints
    assert complaint.startswith("entry 1 of 2 ")
    assert CANARY not in complaint


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"[" * 100_000, b" " * LARGEST_CONFIG + b"{}"])
def test_what_is_no_object_has_no_entries(data: bytes) -> None:
    for read in (read_docker_config, read_old_docker_config):
        assert read(data) == ((), ("is not a JSON object",))


def test_a_file_that_only_names_helpers_has_no_entries() -> None:
    assert read_docker_config(b'{"credsStore": "pass"}') == ((), ())
    assert read_docker_config(config({"quay.io": {}})) == ((), ())
    assert read_docker_config(config([])) == ((), ("auths is not an object",))


def test_no_repr_shows_credentials() -> None:
    auth = RegistryAuth(
        username=CANARY, password=CANARY, identity_token=CANARY, registry_token=CANARY
    )
    keyring = Keyring()
    keyring.add([LocatedAuth("quay.io", auth)])
    assert CANARY not in repr((auth, keyring, keyring.lookup("quay.io/x")))


# --- matching -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "key"),
    [
        ("quay.io", "quay.io"),
        ("https://quay.io", "quay.io"),
        ("http://quay.io/", "quay.io"),
        ("https://index.docker.io/v1/", "index.docker.io"),
        ("https://index.docker.io/v2/", "index.docker.io"),
        ("quay.io/v1/team", "quay.io/team"),
        ("quay.io:443/team/app", "quay.io:443/team/app"),
        ("https://me@quay.io/team?x=1#y", "quay.io/team"),
    ],
)
def test_a_location_is_found_by_its_host_and_path(location: str, key: str) -> None:
    assert key_of(location) == key


@pytest.mark.parametrize(
    ("pattern", "repository", "is_covered"),
    [
        ("quay.io", "quay.io/team/app", True),
        ("quay.io", "quay.io:443/team/app", False),
        ("quay.io:443", "quay.io:443/app", True),
        ("quay.io/team", "quay.io/team/app", True),
        ("quay.io/team", "quay.io/teams/app", True),
        ("quay.io/team/app", "quay.io/team/app", True),
        ("quay.io/other", "quay.io/team/app", False),
        ("*.quay.io", "eu.quay.io/app", True),
        ("*.quay.io", "quay.io/app", False),
        ("*.quay.io", "a.eu.quay.io/app", False),
        ("*.*.quay.io", "a.eu.quay.io/app", True),
        ("*.dkr.ecr.*.amazonaws.com", "1.dkr.ecr.eu-1.amazonaws.com/app", True),
        ("prefix*.quay.io", "prefixed.quay.io/app", True),
        ("*-suffix.quay.io", "a-suffix.quay.io/app", True),
        ("a*b*c.io", "aXbYc.io/app", True),
        ("a*a.io", "a.io/app", False),
        ("*.*", "quay.io/app", True),
        ("qua?.io", "quay.io/app", False),
        ("[::1]:5000", "[::1]:5000/app", True),
    ],
)
def test_a_location_covers_repositories(pattern: str, repository: str, *, is_covered: bool) -> None:
    assert covers(pattern, repository) is is_covered


def model_covers(pattern: str, repository: str) -> bool:
    """Say the same by trying every text that each star may stand for."""

    def is_like(label: str, pattern: str) -> bool:
        if not pattern:
            return not label
        if pattern[0] == "*":
            return any(is_like(label[cut:], pattern[1:]) for cut in range(len(label) + 1))
        return label[:1] == pattern[0] and is_like(label[1:], pattern[1:])

    (host, _, path), (other_host, _, other_path) = pattern.partition("/"), repository.partition("/")
    (name, _, port), (other_name, _, other_port) = host.partition(":"), other_host.partition(":")
    labels, others = name.split("."), other_name.split(".")
    return (
        port == other_port
        and len(labels) == len(others)
        and all(map(is_like, others, labels))
        and ("/" + other_path).startswith("/" + path if path else "")
    )


LABELS = st.text("ab*", min_size=1, max_size=5)
PATTERNS = st.builds(
    lambda labels, port, path: ".".join(labels) + port + path,
    st.lists(LABELS, min_size=1, max_size=3),
    st.sampled_from(["", ":1", ":2"]),
    st.sampled_from(["", "/a", "/a/b", "/ab"]),
)
REPOSITORIES = PATTERNS.map(lambda text: text.replace("*", "ab") + "/a/b")


@given(PATTERNS, REPOSITORIES)
def test_covering_is_as_a_plain_model_says(pattern: str, repository: str) -> None:
    assert covers(pattern, repository) == model_covers(pattern, repository)


@given(st.lists(PATTERNS, max_size=6), REPOSITORIES)
def test_all_that_covers_is_tried_the_most_specific_first(
    locations: list[str], repository: str
) -> None:
    tried = names(ring(*locations), repository)
    assert sorted(tried) == sorted({each for each in locations if model_covers(each, repository)})
    for before, after in itertools.pairwise(tried):
        assert before > after
        assert not after.startswith(before)


@pytest.mark.parametrize(
    ("repository", "tried"),
    [
        ("docker.io/library/busybox", ["https://index.docker.io/v1/"]),
        ("quay.io/team/app", ["quay.io/team/app", "quay.io/team", "quay.io"]),
        ("quay.io/other", ["quay.io"]),
        ("ghcr.io/app", []),
    ],
)
def test_docker_hub_has_a_location_of_its_own(repository: str, tried: list[str]) -> None:
    keyring = ring("quay.io", "quay.io/team/app", "https://index.docker.io/v1/", "quay.io/team")
    assert names(keyring, repository) == tried


def test_docker_hub_by_its_name_goes_before_its_old_location() -> None:
    keyring = ring("docker.io", "https://index.docker.io/v1/")
    assert names(keyring, "docker.io/library/busybox") == ["docker.io"]


def test_of_two_secrets_for_one_location_the_first_is_tried_first() -> None:
    keyring = Keyring()
    for user in ("a", "b", "a"):
        keyring.add([LocatedAuth("quay.io", RegistryAuth(username=user))])
    assert names(keyring, "quay.io/app") == ["a", "b"]


# --- pull secrets -------------------------------------------------------------------------------------------


def secret(name: str, type_: str, **data: bytes) -> dict[ObjectId, ObjectValue]:
    value = ObjectValue(
        uid=f"uid-{name}",
        resource_version="1",
        data={key.replace("__", "."): each for key, each in data.items()},
        type=type_,
    )
    return {ObjectId(kind=ObjectKind.SECRET, namespace="shop", name=name): value}


def pod(*secrets: str) -> dict[str, Any]:
    references = [{"name": each} for each in secrets]
    return {"metadata": {"namespace": "shop"}, "spec": {"imagePullSecrets": references}}


JSON_TYPE = "kubernetes.io/dockerconfigjson"
NEW = secret("new", JSON_TYPE, __dockerconfigjson=config({"quay.io": {"username": "new"}}))
OLD = secret("old", "kubernetes.io/dockercfg", __dockercfg=b'{"quay.io/a": {"username": "old"}}')
BROKEN = secret("broken", JSON_TYPE, __dockerconfigjson=CANARY.encode())
OTHER = secret("other", "Opaque", password=CANARY.encode())


def test_a_pod_has_the_credentials_of_all_its_secrets() -> None:
    found = pull_secrets(pod("new", "old"), {**NEW, **OLD})
    credentials = found.keyring.lookup("quay.io/a/b")
    assert [each.auth.username for each in credentials] == ["old", "new"]
    assert [each.source.uid for each in credentials if each.source] == ["uid-old", "uid-new"]
    assert (found.missing, found.complaints) == ((), ())


def test_a_secret_that_is_missing_or_broken_is_said_and_the_others_count() -> None:
    found = pull_secrets(pod("gone", "broken", "other", "new"), {**NEW, **BROKEN, **OTHER})
    assert names(found.keyring, "quay.io/app") == ["new"]
    assert found.missing == ("gone",)
    assert found.complaints == (
        "Secret shop/broken: is not a JSON object",
        "Secret shop/other is no pull secret",
    )


def test_a_secret_that_the_pod_does_not_name_is_not_used() -> None:
    assert names(pull_secrets(pod(), NEW).keyring, "quay.io/app") == []


def test_a_local_secret_is_used_as_well() -> None:
    ((key, value),) = NEW.items()
    local = ObjectId(kind=key.kind, namespace="shop", name="new", origin=Origin.LOCAL)
    assert names(pull_secrets(pod("new"), {local: value}).keyring, "quay.io/app") == ["new"]

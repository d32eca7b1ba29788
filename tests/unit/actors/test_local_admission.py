"""What is taken from the file of a local object, beside what its content says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.objects.local_knowledge import admit
from files.looking.found import Content, Entry, Signature
from manifests.objects.local import LocalObject
from manifests.refusals import Refused
from tests.support.canary import CANARY
from tests.support.manifests.object_text import CONFIG_MAP, SECRET, described


def entry(*, mode: int = 0o100640, written: int = 7) -> Entry:
    return Entry(
        name="db.yaml",
        path=Path("/objects/db.yaml"),
        found=Content(data=b""),
        signature=Signature(1, 1, 0, written, 0, mode),
    )


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o601, 0o777])
def test_a_secret_that_others_can_read_or_write_is_refused(mode: int) -> None:
    outcome = admit(entry(mode=0o100000 | mode), described(SECRET), None)
    assert isinstance(outcome, Refused)
    assert outcome.pod == "Secret default/db"
    assert "chmod o-rwx" in outcome.reason


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660, 0o770])
def test_its_owner_and_group_may_do_as_they_like(mode: int) -> None:
    assert admit(entry(mode=0o100000 | mode), described(SECRET), None) == described(SECRET)


def test_a_config_map_may_be_readable_by_all() -> None:
    assert admit(entry(mode=0o100666), described(CONFIG_MAP), None) == described(CONFIG_MAP)


def test_it_is_noted_when_the_content_was_written_first() -> None:
    first = admit(entry(written=7), described(SECRET), None)
    assert isinstance(first, LocalObject)
    assert first.written == 7
    assert admit(entry(written=8), first, first) is first


IMMUTABLE = {**SECRET, "immutable": True, "stringData": {"a": "x"}}


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        ({"stringData": {"a": CANARY}}, '"a" changed'),
        ({"stringData": {}}, '"a" changed'),
        ({"stringData": {"a": "x", "b": "", "c": "", "d": ""}}, '"b", "c", "d" changed'),
        ({"stringData": dict.fromkeys("bcdef", "")}, '"a", "b", "c" and others changed'),
        ({"immutable": False}, "immutable changed"),
        ({"immutable": None}, "immutable changed"),
        ({"type": "example.com/own"}, "type changed"),
    ],
)
def test_an_immutable_object_cannot_be_edited(edit: dict[str, Any], what: str) -> None:
    outcome = admit(entry(), described({**IMMUTABLE, **edit}), described(IMMUTABLE))
    assert isinstance(outcome, Refused)
    assert (
        outcome.reason == f"it is immutable, and {what}: remove the file first, then write it anew"
    )


@pytest.mark.parametrize(
    "edit",
    [
        {"metadata": {"name": "db", "labels": {"a": "b"}}},
        {"metadata": {"name": "other"}, "stringData": {"a": "y"}},
        {"kind": "ConfigMap", "stringData": {}, "data": {"a": "y"}},
    ],
    ids=["labels", "another name", "another kind"],
)
def test_the_rest_of_its_file_can_be_edited(edit: dict[str, Any]) -> None:
    after = described({**IMMUTABLE, **edit})
    assert admit(entry(), after, described(IMMUTABLE)) == after


def test_an_object_may_become_immutable() -> None:
    before = described({**IMMUTABLE, "immutable": False, "stringData": {"a": "w"}})
    assert admit(entry(), described(IMMUTABLE), before) == described(IMMUTABLE)

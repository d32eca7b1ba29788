"""Texts of somebody's class: short, and without values of Secrets."""

from __future__ import annotations

from messages.objects import ObjectId, ObjectKind, ObjectValue
from runtimes.provider.texts import HIDDEN, cut, without_values


def objects(kind: ObjectKind, **data: bytes) -> dict[ObjectId, ObjectValue]:
    of = ObjectId(kind=kind, namespace="default", name="db")
    return {of: ObjectValue(uid="1", resource_version="1", data=data)}


def test_a_long_text_is_cut_between_characters() -> None:
    assert cut("short", 5) == "short"
    assert cut("häßlich", 8) == "häß..."
    assert len(cut("ß" * 100, 50).encode()) <= 50


def test_what_is_no_unicode_is_replaced() -> None:
    assert cut("a\udcff", 10) == "a?"


def test_each_form_of_a_value_is_hidden() -> None:
    secrets = objects(ObjectKind.SECRET, key=b"first line\n  second 'line'\n", empty=b"", one=b"x")
    for text in ("first line", "second 'line'", "Zmlyc3QgbGluZQogIHNlY29uZCAnbGluZScK"):
        assert without_values(f"<{text}> x", secrets) == f"<{HIDDEN}> x"


def test_the_longest_value_is_hidden_first() -> None:
    secrets = objects(ObjectKind.SECRET, a=b"abc", b=b"abcdef")
    assert without_values("abcdef", secrets) == HIDDEN


def test_values_of_config_maps_are_no_secret() -> None:
    assert without_values("debug", objects(ObjectKind.CONFIG_MAP, level=b"debug")) == "debug"

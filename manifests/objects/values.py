"""Decodes the JSON of a Secret or ConfigMap: its value, or what is wrong with it.

Decides as the API server does whether a document can be used. So whatever comes from there can be used
unless it broke on the way, and the same rules hold for files of this machine. Unknown fields are ignored: a
newer server may have them. No sentence of this module contains a value.
"""

from __future__ import annotations

import binascii
import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pods import JsonObject

MAX_BYTES = 1024 * 1024
"""Of all values of one object, decoded. Keys do not count."""

_KEY = re.compile(r"[-._A-Za-z0-9]{1,253}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_SHOWN_LEN = 64


class UnusableObjectError(Exception):
    """A document that is no version of the object. The text is one sentence, which shows no value."""

    def __init__(self, sentence: str, entry: tuple[str, str] | None = None, flaw: str = "") -> None:
        super().__init__(sentence)
        self.entry = entry
        """The field and the key that it is about; None if it is about no single one."""
        self.flaw = flaw
        """What is wrong with that entry: the end of the sentence, such as ``is no base64``."""


class _FlawError(Exception):
    """What is wrong with the document, as the end of a sentence."""

    def __init__(self, text: str, entry: tuple[str, str] | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.entry = entry

    def of(self, wanted: ObjectId) -> UnusableObjectError:
        what = self.text
        if self.entry is not None:
            field, key = self.entry
            what = f"{field}[{json.dumps(key[:_SHOWN_LEN])}] {what}"
        sentence = f"{wanted.kind} {wanted.display_name} cannot be used: {what}"
        return UnusableObjectError(sentence, self.entry, self.text)


class _DataEntry(NamedTuple):
    """One entry of ``data`` or ``binaryData``: its field, its key, and its value as it stands there."""

    field: str
    key: str
    value: Any

    def flaw(self, text: str) -> _FlawError:
        return _FlawError(text, (self.field, self.key))


def object_value(document: JsonObject, wanted: ObjectId) -> ObjectValue:
    """Return the version of ``wanted`` that ``document`` holds, as a copy.

    ``kind`` and ``apiVersion`` may be absent, as in items of a list. Raises ``UnusableObjectError`` for a
    document that can never be used; a later version may be.
    """
    try:
        return _value(document, wanted)
    except _FlawError as flaw:
        raise flaw.of(wanted) from None


def changed_keys(before: ObjectValue | None, after: ObjectValue | None) -> tuple[str, ...]:
    """Return the keys whose values differ, came or went, sorted. None counts as an object without keys."""
    old = before.data if before else {}
    new = after.data if after else {}
    return tuple(sorted(key for key in {*old, *new} if old.get(key) != new.get(key)))


def fingerprint(value: ObjectValue) -> int:
    """Return a number that is the same for two versions with the same keys and values.

    It reveals nothing of them, and differs between processes.
    """
    return hash(frozenset(value.data.items()))


def _value(document: JsonObject, wanted: ObjectId) -> ObjectValue:
    for field, expected in (("apiVersion", "v1"), ("kind", wanted.kind)):
        if document.get(field) not in (None, expected):
            raise _FlawError(f"{field} is not {expected}")
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping):
        raise _FlawError("it has no metadata")
    for field, expected in (("name", wanted.name), ("namespace", wanted.namespace)):
        if metadata.get(field) != expected:
            raise _FlawError(f"metadata.{field} is another one, or missing")
    is_secret = wanted.kind is ObjectKind.SECRET
    return ObjectValue(
        uid=_identifier(metadata, "uid"),
        resource_version=_identifier(metadata, "resourceVersion"),
        data=MappingProxyType(_secret_data(document) if is_secret else _config_data(document)),
        immutable=document.get("immutable") is True,
        type=_type(document) if is_secret else "",
        binary_keys=frozenset() if is_secret else frozenset(document.get("binaryData") or ()),
    )


def _identifier(metadata: JsonObject, field: str) -> str:
    text = metadata.get(field)
    if not text or not isinstance(text, str):
        raise _FlawError(f"metadata.{field} is missing or no string")
    return text


def _type(document: JsonObject) -> str:
    text = document.get("type") or ""
    if not isinstance(text, str):
        raise _FlawError("type is no string")
    return sys.intern(text)


def _secret_data(document: JsonObject) -> dict[str, bytes]:
    return _bounded({entry.key: _decoded(entry) for entry in _entries(document, "data")})


def _config_data(document: JsonObject) -> dict[str, bytes]:
    texts = {entry.key: _encoded(entry) for entry in _entries(document, "data")}
    for entry in _entries(document, "binaryData"):
        if entry.key in texts:
            raise entry.flaw("is the key of a text in data as well")
        texts[entry.key] = _decoded(entry)
    return _bounded(texts)


def _bounded(data: dict[str, bytes]) -> dict[str, bytes]:
    if (size := sum(map(len, data.values()))) > MAX_BYTES:
        raise _FlawError(f"its values are {size} bytes, more than the {MAX_BYTES} it may have")
    return data


def _entries(document: JsonObject, field: str) -> Iterator[_DataEntry]:
    """Yield what stands under ``field``, by its keys."""
    entries = document.get(field)
    if entries is None:
        return
    if not isinstance(entries, Mapping):
        raise _FlawError(f"{field} is no object")
    for key, value in entries.items():
        is_key = isinstance(key, str) and _KEY.fullmatch(key)
        if not is_key or key == "." or key.startswith(".."):
            raise _FlawError("is no key that an object can have", (field, str(key)))
        # Thousands of objects share a few keys, such as tls.crt.
        yield _DataEntry(field, sys.intern(key), value)


def _decoded(entry: _DataEntry) -> bytes:
    """Return the bytes of a base64 text, read as the API server does.

    Skips line breaks and left-over bits in the last digit. Refuses any other space, the alphabet of URLs and
    missing padding. Null is empty.
    """
    if entry.value is None:
        return b""
    if not isinstance(entry.value, str):
        raise entry.flaw("is no string")
    digits = entry.value.replace("\n", "").replace("\r", "")
    if len(digits) % 4 or not _BASE64.fullmatch(digits):
        raise entry.flaw("is no base64")
    return binascii.a2b_base64(digits)


def _encoded(entry: _DataEntry) -> bytes:
    """Return a text as UTF-8. Null is empty."""
    if entry.value is None:
        return b""
    if not isinstance(entry.value, str):
        raise entry.flaw("is no string")
    # Raised outside of the handler, so that it does not refer to the error, which holds the whole text.
    with suppress(UnicodeEncodeError):
        return entry.value.encode()
    # Half of a pair of surrogates, which JSON can write.
    raise entry.flaw("is no text that UTF-8 can hold")

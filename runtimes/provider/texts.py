"""Texts of a provider, made fit for others: short, and without values of Secrets. Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from messages.objects import ObjectId, ObjectKind, ObjectValue

HIDDEN: Final = "[hidden]"


def cut(text: str, most_bytes: int) -> str:
    """Return ``text``, of which at most so many bytes are left."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= most_bytes:
        return encoded.decode()
    return encoded[: most_bytes - 3].decode(errors="ignore") + "..."


def without_values(text: str, objects: Mapping[ObjectId, ObjectValue]) -> str:
    """Return ``text`` with each value of a Secret in ``objects`` hidden, also as base64 and quoted."""
    secrets = (each for of, each in objects.items() if of.kind is ObjectKind.SECRET)
    values = (value for secret in secrets for value in secret.data.values())
    # The longest first: a short one may be a part of it.
    for form in sorted(set(_forms(values)), key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def _forms(values: Iterable[bytes]) -> Iterator[str]:
    for value in values:
        text = value.decode(errors="replace")
        lines = (line.strip() for line in text.splitlines())
        for form in (text, text.strip(), *lines):
            # A single character hides nothing, and is in every text.
            if len(form) > 1:
                yield form
                yield repr(form)[1:-1]
        if value:
            yield base64.b64encode(value).decode()


def quoted(value: object) -> str:
    """Return how Python writes ``value``, cut to what fits into a sentence."""
    return cut(repr(value), 80)

"""Secrets and ConfigMaps for tests, as documents, and what they are decoded to."""

from __future__ import annotations

import json
from typing import Any

from manifests.objects.local import DecodedObject, LocalObject, decode_object
from manifests.refusals import Refused

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app"}}


def decoded(document: Any, *, strict: bool = False) -> DecodedObject:
    """Return what a file holding ``document`` (its text, or something to write as JSON) describes."""
    text = document if isinstance(document, str) else json.dumps(document)
    outcome = decode_object(text.encode(), strict=strict)
    assert isinstance(outcome, DecodedObject), outcome
    return outcome


def described(document: Any) -> LocalObject:
    return decoded(document).described


def refused(document: Any, *, strict: bool = False) -> Refused:
    """Return what it is refused with, which is one line."""
    data = document if isinstance(document, str | bytes) else json.dumps(document)
    outcome = decode_object(data.encode() if isinstance(data, str) else data, strict=strict)
    assert isinstance(outcome, Refused), outcome
    assert "\n" not in outcome.reason
    return outcome

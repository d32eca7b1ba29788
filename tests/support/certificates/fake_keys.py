"""The program that makes and reads certificates, in memory: its certificates are JSON, its keys are numbers.

A key has the canary in it, so that wherever one is shown, that is found.
``tests/contracts/test_key_program_contract.py`` holds it to what the real one does.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from actors.certificates.key_program import KeysUnaskedError
from tests.support.canary import CANARY

BEGIN_CERTIFICATE: Final = "-----BEGIN CERTIFICATE-----\n"
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z ]+)-----\n(.*?)(?:-----END|$)", re.DOTALL)


class RefusedError(Exception):
    """What was asked about cannot be used."""


class FakeKeys:
    """Answers questions as the program does."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        """Of each question what it was."""
        self.trouble = ""
        """Why it gives no answer; empty if it does."""
        self._made = 0

    def __call__(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append(question["ask"])
        if self.trouble:
            raise KeysUnaskedError(self.trouble)
        answers = {"make": self._make, "read": _read, "read authorities": _read_authorities}
        try:
            return answers[question["ask"]](question)
        except RefusedError as error:
            return {"refused": str(error)}

    def _make(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        facts = {each: question[each] for each in ("names", "addresses", "since", "until")}
        return self.issued(**facts, is_self_signed=True)

    def issued(self, **facts: Any) -> dict[str, Any]:
        """Return a new certificate that says so, with its key."""
        self._made += 1
        return {
            "certificate": _pem("CERTIFICATE", {**facts, "number": self._made}),
            "key": f"{_pem('PRIVATE KEY', self._made)}{CANARY}\n",
            **facts,
        }


def _pem(label: str, content: object) -> str:
    data = base64.encodebytes(json.dumps(content).encode()).decode()
    return f"-----BEGIN {label}-----\n{data}-----END {label}-----\n"


def _read(question: Mapping[str, Any]) -> dict[str, Any]:
    facts = _certificate(question["certificate"])
    if facts.pop("number") != _key(question["key"]):
        raise RefusedError("the key does not fit the certificate")
    return facts


def _read_authorities(question: Mapping[str, Any]) -> dict[str, Any]:
    _certificate(question["authorities"])
    return {"authorities": question["authorities"].count(BEGIN_CERTIFICATE)}


def _certificate(pem: str) -> dict[str, Any]:
    if BEGIN_CERTIFICATE.strip() not in pem:
        raise RefusedError("there is no PEM certificate")
    facts: dict[str, Any] = _content(pem, "there is a certificate that cannot be read")
    return facts


def _key(pem: str) -> int:
    if "PRIVATE KEY-----" not in pem:
        raise RefusedError("there is no PEM key")
    if "ENCRYPTED" in pem:
        raise RefusedError("the key has a password")
    number: int = _content(pem, "the key cannot be read")
    return number


def _content(pem: str, otherwise: str) -> Any:
    block = _BLOCK.search(pem)
    try:
        return json.loads(base64.b64decode(block[2])) if block else _nothing()
    except (ValueError, binascii.Error):
        raise RefusedError(otherwise) from None


def _nothing() -> Any:
    raise ValueError

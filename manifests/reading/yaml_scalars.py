"""What a plain YAML scalar means to Kubernetes: YAML 1.1, without what Kubernetes' parser leaves out.

``y``, ``n``, ``on`` and ``off`` are booleans, and ``010`` is eight. ``1:30`` and dates are strings,
although YAML 1.1 says otherwise. Pure functions of text.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}

_NUMBER_START = frozenset("+-.0123456789")
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_BASED = re.compile(
    r"([-+]?)0(?:[xX]([0-9a-fA-F]+)|[bB]([01]+)|[oO]?([0-7]+))",
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

_MIN_INT = -(2**63)
_MAX_INT = 2**64 - 1
_MAX_DIGITS = 400
"""A float has 309 digits before its point; longer literals are infinite, and slow to read."""

_TAG = "tag:yaml.org,2002:"
STR_TAGS = frozenset({"!", f"{_TAG}str", f"{_TAG}timestamp"})


class TagError(ValueError):
    """An explicit tag that a manifest may not use, or that does not fit its value."""


def plain_scalar(text: str) -> Scalar:
    """Return the value of an unquoted scalar without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in _NUMBER_START:
        number = _number(text)
        if number is not None:
            return number
    return text


def tagged_scalar(tag: str, text: str) -> Scalar:
    """Return the value of a scalar that has an explicit tag.

    Raises ``TagError`` when the tag is none that Kubernetes manifests have, or does not fit.
    """
    if tag in STR_TAGS:
        return text
    if tag == f"{_TAG}binary":
        return _binary(text)
    kinds = _KIND_OF_TAG.get(tag)
    if kinds is None:
        raise TagError("has a tag that manifests cannot use")
    value = plain_scalar(text)
    if type(value) not in kinds:
        raise TagError(f"is not what its tag !!{tag.removeprefix(_TAG)} says")
    return value


_KIND_OF_TAG: dict[str, tuple[type, ...]] = {
    f"{_TAG}bool": (bool,),
    f"{_TAG}int": (int,),
    f"{_TAG}float": (float, int),
    f"{_TAG}null": (type(None),),
}


def whole(number: float) -> int | float:
    """Return ``number`` as an integer if it is a whole number: in JSON, 1.0 and 1 are the same."""
    if number.is_integer() and _MIN_INT <= number <= _MAX_INT:
        return int(number)
    return number


def integer(digits: str) -> int | float:
    """Return a decimal integer. One of more than 64 bits becomes a float, as in Kubernetes' parser."""
    if len(digits) <= _MAX_DIGITS:
        value = int(digits)
        return value if _MIN_INT <= value <= _MAX_INT else float(digits)
    return -math.inf if digits.startswith("-") else math.inf


def _number(text: str) -> int | float | None:
    plain = text if text[0] == "." else text.replace("_", "")
    if _DECIMAL.fullmatch(plain):
        return integer(plain)
    if len(plain) <= _MAX_DIGITS and (based := _BASED.fullmatch(plain)):
        value = _based_integer(based)
        if _MIN_INT <= value <= _MAX_INT:
            return value
    if _FLOAT.fullmatch(plain):
        return whole(float(plain))
    return None


def _based_integer(match: re.Match[str]) -> int:
    sign, hexadecimal, binary, octal = match.groups()
    if hexadecimal:
        return int(sign + hexadecimal, 16)
    return int(sign + binary, 2) if binary else int(sign + octal, 8)


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise TagError("is not what its tag !!binary says") from error

"""Resource versions: which of two is older (rule T7), and that of a document."""

from __future__ import annotations

from typing import Any

import pytest

from manifests.versions import is_older, resource_version, version_number


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("7", "7", False),
        ("007", "7", False),
        ("", "1", True),
        ("1", "", False),
        ("abc", "1", True),
        ("-5", "0", False),
        ("1_0", "2", True),
        ("+9", "2", True),
        (" 9", "2", True),
        ("\u0669", "1", True),  # an Arabic nine
        ("\u00b2", "1", True),  # a superscript two
        ("18446744073709551615", "18446744073709551614", False),
        ("18446744073709551614", "18446744073709551615", True),
        ("18446744073709551616", "1", True),  # more than 64 bits
        ("9" * 5000, "1", True),
        ("abc", "def", False),
    ],
)
def test_versions_are_compared_as_numbers_and_what_is_none_is_0(
    version: str, than: str, *, older: bool
) -> None:
    assert is_older(version, than) is older


@pytest.mark.parametrize(
    ("version", "number"), [("", 0), ("0", 0), ("17", 17), (str(2**64 - 1), 2**64 - 1), ("1.5", 0)]
)
def test_a_version_is_a_number_of_64_bits_or_0(version: str, number: int) -> None:
    assert version_number(version) == number


@pytest.mark.parametrize(
    ("document", "version"),
    [
        ({"metadata": {"resourceVersion": "17"}}, "17"),
        ({"metadata": {"resourceVersion": 17}}, ""),
        ({"metadata": {"resourceVersion": None}}, ""),
        ({"metadata": {}}, ""),
        ({"metadata": None}, ""),
        ({"metadata": "web"}, ""),
        ({}, ""),
    ],
)
def test_a_document_says_its_version_or_nothing(document: dict[str, Any], version: str) -> None:
    assert resource_version(document) == version

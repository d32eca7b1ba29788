"""The tests of ``tests/flaky.toml``: they run, and what comes of them does not count."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import pytest

TESTS: Final = Path(__file__).parents[1]
FILE: Final = TESTS / "flaky.toml"
MAY_STAY: Final = timedelta(days=14)
"""How long a test may be in the file."""


class Flaky(NamedTuple):
    """A test that fails now and then."""

    test: str
    """Its name for pytest; without brackets it means all its parameters."""
    since: date
    seen: str
    """What failed, how often, and on what kind of machine."""


def read_flaky(text: str) -> list[Flaky]:
    """Return the entries of such a file. Raise TypeError for one that lacks a field or has another."""
    return [Flaky(**entry) for entry in tomllib.loads(text).get("flaky", [])]


def why_flaky(name: str, entries: Iterable[Flaky]) -> str | None:
    """Return what was seen of the test with this name; None if its failures count."""
    names = {name, name.partition("[")[0]}
    return next((each.seen for each in entries if each.test in names), None)


def let_fail(items: Iterable[pytest.Item], entries: Sequence[Flaky]) -> None:
    """Have a failure of the tests in ``entries`` reported as an expected one."""
    for item in items:
        if (seen := why_flaky(item.nodeid, entries)) is not None:
            item.add_marker(pytest.mark.xfail(strict=False, reason=seen))


def complaints(entries: Iterable[Flaky], today: date) -> list[str]:
    """Return what is wrong with the entries: a test that there is not, no word of what was seen, too old."""
    found: list[str] = []
    for each in entries:
        file, _, function = each.test.partition("[")[0].partition("::")
        path = TESTS.parent / file
        if not path.is_file() or f"def {function.rpartition('::')[2]}(" not in path.read_text(
            "utf-8"
        ):
            found.append(f"{each.test}: there is no such test")
        if not each.seen.strip():
            found.append(f"{each.test}: what was seen is not said")
        if today - each.since > MAY_STAY:
            found.append(f"{each.test}: has been here since {each.since}, longer than 14 days")
    return found

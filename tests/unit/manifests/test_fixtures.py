"""Whole manifests: good ones as people write them, and bad ones that say what they expect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.manifests.manifest_text import RULES, decoded, refused

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "fixtures" / "manifests"
GOOD = sorted((FIXTURES / "good").iterdir())
BAD = sorted((FIXTURES / "bad").iterdir())
EXAMPLES = sorted((ROOT / "examples" / "manifests").iterdir())


@pytest.mark.parametrize("path", [*GOOD, *EXAMPLES], ids=lambda path: path.name)
def test_a_good_manifest_is_accepted_without_a_word(path: Path) -> None:
    answer = decoded(path.read_bytes(), replace(RULES, strict=True))
    assert answer.warnings == ()


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.name)
def test_a_bad_manifest_is_refused_as_it_says_itself(path: Path) -> None:
    text = path.read_text()
    code, _, sentence = text.splitlines()[0].removeprefix("# expect: ").partition(": ")
    answer = refused(text)
    assert str(answer.code) == code
    assert sentence in answer.reason

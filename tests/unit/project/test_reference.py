"""The pages that are made from the code say what the code does now."""

from __future__ import annotations

import pytest

from tests.support.project.checkout import ROOT
from tools.reference.pages import PAGES


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_the_reference_is_current(path: str) -> None:
    assert (ROOT / path).read_text() == PAGES[path](), "run `make reference`"


def test_no_other_page_is_among_them() -> None:
    folder = ROOT / "docs" / "reference"
    assert {str(each.relative_to(ROOT)) for each in folder.iterdir()} <= set(PAGES)

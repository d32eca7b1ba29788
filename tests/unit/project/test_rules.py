"""Tests say which rule of a kubelet they prove."""

from __future__ import annotations

from tools.mutants import ROOT
from tools.rules import PAGE, marked, proven, rules


def test_a_mark_names_a_rule_that_there_is() -> None:
    known = rules((ROOT / PAGE).read_text("utf-8"))
    assert proven(ROOT / "tests") - known.keys() == set()


def test_a_line_of_the_page_may_have_several_rules() -> None:
    page = "| mark | a kubelet | actorlet |\n|---|---|---|\n| S1, S8-S10 | takes `a` | same |\n"
    assert rules(page) == dict.fromkeys(["S1", "S8", "S9", "S10"], "takes `a`")


def test_the_rules_of_a_test_are_those_of_its_marks() -> None:
    text = '@pytest.mark.rule("P1", "P2")\ndef test_one() -> None:\n    assert "P3"\n'
    assert list(marked(text)) == ["P1", "P2"]

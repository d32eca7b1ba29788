"""PodManager's word on verdicts of a source."""

from __future__ import annotations

import pytest

from actors.messages.pods import FILE, PodUid
from actors.messages.sources import ManifestVerdict, PodsJudged, RejectReason, Verdict
from sources.verdicts import judged_too

UID = PodUid("4f1c")


def verdict(word: Verdict, reason: str = "") -> ManifestVerdict:
    return ManifestVerdict(path="web.yaml", verdict=word, reason=reason, uid=UID)


def test_an_accepted_pod_that_waits_behind_another_source_is_shadowed() -> None:
    judged = PodsJudged(source=FILE, shadowed={UID: "http was first"}, rejected={})
    assert judged_too([verdict(Verdict.ACCEPTED)], judged) == (
        verdict(Verdict.SHADOWED, "http was first"),
    )


def test_a_kept_pod_that_waits_behind_another_source_is_rejected_for_both_reasons() -> None:
    judged = PodsJudged(source=FILE, shadowed={UID: "http was first"}, rejected={})
    assert judged_too([verdict(Verdict.KEPT, "is empty")], judged) == (
        verdict(Verdict.REJECTED, "is empty; its last good pod is not served: http was first"),
    )


def test_a_pod_in_quarantine_is_rejected_as_poison() -> None:
    judged = PodsJudged(source=FILE, shadowed={}, rejected={UID: "it crashed somebody"})
    (after,) = judged_too([verdict(Verdict.ACCEPTED)], judged)
    assert (after.verdict, after.code) == (Verdict.REJECTED, RejectReason.POISON)


@pytest.mark.parametrize("word", [Verdict.SHADOWED, Verdict.REJECTED, Verdict.IGNORED])
def test_what_the_source_did_not_offer_stays_as_the_source_judged_it(word: Verdict) -> None:
    judged = PodsJudged(source=FILE, shadowed={UID: "http was first"}, rejected={UID: "poison"})
    assert judged_too([verdict(word)], judged) == (verdict(word),)

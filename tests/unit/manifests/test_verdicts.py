"""The verdicts of a source with those of other actors on its pods, and what is counted."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any

import pytest

from manifests.verdicts import VerdictReport, with_mirrors_judged, with_pods_judged
from messages.pods import FILE, PodUid
from messages.sources import (
    ManifestVerdict,
    MirrorsJudged,
    PodsJudged,
    RejectReason,
    Verdict,
)

UID = PodUid("4f1c")


def verdict(word: Verdict, reason: str = "") -> ManifestVerdict:
    return ManifestVerdict(path="web.yaml", verdict=word, reason=reason, uid=UID)


def test_an_accepted_pod_that_waits_behind_another_source_is_shadowed() -> None:
    judged = PodsJudged(source=FILE, shadowed={UID: "http was first"}, rejected={})
    assert with_pods_judged([verdict(Verdict.ACCEPTED)], judged) == (
        verdict(Verdict.SHADOWED, "http was first"),
    )


def test_a_kept_pod_that_waits_behind_another_source_is_rejected_for_both_reasons() -> None:
    judged = PodsJudged(source=FILE, shadowed={UID: "http was first"}, rejected={})
    assert with_pods_judged([verdict(Verdict.KEPT, "is empty")], judged) == (
        verdict(Verdict.REJECTED, "is empty; its last good pod is not served: http was first"),
    )


def test_a_pod_in_quarantine_is_rejected_as_poison() -> None:
    judged = PodsJudged(source=FILE, shadowed={}, rejected={UID: "it crashed somebody"})
    (after,) = with_pods_judged([verdict(Verdict.ACCEPTED)], judged)
    assert (after.verdict, after.code) == (Verdict.REJECTED, RejectReason.POISON)


@pytest.mark.parametrize("word", [Verdict.SHADOWED, Verdict.REJECTED, Verdict.IGNORED])
def test_what_the_source_did_not_offer_stays_as_the_source_judged_it(word: Verdict) -> None:
    judged = PodsJudged(source=FILE, shadowed={UID: "http was first"}, rejected={UID: "poison"})
    assert with_pods_judged([verdict(word)], judged) == (verdict(word),)


@pytest.mark.parametrize("word", [Verdict.ACCEPTED, Verdict.KEPT])
def test_a_served_pod_whose_mirror_is_refused_gets_one_more_warning(word: Verdict) -> None:
    mirrors = MirrorsJudged(source=FILE, refused={UID: "no priority class"})
    before = replace(verdict(word), warnings=("an unknown field",))
    assert with_mirrors_judged([before], mirrors) == (
        replace(
            before,
            warnings=(
                "an unknown field",
                "the cluster does not show this version: no priority class",
            ),
        ),
    )


@pytest.mark.parametrize("word", [Verdict.SHADOWED, Verdict.REJECTED, Verdict.IGNORED])
def test_a_pod_that_is_not_served_misses_no_mirror(word: Verdict) -> None:
    mirrors = MirrorsJudged(source=FILE, refused={UID: "no priority class"})
    assert with_mirrors_judged([verdict(word)], mirrors) == (verdict(word),)


def test_a_mirror_that_is_refused_is_news_but_no_other_refusal_of_the_manifest(
    logs: list[MutableMapping[str, Any]],
) -> None:
    report = VerdictReport(FILE)
    kept = replace(verdict(Verdict.KEPT, "is empty"), code=RejectReason.EMPTY)
    report.log([kept], "trouble")
    report.hear(MirrorsJudged(source=FILE, refused={UID: "no priority class"}))
    report.log([kept], "trouble")
    report.log([kept], "trouble")
    assert len(logs) == 2
    assert report.rejected == {RejectReason.EMPTY: 1}


def test_the_newest_word_of_each_counts() -> None:
    report = VerdictReport(FILE)
    report.hear(MirrorsJudged(source=FILE, refused={UID: "no priority class"}))
    report.hear(PodsJudged(source=FILE, shadowed={UID: "http was first"}, rejected={}))
    report.hear(PodsJudged(source=FILE, shadowed={}, rejected={}))
    (shown,) = report.shown([verdict(Verdict.ACCEPTED)])
    assert (shown.verdict, len(shown.warnings)) == (Verdict.ACCEPTED, 1)
    report.hear(MirrorsJudged(source=FILE, refused={}))
    assert report.shown([verdict(Verdict.ACCEPTED)]) == (verdict(Verdict.ACCEPTED),)


@pytest.mark.parametrize(
    "word", [Verdict.SHADOWED, Verdict.ACCEPTED, Verdict.KEPT, Verdict.REJECTED]
)
def test_a_manifest_that_is_gone_is_told_once(
    word: Verdict, logs: list[MutableMapping[str, Any]]
) -> None:
    report = VerdictReport(FILE)
    other = replace(verdict(Verdict.ACCEPTED), path="other.yaml")
    report.log([replace(verdict(word), pod="default/web"), other], "trouble")
    logs.clear()
    report.log([other], "trouble")
    report.log([other], "trouble")
    assert [(e["log_level"], e["event"], e["path"], e["was"], e["pod"]) for e in logs] == [
        ("info", "manifest is gone", "web.yaml", word.value, "default/web")
    ]


def test_a_leftover_of_an_editor_that_is_gone_is_told_to_who_debugs(
    logs: list[MutableMapping[str, Any]],
) -> None:
    report = VerdictReport(FILE)
    report.log([verdict(Verdict.IGNORED)], "trouble")
    report.log([], "trouble")
    assert [event["log_level"] for event in logs] == ["debug", "debug"]


def many(count: int) -> list[ManifestVerdict]:
    """Return the verdicts on as many good manifests."""
    word = verdict(Verdict.ACCEPTED)
    return [replace(word, path=f"pod-{number}.yaml") for number in range(count)]


def told(logs: list[MutableMapping[str, Any]]) -> list[tuple[str, object]]:
    """Return the lines at level info and above: what each says, and of which manifest or how many."""
    lines = [line for line in logs if line["log_level"] != "debug"]
    return [(line["event"], line.get("path") or line.get("more")) for line in lines]


def test_of_many_good_manifests_the_first_have_lines_and_the_others_are_counted(
    logs: list[MutableMapping[str, Any]],
) -> None:
    report, good = VerdictReport(FILE), many(25)
    broken = replace(verdict(Verdict.REJECTED, "is empty"), path="z.yaml", code=RejectReason.EMPTY)
    report.log([*good, broken], "trouble")
    named = [("manifest", each.path) for each in good[:20]]
    assert told(logs) == [*named, ("trouble", "z.yaml"), ("manifests", 5)]
    logs.clear()
    report.log([broken], "trouble")
    gone = [("manifest is gone", each.path) for each in good[:20]]
    assert told(logs) == [*gone, ("manifests are gone", 5)]


def test_as_many_manifests_as_are_named_need_no_count(
    logs: list[MutableMapping[str, Any]],
) -> None:
    VerdictReport(FILE).log(many(20), "trouble")
    assert [event for event, _ in told(logs)] == ["manifest"] * 20

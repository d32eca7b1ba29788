"""What people are told of each manifest: endpoint, log and counter."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from messages.pods import FILE, PodUid
from messages.sources import MirrorsJudged, PodsJudged, RejectReason, Verdict
from tests.support.kernel.clock import EPOCH
from tests.support.sources.file_source_stage import (
    BROKEN,
    FileSourceStage,
    file_source_stage,
    pod_text,
)

Logs = list[MutableMapping[str, Any]]


@pytest.fixture
def files(tmp_path: Path) -> Iterator[FileSourceStage]:
    path = tmp_path / "manifests"
    path.mkdir()
    with file_source_stage(path) as files:
        yield files


def lines(logs: Logs) -> list[tuple[str, str, str]]:
    """Return level, file and verdict of each line about a manifest, and forget all lines."""
    told = [
        (event["log_level"], Path(event["path"]).name, event["verdict"])
        for event in logs
        if "verdict" in event
    ]
    logs.clear()
    return told


def test_a_verdict_is_logged_when_it_changes_and_not_on_every_look(
    logs: Logs, files: FileSourceStage
) -> None:
    files.write("web.yaml", pod_text("web"))
    files.write("bad.yaml", BROKEN)
    files.notices()
    assert lines(logs) == [("warning", "bad.yaml", "rejected"), ("info", "web.yaml", "accepted")]

    files.scans()
    files.rescans()
    assert lines(logs) == []

    files.write("web.yaml", BROKEN)
    files.notices()
    assert lines(logs) == [("warning", "web.yaml", "kept")]

    files.write("web.yaml", pod_text("web"))
    files.notices()
    assert lines(logs) == [("info", "web.yaml", "accepted")]


def test_an_accepted_manifest_with_warnings_is_logged_as_a_warning(
    logs: Logs, files: FileSourceStage
) -> None:
    files.write("web.yaml", pod_text("web") + "colour: blue\n")
    files.notices()
    (event,) = [event for event in logs if event["event"] == "manifest"]
    assert event["log_level"] == "warning"
    (warning,) = event["warnings"]
    assert warning.startswith("colour")


def test_a_refused_manifest_is_logged_in_the_kubelet_s_words(
    logs: Logs, files: FileSourceStage
) -> None:
    file = files.write("bad.yaml", "just words")
    files.notices()
    (event,) = [e for e in logs if e["event"] == "Could not process manifest file"]
    assert event["path"] == str(file)
    assert event["reason"] == files.verdict("bad.yaml").reason


def test_a_crash_of_the_source_logs_no_verdict_again(logs: Logs, files: FileSourceStage) -> None:
    files.write("bad.yaml", BROKEN)
    files.notices()
    logs.clear()
    files.crashes()
    assert lines(logs) == []
    assert files.described().rejected == {RejectReason.SYNTAX: 1}


def test_no_value_of_a_manifest_is_logged(logs: Logs, files: FileSourceStage) -> None:
    text = pod_text("web").replace("name: main", "name: main, env: [{name: A, value: [hunter2]}]")
    files.write("web.yaml", text)
    files.notices()
    assert files.verdicts() == {"web.yaml": Verdict.REJECTED}
    assert "hunter2" not in repr(logs)


def test_refusals_are_counted_by_reason_as_long_as_the_process_lives(
    files: FileSourceStage,
) -> None:
    files.write("bad.yaml", BROKEN)
    files.write("list.yaml", "apiVersion: v1\nkind: PodList\n")
    files.notices()
    files.write("bad.yaml", "")
    files.notices()
    files.write("bad.yaml", pod_text("web"))
    files.notices()
    files.write("bad.yaml", BROKEN)
    files.notices()
    assert files.described().rejected == {
        RejectReason.SYNTAX: 2,
        RejectReason.NOT_A_POD: 1,
        RejectReason.EMPTY: 1,
    }


def test_a_description_says_when_the_path_was_listed_last(files: FileSourceStage) -> None:
    described = files.described()
    assert (described.name, described.ready, described.error) == (FILE, True, "")
    assert described.last_listed == EPOCH
    files.scans()
    assert files.described().last_listed == EPOCH + 4.0


def test_a_verdict_names_the_file_and_its_pod(files: FileSourceStage) -> None:
    file = files.write("web.yaml", pod_text("web", uid="u1"))
    files.notices()
    verdict = files.verdict("web.yaml")
    assert (verdict.path, verdict.pod, verdict.uid) == (str(file), "default/web-node1", "u1")


# --- PodManager's and MirrorKeeper's word ---------------------------------------------------------------


def judged(shadowed: dict[str, str], rejected: dict[str, str]) -> PodsJudged:
    return PodsJudged(
        source=FILE,
        shadowed={PodUid(uid): reason for uid, reason in shadowed.items()},
        rejected={PodUid(uid): reason for uid, reason in rejected.items()},
    )


def test_a_pod_that_waits_behind_another_source_s_is_shadowed(
    logs: Logs, files: FileSourceStage
) -> None:
    files.write("web.yaml", pod_text("web", uid="u1"))
    files.notices()
    logs.clear()

    files.tell(judged({"u1": "another was there first"}, {}))
    verdict = files.verdict("web.yaml")
    assert (verdict.verdict, verdict.reason) == (Verdict.SHADOWED, "another was there first")
    assert lines(logs) == [("warning", "web.yaml", "shadowed")]

    # It stays so, whatever the source looks at, and over a crash of it.
    files.scans()
    files.crashes()
    assert files.verdicts() == {"web.yaml": Verdict.SHADOWED}
    assert lines(logs) == []

    files.tell(judged({}, {}))
    assert files.verdicts() == {"web.yaml": Verdict.ACCEPTED}
    assert lines(logs) == [("info", "web.yaml", "accepted")]


def test_a_pod_in_quarantine_is_rejected_and_counted_once(files: FileSourceStage) -> None:
    files.write("web.yaml", pod_text("web", uid="u1"))
    files.notices()
    files.tell(judged({}, {"u1": "it crashed somebody"}))
    files.tell(judged({}, {"u1": "it crashed somebody"}))
    files.crashes()
    verdict = files.verdict("web.yaml")
    assert (verdict.verdict, verdict.code) == (Verdict.REJECTED, RejectReason.POISON)
    assert files.described().rejected == {RejectReason.POISON: 1}


def test_a_pod_whose_mirror_is_refused_is_served_with_a_warning_also_after_a_crash(
    logs: Logs, files: FileSourceStage
) -> None:
    files.write("web.yaml", pod_text("web", uid="u1"))
    files.notices()
    logs.clear()

    files.tell(MirrorsJudged(source=FILE, refused={PodUid("u1"): "its priority is forbidden"}))
    files.crashes()
    verdict = files.verdict("web.yaml")
    assert verdict.verdict is Verdict.ACCEPTED
    assert verdict.warnings == (
        "the cluster does not show this version: its priority is forbidden",
    )
    assert lines(logs) == [("warning", "web.yaml", "accepted")]

    files.tell(MirrorsJudged(source=FILE, refused={}))
    assert files.verdict("web.yaml").warnings == ()

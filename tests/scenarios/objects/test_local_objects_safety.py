"""Secrets stay secret: who may read their files, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from messages.objects import ReadVerdict
from messages.sources import Verdict
from tests.support.objects.local_objects_stage import (
    CANARY,
    LocalObjectsStage,
    config_map_text,
    local_objects_stage,
    secret_id,
    secret_text,
)


@pytest.fixture
def files(path: Path) -> Iterator[LocalObjectsStage]:
    with local_objects_stage(path) as files:
        yield files


@pytest.mark.parametrize("mode", [0o644, 0o602, 0o777])
def test_the_file_of_a_secret_that_others_can_read_or_write_is_refused(
    files: LocalObjectsStage, mode: int
) -> None:
    files.put("db.yaml", secret_text("db"), mode=mode)
    verdict = files.verdict("db.yaml")
    assert (verdict.verdict, verdict.pod) == (Verdict.REJECTED, "Secret default/db")
    assert "chmod o-rwx" in verdict.reason
    assert files.reads(secret_id("db")).verdict is ReadVerdict.UNUSABLE


def test_its_group_may_read_it_and_anybody_a_config_map(files: LocalObjectsStage) -> None:
    files.keep("db.yaml", secret_text("db"), mode=0o660)
    files.put("app.yaml", config_map_text("app"), mode=0o666)
    assert {*files.verdicts().values()} == {Verdict.ACCEPTED}


def test_a_change_of_the_mode_alone_is_noticed(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"), mode=0o644)
    (files.path / "db.yaml").chmod(0o640)
    files.scans()
    assert files.verdicts() == {"db.yaml": Verdict.ACCEPTED}
    (files.path / "db.yaml").chmod(0o644)
    files.scans()
    assert files.verdicts() == {"db.yaml": Verdict.KEPT}
    assert files.reads(secret_id("db")).verdict is ReadVerdict.STALE


def test_the_mode_of_a_link_s_target_counts(files: LocalObjectsStage, tmp_path: Path) -> None:
    target = tmp_path / "target.yaml"
    target.write_text(secret_text("db"))
    files.touch(target)
    target.chmod(0o644)
    (files.path / "db.yaml").symlink_to(target)
    files.notices()
    assert files.verdicts() == {"db.yaml": Verdict.REJECTED}
    target.chmod(0o600)
    files.scans()
    assert files.verdicts() == {"db.yaml": Verdict.ACCEPTED}


def test_a_renamed_secret_that_others_can_read_by_now_is_kept(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    (files.path / "db.yaml").chmod(0o644)
    (files.path / "db.yaml").rename(files.path / "other.yaml")
    files.notices()
    assert files.verdicts() == {"other.yaml": Verdict.KEPT}


@pytest.mark.parametrize(
    "text",
    [
        f"{secret_text('db')}unknown: x\n",
        f"{secret_text('db')}data: {{other: {CANARY}}}\n",
        secret_text("db", password=f"{CANARY}'"),
        secret_text("db", password=f"', x: *{CANARY} #"),
        f"{secret_text('db')}---\n{secret_text('db')}",
    ],
    ids=["warned", "no base64", "no YAML", "alias", "two"],
)
def test_no_value_is_in_what_people_see(
    logs: list[MutableMapping[str, Any]], files: LocalObjectsStage, text: str
) -> None:
    files.put("db.yaml", secret_text("db"))
    files.put("db.yaml", text)
    answer = files.reads(secret_id("db"))
    assert answer.value is not None  # this one does hold it, and does not show it
    seen = [logs, files.described(), files.facts(), answer]
    assert CANARY not in repr(seen)
    assert any(event["event"] == "Could not process manifest file" for event in logs) or (
        files.verdict("db.yaml").warnings
    )


def test_the_log_names_the_object(
    logs: list[MutableMapping[str, Any]], files: LocalObjectsStage
) -> None:
    files.put("db.yaml", secret_text("db"))
    (event,) = [event for event in logs if event["event"] == "manifest"]
    assert (event["object"], event["verdict"]) == ("Secret default/db", "accepted")


def test_a_crash_does_not_show_values_either(
    logs: list[MutableMapping[str, Any]], files: LocalObjectsStage
) -> None:
    files.put("db.yaml", secret_text("db"))
    files.crashes()
    assert CANARY not in repr(logs)
    assert CANARY not in repr(files.play.endings)

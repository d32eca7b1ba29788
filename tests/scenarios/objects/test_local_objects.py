"""Secrets and ConfigMaps from files: what managers are told and readers are answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel import Runtime
from messages.holders import NO_MARK, HolderIs
from messages.objects import (
    Change,
    ObjectAvailability,
    ObjectChanged,
    ObjectDescribed,
    ObjectId,
    ObjectKind,
    ObjectState,
    ReadVerdict,
)
from messages.sources import Verdict
from tests.support.objects.local_objects_stage import (
    CANARY,
    LocalObjectsStage,
    config_map_id,
    config_map_text,
    local_objects_stage,
    secret_id,
    secret_text,
    write_just_now,
)

BROKEN = "kind: Secret\nstringData: ["
CONFIG_MAP = ObjectKind.CONFIG_MAP


def kinds_of(changes: list[ObjectChanged]) -> list[tuple[Change, str, tuple[str, ...]]]:
    return [(change.change, change.object.name, change.keys) for change in changes]


# --- changes ------------------------------------------------------------------------------------------


def test_a_written_file_is_an_object_that_was_added(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    (fact,) = files.facts()
    changed = fact.changed
    assert changed is not None
    assert fact == HolderIs(
        described=ObjectDescribed(
            object=secret_id("db"),
            state=ObjectState.LOCAL,
            uid=changed.uid,
            resource_version=changed.resource_version,
            is_known=True,
            availability=ObjectAvailability.AVAILABLE,
        ),
        changed=ObjectChanged(
            object=secret_id("db"),
            change=Change.ADDED,
            uid=changed.uid,
            resource_version=changed.resource_version,
            keys=("password",),
        ),
        concerns=NO_MARK,
    )
    assert files.facts(CONFIG_MAP) == []


def test_each_manager_is_told_of_its_kind(files: LocalObjectsStage) -> None:
    files.keep("db.yaml", secret_text("db"))
    files.put("app.yaml", config_map_text("app"), mode=0o644)
    assert kinds_of(files.changes()) == [(Change.ADDED, "db", ("password",))]
    assert kinds_of(files.changes(CONFIG_MAP)) == [(Change.ADDED, "app", ("level",))]


def test_an_edit_is_a_modification_of_the_same_object(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db", password="one"))
    (before,) = files.changes()
    files.put("db.yaml", secret_text("db", password="two"))
    (after,) = files.changes()
    assert kinds_of([after]) == [(Change.MODIFIED, "db", ("password",))]
    assert after.uid == before.uid
    assert int(after.resource_version) > int(before.resource_version)


def test_another_uid_in_the_file_is_a_modification_with_that_uid(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db", uid="one"))
    files.put("db.yaml", secret_text("db", uid="two"))
    (_, after) = files.changes()
    assert (after.change, after.uid, after.keys) == (Change.MODIFIED, "two", ())


def test_what_changes_nothing_of_the_object_is_not_told(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    files.facts()
    files.put("db.yaml", f"# a comment\n{secret_text('db')}")
    (files.path / "db.yaml").rename(files.path / "other.yaml")
    files.notices()
    assert files.facts() == []


def test_a_removed_file_is_a_deletion(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    (before,) = files.changes()
    (files.path / "db.yaml").unlink()
    files.notices()
    (fact,) = files.facts()
    assert fact.changed is not None
    assert kinds_of([fact.changed]) == [(Change.DELETED, "db", ("password",))]
    assert fact.changed.resource_version == before.resource_version
    assert (fact.described.uid, fact.described.is_known) == ("", True)


def test_a_file_that_comes_back_older_has_a_higher_version_all_the_same(
    files: LocalObjectsStage,
) -> None:
    files.put("db.yaml", secret_text("db"))
    (before,) = files.changes()
    (files.path / "db.yaml").unlink()
    files.notices()
    files.touch(files.keep("db.yaml", secret_text("db")), age=3600.0)
    files.notices()
    (_, after) = files.changes()
    assert after.change is Change.ADDED
    assert int(after.resource_version) == int(before.resource_version) + 1


def test_a_version_is_higher_than_that_of_any_object_that_went(files: LocalObjectsStage) -> None:
    """It may be one of them, of which nothing is remembered but that."""
    files.put("db.yaml", secret_text("db"))
    (before,) = files.changes()
    (files.path / "db.yaml").unlink()
    files.notices()
    files.touch(files.keep("tls.yaml", secret_text("tls")), age=3600.0)
    files.notices()
    (_, after) = files.changes()
    assert int(after.resource_version) == int(before.resource_version) + 1


def test_several_changes_between_two_looks_are_told_in_order_of_names(
    files: LocalObjectsStage,
) -> None:
    files.keep("1.yaml", secret_text("b"))
    files.put("2.yaml", secret_text("d"))
    files.facts()
    (files.path / "2.yaml").unlink()
    files.keep("3.yaml", secret_text("c"))
    files.keep("1.yaml", secret_text("b", password="other"))
    files.put("4.yaml", secret_text("a"))
    assert [(change.change, change.object.name) for change in files.changes()] == [
        (Change.ADDED, "a"),
        (Change.MODIFIED, "b"),
        (Change.ADDED, "c"),
        (Change.DELETED, "d"),
    ]


def test_what_is_there_at_the_start_was_not_known_before(path: Path) -> None:
    path.joinpath("app.yaml").write_text(config_map_text("app"))
    with local_objects_stage(path) as files:
        files.play.advance(0.3)
        (fact,) = files.facts(CONFIG_MAP)
        assert fact.changed is not None
        assert fact.changed.change is Change.ADDED
        assert fact.concerns == NO_MARK


# --- telling all --------------------------------------------------------------------------------------


def test_asked_for_all_it_tells_what_is_and_what_was(files: LocalObjectsStage) -> None:
    files.keep("db.yaml", secret_text("db"))
    files.put("old.yaml", secret_text("old"))
    (files.path / "old.yaml").unlink()
    files.notices()
    described = files.descriptions()[0]

    files.lists()
    gone = ObjectDescribed(
        object=secret_id("old"),
        state=ObjectState.ABSENT,
        is_known=True,
        availability=ObjectAvailability.MISSING,
    )
    assert files.facts() == [HolderIs(described=described), HolderIs(described=gone)]


def test_what_came_back_is_told_once(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    (files.path / "db.yaml").unlink()
    files.notices()
    files.put("db.yaml", secret_text("db"))
    described = files.descriptions()[-1]
    files.lists()
    assert files.facts() == [HolderIs(described=described)]


def test_asked_before_the_first_look_it_tells_all_after_it(path: Path) -> None:
    write_just_now(path / "app.yaml", config_map_text("app"))
    with local_objects_stage(path) as files:
        files.lists()
        assert files.facts(CONFIG_MAP) == []
        files.play.advance(0.3)
        assert [each.object for each in files.descriptions(CONFIG_MAP)] == [config_map_id("app")]


# --- reading ------------------------------------------------------------------------------------------


def test_a_read_is_answered_with_the_value(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    (changed,) = files.changes()
    answer = files.reads(secret_id("db"))
    assert (answer.verdict, answer.age) == (ReadVerdict.FOUND, None)
    assert answer.value is not None
    assert answer.value.data == {"password": CANARY.encode()}
    assert answer.value.uid == changed.uid
    assert answer.value.resource_version == changed.resource_version


@pytest.mark.parametrize(
    "object_id",
    [secret_id("other"), secret_id("db", "prod"), config_map_id("db")],
    ids=["name", "namespace", "kind"],
)
def test_what_no_file_describes_is_not_found(files: LocalObjectsStage, object_id: ObjectId) -> None:
    files.put("db.yaml", secret_text("db"))
    answer = files.reads(object_id)
    assert (answer.verdict, answer.value, answer.age) == (ReadVerdict.NOT_FOUND, None, None)


def test_a_broken_object_that_never_was_good_is_unusable(files: LocalObjectsStage) -> None:
    files.put("db.yaml", f"{secret_text('db')}data: {{a: {CANARY}}}\n")
    answer = files.reads(secret_id("db"))
    assert answer.verdict is ReadVerdict.UNUSABLE
    assert "db.yaml: data.a (line 6): is no base64" in answer.reason
    assert CANARY not in repr(answer)


def test_before_the_first_listing_a_read_waits_for_it(path: Path) -> None:
    write_just_now(path / "app.yaml", config_map_text("app"))
    with local_objects_stage(path) as files:
        files.asks(config_map_id("app"), within=1.0)
        assert files.answers() == []
        files.play.advance(0.3)
        (answer,) = files.answers()
        assert answer.verdict is ReadVerdict.FOUND


def test_a_read_waits_no_longer_than_it_may(tmp_path: Path) -> None:
    path = tmp_path / "circle"
    path.symlink_to(path)  # cannot be read, so there is no listing
    with local_objects_stage(path) as files:
        files.asks(secret_id("db"), within=1.0)
        files.play.advance(0.99)
        assert files.answers() == []
        files.play.advance(0.02)
        (answer,) = files.answers()
        assert answer.verdict is ReadVerdict.NOT_SYNCED
        assert "cannot be read" in answer.reason


def test_a_missing_directory_holds_nothing_and_may_come_later(
    tmp_path: Path, runtime: Runtime
) -> None:
    path = tmp_path / "later"
    with local_objects_stage(path, runtime) as files:
        answer = files.reads(secret_id("db"))
        assert (answer.verdict, answer.age) == (ReadVerdict.NOT_FOUND, None)
        assert answer.reason == f"{path} does not exist, taken as empty"
        path.mkdir()
        files.put("db.yaml", secret_text("db"))
        assert files.reads(secret_id("db")).verdict is ReadVerdict.FOUND
        (fact,) = files.facts()
        assert fact.concerns == 1


def test_a_single_file_works_too(tmp_path: Path) -> None:
    path = tmp_path / "db.yaml"
    path.write_text(secret_text("db"))
    path.chmod(0o600)
    with local_objects_stage(path) as files:
        files.play.advance(0.3)
        assert files.reads(secret_id("db")).verdict is ReadVerdict.FOUND
        path.unlink()
        files.notices()
        assert files.reads(secret_id("db")).verdict is ReadVerdict.NOT_FOUND


# --- what is broken keeps its last good content -------------------------------------------------------


def test_a_broken_edit_keeps_the_object_which_is_stale_from_then_on(
    files: LocalObjectsStage,
) -> None:
    files.put("db.yaml", secret_text("db"))
    files.facts()
    files.put("db.yaml", BROKEN)
    (fact,) = files.facts()
    assert fact.changed is None
    assert fact.described.current_until is not None
    assert "db.yaml: line 3: not YAML" in fact.described.error
    assert files.verdicts() == {"db.yaml": Verdict.KEPT}
    assert files.verdict("db.yaml").pod == "Secret default/db"

    files.play.advance(60.0)
    answer = files.reads(secret_id("db"))
    assert answer.verdict is ReadVerdict.STALE
    assert answer.value is not None
    assert answer.value.data == {"password": CANARY.encode()}
    assert answer.age == pytest.approx(60.2, abs=0.2)
    assert "not YAML" in answer.reason
    assert files.facts() == []


def test_another_breakage_makes_it_no_younger(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    files.put("db.yaml", BROKEN)
    first = files.descriptions()[-1]
    files.play.advance(60.0)
    files.put("db.yaml", "")
    second = files.descriptions()[-1]
    assert second.current_until == first.current_until
    assert second.error != first.error


def test_a_mended_file_is_current_again(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    before = files.descriptions()
    files.put("db.yaml", BROKEN)
    files.facts()
    files.put("db.yaml", secret_text("db"))
    (fact,) = files.facts()
    assert (fact.described, fact.changed) == (before[0], None)
    assert files.reads(secret_id("db")).verdict is ReadVerdict.FOUND


def test_a_vanished_directory_keeps_its_objects(files: LocalObjectsStage) -> None:
    files.put("db.yaml", secret_text("db"))
    files.facts()
    files.path.rename(files.path.with_name("elsewhere"))
    files.scans()
    files.play.advance(60.0)
    (fact,) = files.facts()
    assert (fact.changed, fact.described.error) == (None, f"{files.path} does not exist")
    answer = files.reads(secret_id("db"))
    assert (answer.verdict, answer.reason) == (ReadVerdict.STALE, f"{files.path} does not exist")
    assert answer.age == pytest.approx(63.0, abs=2.0)
    absent = files.reads(secret_id("other"))
    assert absent.verdict is ReadVerdict.NOT_FOUND
    assert absent.age == pytest.approx(answer.age)
    assert files.described().error == f"{files.path} does not exist"

    files.path.with_name("elsewhere").rename(files.path)
    files.scans()
    assert files.reads(secret_id("db")).verdict is ReadVerdict.FOUND
    (fact,) = files.facts()
    assert (fact.changed, fact.described.error) == (None, "")


def test_an_immutable_object_stays_as_it_is_until_its_file_goes(
    files: LocalObjectsStage,
) -> None:
    files.put("db.yaml", secret_text("db", password="one", immutable=True))
    files.put("db.yaml", secret_text("db", password="two", immutable=True))
    files.put("db.yaml", secret_text("db", password="two"))
    assert files.verdict("db.yaml").verdict is Verdict.KEPT
    assert files.verdict("db.yaml").reason.startswith("it is immutable")
    answer = files.reads(secret_id("db"))
    assert answer.verdict is ReadVerdict.STALE
    assert answer.value is not None
    assert answer.value.data == {"password": b"one"}
    files.facts()

    (files.path / "db.yaml").unlink()
    files.notices()
    files.put("db.yaml", secret_text("db", password="two"))
    assert [change.change for change in files.changes()] == [Change.DELETED, Change.ADDED]
    assert files.reads(secret_id("db")).verdict is ReadVerdict.FOUND


# --- several files ------------------------------------------------------------------------------------


def test_of_two_files_with_one_object_the_last_in_name_order_wins(
    files: LocalObjectsStage,
) -> None:
    files.keep("b.yaml", secret_text("db", password="b"))
    files.put("a.yaml", secret_text("db", password="a"))
    answer = files.reads(secret_id("db"))
    assert answer.value is not None
    assert answer.value.data == {"password": b"b"}
    assert files.verdicts() == {"a.yaml": Verdict.SHADOWED, "b.yaml": Verdict.ACCEPTED}
    assert files.verdict("a.yaml").reason == (
        "b.yaml has the name Secret default/db and comes later in name order"
    )
    files.facts()

    (files.path / "b.yaml").unlink()
    files.notices()
    assert kinds_of(files.changes()) == [(Change.MODIFIED, "db", ("password",))]


def test_two_files_with_the_same_content_are_one_object_of_the_last(
    files: LocalObjectsStage,
) -> None:
    files.keep("a.yaml", secret_text("db"))
    files.put("b.yaml", secret_text("db"))
    files.facts()
    files.put("b.yaml", BROKEN)
    (fact,) = files.facts()
    assert "b.yaml" in fact.described.error
    assert files.verdicts() == {"a.yaml": Verdict.SHADOWED, "b.yaml": Verdict.KEPT}


def test_a_secret_and_a_config_map_of_one_name_are_two_objects(
    files: LocalObjectsStage,
) -> None:
    files.keep("1.yaml", secret_text("web"))
    files.put("2.yaml", config_map_text("web"))
    assert files.verdicts() == {"1.yaml": Verdict.ACCEPTED, "2.yaml": Verdict.ACCEPTED}
    assert files.reads(secret_id("web")).verdict is ReadVerdict.FOUND
    assert files.reads(config_map_id("web")).verdict is ReadVerdict.FOUND


def test_unknown_fields_are_refused_where_that_is_asked_for(path: Path) -> None:
    with local_objects_stage(path, strict=True) as files:
        files.put("app.yaml", f"{config_map_text('app')}stringData: {{}}\n")
        assert files.verdict("app.yaml").reason == "stringData (line 5): unknown field"


def test_the_first_read_of_a_new_pod_is_answered_by_a_look_of_its_own(
    files: LocalObjectsStage,
) -> None:
    files.put("db.yaml", secret_text("db", password="old"))
    assert _password(files, mark=1) == b"old"
    # Nobody has noticed it yet.
    files.keep("db.yaml", secret_text("db", password="new"))
    assert _password(files, mark=1) == b"old"
    assert _password(files, mark=2) == b"new"


def _password(files: LocalObjectsStage, mark: int) -> bytes:
    value = files.reads(secret_id("db"), mark=mark).value
    assert value is not None
    return value.data["password"]

"""Files that are renamed, and several files that describe the same pod."""

from __future__ import annotations

from messages.sources import Verdict
from tests.support.files.manifest_files import (
    LEFTOVER,
    Observer,
    manifest,
    names,
    reasons,
    the_pod,
    verdicts,
)

# --- renaming -----------------------------------------------------------------------------------------


def test_a_renamed_file_changes_nothing(observer: Observer) -> None:
    # A kubelet removes the pod and adds it again. The order of names changes, too.
    before = observer.sees(manifest("a", "name=web", inode=1), manifest("b", "name=db"))
    observer.decoded.clear()

    after = observer.sees(manifest("c", "name=web", inode=1), manifest("b", "name=db"))

    assert after.served is before.served
    assert verdicts(after) == {"b": Verdict.ACCEPTED, "c": Verdict.ACCEPTED}
    assert observer.decoded == []


def test_a_file_that_was_copied_and_removed_changes_nothing(observer: Observer) -> None:
    before = observer.sees(manifest("a", "name=web", inode=1))

    after = observer.sees(manifest("b", "name=web", inode=2))

    assert after.served is before.served
    assert verdicts(after) == {"b": Verdict.ACCEPTED}


def test_two_files_that_swap_their_names_change_nothing(observer: Observer) -> None:
    before = observer.sees(manifest("a", "name=web"), manifest("b", "name=db"))

    assert (
        observer.sees(manifest("a", "name=db"), manifest("b", "name=web")).served is before.served
    )


def test_a_kept_pod_follows_its_broken_file_to_another_name(observer: Observer) -> None:
    observer.sees(manifest("a", "name=web", inode=1))
    before = observer.sees_for_a_second(manifest("a", "rubbish", inode=1))

    after = observer.sees(manifest("b", "rubbish", inode=1))

    assert after.served is before.served
    assert verdicts(after) == {"b": Verdict.KEPT}


def test_a_broken_file_does_not_inherit_from_a_removed_one_whose_inode_it_got(
    observer: Observer,
) -> None:
    # File systems give a freed inode to the next file: that alone makes it no rename.
    observer.sees(manifest("a", "name=web", inode=1))
    observer.sees(manifest("b", "rubbish", inode=1), at=1)

    after = observer.sees(manifest("b", "rubbish", inode=1), at=2)

    assert names(after) == []
    assert verdicts(after) == {"b": Verdict.REJECTED}


def test_a_file_renamed_to_what_is_ignored_is_gone(observer: Observer) -> None:
    observer.sees(manifest("web.yaml", "name=web"))
    observer.sees(manifest("web.yaml.bak", LEFTOVER), at=1)

    after = observer.sees(manifest("web.yaml.bak", LEFTOVER), at=2)

    assert names(after) == []
    assert verdicts(after) == {"web.yaml.bak": Verdict.IGNORED}


def test_a_rename_over_another_manifest_leaves_no_moment_of_absence(observer: Observer) -> None:
    observer.sees(manifest("new", "name=web image=web:2"), manifest("web", "name=web", inode=1))

    after = observer.sees(manifest("web", "name=web image=web:2", inode=2))

    assert names(after) == ["web"]
    assert verdicts(after) == {"web": Verdict.ACCEPTED}


# --- two files, one pod -------------------------------------------------------------------------------


def test_of_two_files_with_one_name_the_last_wins(observer: Observer) -> None:
    seen = observer.sees(manifest("a", "name=web uid=1"), manifest("b", "name=web uid=2"))

    assert the_pod(seen).uid == "2"
    assert verdicts(seen) == {"a": Verdict.SHADOWED, "b": Verdict.ACCEPTED}
    assert reasons(seen)["a"] == "b has the name default/web and comes later in name order"


def test_of_two_files_with_one_uid_the_last_wins(observer: Observer) -> None:
    seen = observer.sees(manifest("a", "name=web uid=1"), manifest("b", "name=db uid=1"))

    assert names(seen) == ["db"]
    assert reasons(seen)["a"] == "b has the UID 1 and comes later in name order"


def test_the_shadowed_file_takes_over_at_once_when_the_winner_goes(observer: Observer) -> None:
    observer.sees(manifest("a", "name=web uid=1"), manifest("b", "name=web uid=2"))

    after = observer.sees(manifest("a", "name=web uid=1"))

    assert the_pod(after).uid == "1"
    assert verdicts(after) == {"a": Verdict.ACCEPTED}


def test_a_backup_copy_takes_over_without_any_change(observer: Observer) -> None:
    before = observer.sees(manifest("a", "name=web"), manifest("b", "name=web"))

    assert observer.sees(manifest("a", "name=web")).served is before.served


def test_who_lost_one_claim_does_not_hold_on_to_the_other(observer: Observer) -> None:
    # c beats b by the UID, so b does not beat a by the name.
    seen = observer.sees(
        manifest("a", "name=web uid=1"),
        manifest("b", "name=web uid=2"),
        manifest("c", "name=db uid=2"),
    )

    assert names(seen) == ["db", "web"]
    assert verdicts(seen) == {"a": Verdict.ACCEPTED, "b": Verdict.SHADOWED, "c": Verdict.ACCEPTED}


def test_a_kept_pod_defends_its_name(observer: Observer) -> None:
    good = manifest("a", "name=web uid=1")
    before = observer.sees(good, manifest("b", "name=web uid=2"))

    after = observer.sees_for_a_second(good, manifest("b", "rubbish"))

    assert after.served is before.served
    assert verdicts(after) == {"a": Verdict.SHADOWED, "b": Verdict.KEPT}


def test_a_broken_file_whose_last_good_pod_lost_its_name_is_rejected(observer: Observer) -> None:
    observer.sees(manifest("a", "name=web uid=1"))

    seen = observer.sees_for_a_second(manifest("a", "rubbish"), manifest("b", "name=web uid=2"))

    assert the_pod(seen).uid == "2"
    assert verdicts(seen) == {"a": Verdict.REJECTED, "b": Verdict.ACCEPTED}
    assert reasons(seen)["a"] == (
        "is no manifest; its last good content is not served: "
        "b has the name default/web and comes later in name order"
    )

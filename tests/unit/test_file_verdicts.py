"""What becomes of the files of a manifest directory, look by look."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from actors.messages.pods import FILE
from actors.messages.sources import ManifestVerdict, RejectReason, Verdict
from actors.messages.units import Timestamp
from sources.file_verdicts import FileState, judge
from sources.manifest import Decoded, ManifestRules, Refused, decode_manifest
from sources.manifest_directory import Content, Listed, Unlistable
from sources.verdicts import changes
from tests.support.builders import uid_of
from tests.support.manifest_files import (
    FIFO,
    LEFTOVER,
    NOON,
    Desk,
    manifest,
    names,
    reasons,
    the_pod,
    verdicts,
)

MISSING = Unlistable(reason="does not exist", missing=True)
UNREADABLE = Unlistable(reason="cannot be read: Permission denied", missing=False)


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- the verdicts ---------------------------------------------------------------------------------


def test_a_good_manifest_is_accepted_and_its_pod_is_served(desk: Desk) -> None:
    seen = desk.sees(manifest("web.yaml", "name=web odd=yes"))

    assert names(seen) == ["web"]
    assert seen.verdicts == (
        ManifestVerdict(
            path="/manifests/web.yaml",
            verdict=Verdict.ACCEPTED,
            warnings=("is odd",),
            pod="default/web",
            uid=uid_of("web"),
        ),
    )


def test_a_bad_manifest_is_rejected_and_stops_no_other(desk: Desk) -> None:
    seen = desk.sees(manifest("bad.yaml", "rubbish"), manifest("web.yaml", "name=web"))

    assert names(seen) == ["web"]
    assert seen.verdicts[0] == ManifestVerdict(
        path="/manifests/bad.yaml",
        verdict=Verdict.REJECTED,
        reason="is no manifest",
        code=RejectReason.SYNTAX,
    )


def test_what_is_no_file_is_rejected_without_being_decoded(desk: Desk) -> None:
    seen = desk.sees(manifest("pipe", FIFO))

    assert names(seen) == []
    assert verdicts(seen) == {"pipe": Verdict.REJECTED}
    assert seen.verdicts[0].code is RejectReason.NOT_A_FILE
    assert desk.decoded == []


def test_an_ignored_name_has_a_verdict_and_no_pod(desk: Desk) -> None:
    seen = desk.sees(manifest("web.yaml~", LEFTOVER))

    assert names(seen) == []
    assert verdicts(seen) == {"web.yaml~": Verdict.IGNORED}
    assert reasons(seen) == {"web.yaml~": LEFTOVER.reason}


def test_an_empty_directory_is_an_empty_listing(desk: Desk) -> None:
    assert desk.sees().pods == ()


def test_a_name_that_is_not_utf_8_can_still_be_written(desk: Desk) -> None:
    seen = desk.sees(manifest(os.fsdecode(b"w\xff.yaml"), "name=web"))

    assert seen.verdicts[0].path == r"/manifests/w\xff.yaml"


# --- nothing changes what did not change ------------------------------------------------------------


def test_an_unchanged_listing_changes_nothing_and_decodes_nothing(desk: Desk) -> None:
    listing = Listed(entries=(manifest("bad", "rubbish"), manifest("web", "name=web")))
    before = desk.hears(listing)
    desk.decoded.clear()

    after = desk.hears(listing, at=60)

    assert after.state is before.state
    assert desk.decoded == []


def test_a_file_read_again_with_the_same_content_is_not_decoded_again(desk: Desk) -> None:
    before = desk.sees(manifest("bad", "rubbish"), manifest("web", "name=web"))
    desk.decoded.clear()

    after = desk.sees(manifest("bad", "rubbish", written=-1), manifest("web", "name=web"))

    assert after.pods is before.pods
    assert desk.decoded == []


def test_a_change_leaves_the_pods_of_other_files_identical(desk: Desk) -> None:
    before = desk.sees(manifest("a", "name=a"), manifest("b", "name=b"))
    after = desk.sees(manifest("a", "name=a"), manifest("b", "name=b image=b:2"))

    assert before.pods is not None
    assert after.pods is not None
    assert after.pods[0] is before.pods[0]
    assert after.pods[1] != before.pods[1]


def test_an_edit_that_leaves_the_pod_equal_leaves_it_identical(desk: Desk) -> None:
    before = desk.sees(manifest("web", "name=web"))
    after = desk.sees(manifest("web", "name=web odd=comment"))

    assert after.pods is before.pods
    assert after.verdicts[0].warnings == ("is odd",)


# --- the last good content --------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["rubbish", "", FIFO], ids=["syntax", "empty", "fifo"])
def test_a_file_that_was_good_once_keeps_its_pod(desk: Desk, broken: str) -> None:
    # Scenario 12; a kubelet removes the pod at its next listing.
    before = desk.sees(manifest("web", "name=web"))

    after = desk.sees_for_a_second(manifest("web", broken))

    assert after.pods is before.pods
    assert verdicts(after) == {"web": Verdict.KEPT}
    assert after.verdicts[0].code is not None
    assert after.verdicts[0].reason
    assert after.verdicts[0].uid == uid_of("web")


def test_a_mended_file_is_served_as_it_says(desk: Desk) -> None:
    desk.sees(manifest("web", "name=web"))
    desk.sees_for_a_second(manifest("web", "rubbish"))

    mended = desk.sees(manifest("web", "name=web image=web:2"))

    assert the_pod(mended).document["spec"]["containers"][0]["image"] == "web:2"
    assert verdicts(mended) == {"web": Verdict.ACCEPTED}


def test_a_file_that_breaks_twice_still_keeps_its_pod(desk: Desk) -> None:
    before = desk.sees(manifest("web", "name=web"))
    desk.sees_for_a_second(manifest("web", "rubbish"))

    assert desk.sees_for_a_second(manifest("web", ""), at=9).pods is before.pods


def test_a_removed_file_takes_its_pod_along_and_never_gives_it_back(desk: Desk) -> None:
    # Scenario 13: a kubelet brings "a" back with the first file that is made afterwards (K3).
    desk.sees(manifest("a", "name=a"))
    desk.sees(at=1)
    assert names(desk.sees(at=2)) == []

    assert names(desk.sees(manifest("b", "name=b"), at=3)) == ["b"]


def test_a_broken_file_that_is_removed_takes_its_kept_pod_along(desk: Desk) -> None:
    desk.sees(manifest("web", "name=web"))
    desk.sees_for_a_second(manifest("web", "rubbish"))

    gone = desk.sees_for_a_second(at=2)

    assert names(gone) == []
    assert verdicts(gone) == {}


def test_a_rejected_file_that_is_removed_is_forgotten_at_once(desk: Desk) -> None:
    desk.sees(manifest("web", "rubbish"))

    gone = desk.sees()

    assert verdicts(gone) == {}
    assert gone.look_again_in is None


# --- renaming -----------------------------------------------------------------------------------------


def test_a_renamed_file_changes_nothing(desk: Desk) -> None:
    # Scenario 10; a kubelet removes the pod and adds it again. The order of names changes, too.
    before = desk.sees(manifest("a", "name=web", inode=1), manifest("b", "name=db"))
    desk.decoded.clear()

    after = desk.sees(manifest("c", "name=web", inode=1), manifest("b", "name=db"))

    assert after.pods is before.pods
    assert verdicts(after) == {"b": Verdict.ACCEPTED, "c": Verdict.ACCEPTED}
    assert desk.decoded == []


def test_a_file_that_was_copied_and_removed_changes_nothing(desk: Desk) -> None:
    before = desk.sees(manifest("a", "name=web", inode=1))

    after = desk.sees(manifest("b", "name=web", inode=2))

    assert after.pods is before.pods
    assert verdicts(after) == {"b": Verdict.ACCEPTED}


def test_two_files_that_swap_their_names_change_nothing(desk: Desk) -> None:
    before = desk.sees(manifest("a", "name=web"), manifest("b", "name=db"))

    assert desk.sees(manifest("a", "name=db"), manifest("b", "name=web")).pods is before.pods


def test_a_kept_pod_follows_its_broken_file_to_another_name(desk: Desk) -> None:
    desk.sees(manifest("a", "name=web", inode=1))
    before = desk.sees_for_a_second(manifest("a", "rubbish", inode=1))

    after = desk.sees(manifest("b", "rubbish", inode=1))

    assert after.pods is before.pods
    assert verdicts(after) == {"b": Verdict.KEPT}


def test_a_broken_file_does_not_inherit_from_a_removed_one_whose_inode_it_got(desk: Desk) -> None:
    # File systems give a freed inode to the next file: that alone makes it no rename.
    desk.sees(manifest("a", "name=web", inode=1))
    desk.sees(manifest("b", "rubbish", inode=1), at=1)

    after = desk.sees(manifest("b", "rubbish", inode=1), at=2)

    assert names(after) == []
    assert verdicts(after) == {"b": Verdict.REJECTED}


def test_a_file_renamed_to_what_is_ignored_is_gone(desk: Desk) -> None:
    desk.sees(manifest("web.yaml", "name=web"))
    desk.sees(manifest("web.yaml.bak", LEFTOVER), at=1)

    after = desk.sees(manifest("web.yaml.bak", LEFTOVER), at=2)

    assert names(after) == []
    assert verdicts(after) == {"web.yaml.bak": Verdict.IGNORED}


def test_a_rename_over_another_manifest_leaves_no_moment_of_absence(desk: Desk) -> None:
    desk.sees(manifest("new", "name=web image=web:2"), manifest("web", "name=web", inode=1))

    after = desk.sees(manifest("web", "name=web image=web:2", inode=2))

    assert names(after) == ["web"]
    assert verdicts(after) == {"web": Verdict.ACCEPTED}


# --- two files, one pod -------------------------------------------------------------------------------


def test_of_two_files_with_one_name_the_last_wins(desk: Desk) -> None:
    seen = desk.sees(manifest("a", "name=web uid=1"), manifest("b", "name=web uid=2"))

    assert the_pod(seen).uid == "2"
    assert verdicts(seen) == {"a": Verdict.SHADOWED, "b": Verdict.ACCEPTED}
    assert reasons(seen)["a"] == "b has the name default/web and comes later in name order"


def test_of_two_files_with_one_uid_the_last_wins(desk: Desk) -> None:
    seen = desk.sees(manifest("a", "name=web uid=1"), manifest("b", "name=db uid=1"))

    assert names(seen) == ["db"]
    assert reasons(seen)["a"] == "b has the UID 1 and comes later in name order"


def test_the_shadowed_file_takes_over_at_once_when_the_winner_goes(desk: Desk) -> None:
    desk.sees(manifest("a", "name=web uid=1"), manifest("b", "name=web uid=2"))

    after = desk.sees(manifest("a", "name=web uid=1"))

    assert the_pod(after).uid == "1"
    assert verdicts(after) == {"a": Verdict.ACCEPTED}


def test_a_backup_copy_takes_over_without_any_change(desk: Desk) -> None:
    before = desk.sees(manifest("a", "name=web"), manifest("b", "name=web"))

    assert desk.sees(manifest("a", "name=web")).pods is before.pods


def test_who_lost_one_claim_does_not_hold_on_to_the_other(desk: Desk) -> None:
    # c beats b by the UID, so b does not beat a by the name.
    seen = desk.sees(
        manifest("a", "name=web uid=1"),
        manifest("b", "name=web uid=2"),
        manifest("c", "name=db uid=2"),
    )

    assert names(seen) == ["db", "web"]
    assert verdicts(seen) == {"a": Verdict.ACCEPTED, "b": Verdict.SHADOWED, "c": Verdict.ACCEPTED}


def test_a_kept_pod_defends_its_name(desk: Desk) -> None:
    good = manifest("a", "name=web uid=1")
    before = desk.sees(good, manifest("b", "name=web uid=2"))

    after = desk.sees_for_a_second(good, manifest("b", "rubbish"))

    assert after.pods is before.pods
    assert verdicts(after) == {"a": Verdict.SHADOWED, "b": Verdict.KEPT}


def test_a_broken_file_whose_last_good_pod_lost_its_name_is_rejected(desk: Desk) -> None:
    desk.sees(manifest("a", "name=web uid=1"))

    seen = desk.sees_for_a_second(manifest("a", "rubbish"), manifest("b", "name=web uid=2"))

    assert the_pod(seen).uid == "2"
    assert verdicts(seen) == {"a": Verdict.REJECTED, "b": Verdict.ACCEPTED}
    assert reasons(seen)["a"] == (
        "is no manifest; its last good pod is not served: "
        "b has the name default/web and comes later in name order"
    )


# --- what is still moving ------------------------------------------------------------------------------


def test_a_new_file_is_not_seen_until_it_is_quiet(desk: Desk) -> None:
    # It decodes, but who knows whether its second container is still to come.
    desk.sees()
    early = desk.sees(manifest("web", "name=web", written=0), at=0.01)
    assert names(early) == []
    assert verdicts(early) == {}
    assert early.look_again_in == pytest.approx(0.041, abs=1e-4)

    assert names(desk.sees(manifest("web", "name=web", written=0), at=0.051)) == ["web"]


def test_a_changed_file_keeps_its_pod_and_its_verdict_until_it_is_quiet(desk: Desk) -> None:
    before = desk.sees(manifest("web", "name=web image=web:2"))

    # The new content has been written up to here, and is as good as any.
    early = desk.sees(manifest("web", "name=web", written=1), at=1.04)

    assert early.pods is before.pods
    assert early.verdicts == before.verdicts
    assert early.look_again_in == pytest.approx(0.011, abs=1e-4)


def test_a_broken_file_is_given_a_moment_longer(desk: Desk) -> None:
    desk.sees()
    desk.sees(manifest("web", "", written=1), at=1.01)

    early = desk.sees(manifest("web", "", written=1), at=1.06)
    assert verdicts(early) == {}
    assert early.look_again_in == pytest.approx(0.041, abs=1e-4)

    late = desk.sees(manifest("web", "", written=1), at=1.101)
    assert verdicts(late) == {"web": Verdict.REJECTED}
    assert late.look_again_in is None


def test_a_known_file_is_not_believed_to_be_broken_at_first_sight(desk: Desk) -> None:
    # Opened for writing, it is empty for a few microseconds before its time changes.
    before = desk.sees(manifest("web", "name=web"))

    early = desk.sees(manifest("web", ""), at=1)
    assert early.verdicts == before.verdicts
    assert early.look_again_in == pytest.approx(0.101, abs=1e-4)

    early = desk.sees(manifest("web", ""), at=1.06)
    assert early.verdicts == before.verdicts
    assert early.look_again_in == pytest.approx(0.041, abs=1e-4)

    late = desk.sees(manifest("web", ""), at=1.101)
    assert verdicts(late) == {"web": Verdict.KEPT}
    assert late.look_again_in is None


def test_an_old_broken_file_does_not_hold_up_the_first_listing(desk: Desk) -> None:
    assert desk.sees(manifest("web", "rubbish")).look_again_in is None


def test_a_file_that_was_torn_while_it_was_read_is_looked_at_again(desk: Desk) -> None:
    # ``cp -p`` gives the file its old time when it is done, so its time may look settled.
    before = desk.sees(manifest("web", "name=web image=web:2"))

    torn = desk.sees(manifest("web", Content(data=b"name=web", torn=True)))

    assert torn.pods is before.pods
    assert torn.look_again_in == pytest.approx(0.051, abs=1e-4)


def test_a_file_that_is_never_quiet_is_judged_as_it_is_after_two_seconds(desk: Desk) -> None:
    desk.sees()
    desk.sees(manifest("log", "line", written=0), at=0)
    assert verdicts(desk.sees(manifest("log", "line line", written=1.9), at=1.9)) == {}

    seen = desk.sees(manifest("log", "line line line", written=2), at=2)

    assert verdicts(seen) == {"log": Verdict.REJECTED}


def test_a_time_far_in_the_future_postpones_nothing(desk: Desk) -> None:
    assert names(desk.sees(manifest("web", "name=web", written=3600))) == ["web"]


def test_a_file_server_whose_clock_is_a_little_ahead_is_given_a_little_longer(desk: Desk) -> None:
    desk.sees()

    early = desk.sees(manifest("web", "name=web", written=0.03))

    assert names(early) == []
    assert early.look_again_in == pytest.approx(0.081, abs=1e-4)


def test_looking_again_when_told_is_never_too_early(desk: Desk) -> None:
    young = manifest("web", "name=web", written=0)
    desk.sees()
    again = desk.sees(young, at=0.0123).look_again_in
    assert again is not None

    assert desk.sees(young, at=0.0123 + again).look_again_in is None


def test_a_file_that_vanishes_for_a_moment_keeps_its_pod(desk: Desk) -> None:
    # An editor that moves the old file away and then writes a new one.
    before = desk.sees(manifest("web", "name=web"))

    between = desk.sees(manifest("web~", LEFTOVER), at=1)
    assert between.pods is before.pods
    assert verdicts(between) == {"web": Verdict.ACCEPTED, "web~": Verdict.IGNORED}
    assert between.look_again_in == pytest.approx(0.051, abs=1e-4)

    young = desk.sees(manifest("web", "name=web image=web:2", written=1.01), at=1.02)
    assert young.pods is before.pods
    settled = desk.sees(manifest("web", "name=web image=web:2", written=1.01), at=1.07)
    assert the_pod(settled) != the_pod(before)


def test_a_file_that_stays_away_is_gone(desk: Desk) -> None:
    desk.sees(manifest("web", "name=web"))
    desk.sees(at=1)
    assert names(desk.sees(at=1.03)) == ["web"]

    gone = desk.sees(at=1.051)

    assert names(gone) == []
    assert gone.look_again_in is None


def test_a_vanished_file_does_not_keep_what_another_file_claims(desk: Desk) -> None:
    # The same UID under another name, in a file that comes earlier.
    desk.sees(manifest("b", "name=web uid=1"))

    after = desk.sees(manifest("a", "name=db uid=1"))

    assert names(after) == ["db"]
    assert verdicts(after) == {"a": Verdict.ACCEPTED}


def test_a_clock_set_back_keeps_nothing_that_is_gone(desk: Desk) -> None:
    desk.sees(manifest("web", "name=web"))
    desk.sees(at=0)

    assert names(desk.sees(at=-3600)) == []


def test_a_file_written_and_then_renamed_is_never_absent(desk: Desk) -> None:
    before = desk.sees(manifest("a", "name=web", inode=1))

    early = desk.sees(manifest("b", "name=web image=web:2", inode=1, written=1), at=1.01)
    assert early.pods is before.pods

    settled = desk.sees(manifest("b", "name=web image=web:2", inode=1, written=1), at=1.055)
    assert names(settled) == ["web"]
    assert verdicts(settled) == {"b": Verdict.ACCEPTED}


# --- the first listing -----------------------------------------------------------------------------------


def test_the_first_listing_waits_for_every_file_to_settle(desk: Desk) -> None:
    # A pod that is missing in the first listing counts as removed.
    old, young = manifest("a", "name=a"), manifest("b", "name=b", written=0)

    early = desk.sees(old, young, at=0.01)
    assert early.pods is None
    assert early.look_again_in is not None

    assert names(desk.sees(old, young, at=0.06)) == ["a", "b"]


def test_a_path_that_is_missing_at_first_is_an_empty_listing(desk: Desk) -> None:
    # Scenario 1: the source is ready, and says what is wrong.
    seen = desk.hears(MISSING)

    assert seen.pods == ()
    assert seen.error == "does not exist"


def test_a_path_that_is_unreadable_at_first_tells_nothing(desk: Desk) -> None:
    seen = desk.hears(UNREADABLE)

    assert seen.pods is None
    assert seen.error == "cannot be read: Permission denied"


def test_a_broken_single_file_at_first_is_an_empty_listing(desk: Desk) -> None:
    seen = desk.hears(Listed(entries=(manifest("web", "rubbish"),), single=True))

    assert seen.pods == ()
    assert verdicts(seen) == {"web": Verdict.REJECTED}


def test_a_single_file_that_was_removed_takes_its_pod_along_and_is_missed(desk: Desk) -> None:
    desk.hears(Listed(entries=(manifest("web", "name=web"),), single=True))
    desk.hears(Listed(entries=(), single=True), at=1)

    gone = desk.hears(Listed(entries=(), single=True), at=2)

    assert gone.pods == ()
    assert gone.error == "does not exist"


# --- a path that goes away -------------------------------------------------------------------------------


@pytest.mark.parametrize("listing", [MISSING, UNREADABLE], ids=["missing", "unreadable"])
def test_a_path_that_cannot_be_listed_any_more_keeps_its_pods(
    desk: Desk, listing: Unlistable
) -> None:
    before = desk.sees(manifest("bad", "rubbish"), manifest("web", "name=web"))

    after = desk.hears(listing, at=60)

    assert after.pods is before.pods
    assert after.verdicts is before.verdicts
    assert after.error == listing.reason


def test_a_path_that_is_back_has_no_error_and_the_identical_pods(desk: Desk) -> None:
    before = desk.sees(manifest("web", "name=web"))
    desk.hears(MISSING, at=60)

    back = desk.sees(manifest("web", "name=web"), at=120)

    assert back.pods is before.pods
    assert back.error == ""


def test_the_time_in_which_a_path_could_not_be_listed_counts_for_nothing(desk: Desk) -> None:
    # Whether a file vanished for good, or is being written too long, is found out afresh.
    desk.sees(manifest("web", "name=web"), manifest("db", "name=db"))
    desk.sees(manifest("db", "name=db image=db:2", written=1), at=1)
    desk.hears(MISSING, at=1.01)

    back = desk.sees(manifest("db", "name=db image=db:3", written=60), at=60)

    assert names(back) == ["db", "web"]
    assert back.look_again_in is not None
    assert verdicts(back) == {"db": Verdict.ACCEPTED, "web": Verdict.ACCEPTED}
    assert desk.decoded == [b"name=db", b"name=web"]


def test_a_missing_path_is_an_empty_one_for_who_asks_for_that() -> None:
    desk = Desk(clear_on_missing=True)
    before = desk.sees(manifest("web", "name=web"))
    # ``ln -sfn`` leaves a moment without the link.
    assert desk.hears(MISSING, at=1).pods is before.pods

    gone = desk.hears(MISSING, at=2)

    assert gone.pods == ()
    assert gone.error == "does not exist"


def test_an_unreadable_path_keeps_its_pods_even_then() -> None:
    desk = Desk(clear_on_missing=True)
    before = desk.sees(manifest("web", "name=web"))

    assert desk.hears(UNREADABLE, at=60).pods is before.pods


# --- news ---------------------------------------------------------------------------------------------------


def test_a_verdict_is_news_only_when_it_changes(desk: Desk) -> None:
    before = desk.sees(manifest("a", "name=a"), manifest("b", "name=b")).verdicts
    after = desk.sees(manifest("a", "name=a"), manifest("b", "rubbish"), manifest("c", "")).verdicts

    assert changes((), before) == before
    assert changes(before, before) == ()
    assert changes(before, after) == after[1:]


# --- with real manifests -----------------------------------------------------------------------------------


def real_decode(data: bytes) -> Decoded | Refused:
    return decode_manifest(data, ManifestRules(node_name="Node-1", source=FILE))


def test_a_real_manifest_is_read_kept_and_mended() -> None:
    text = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
        }
    )
    good = judge(FileState(), listing_of(text), real_decode, now=NOON)
    doubtful = judge(good.state, listing_of(text[:-5]), real_decode, now=NOON)
    broken = judge(doubtful.state, listing_of(text[:-5]), real_decode, now=Timestamp(NOON + 1))
    mended = judge(broken.state, listing_of(text + "\n"), real_decode, now=Timestamp(NOON + 9))

    assert names(good) == ["web-node-1"]
    assert verdicts(broken) == {"web.json": Verdict.KEPT}
    assert verdicts(mended) == {"web.json": Verdict.ACCEPTED}
    assert broken.pods is good.pods
    assert mended.pods is good.pods


def test_a_pod_list_in_a_file_is_rejected() -> None:
    # Scenario 14.
    seen = judge(
        FileState(), listing_of('{"apiVersion": "v1", "kind": "PodList"}'), real_decode, now=NOON
    )

    assert seen.pods == ()
    assert verdicts(seen) == {"web.json": Verdict.REJECTED}


def listing_of(text: str) -> Listed:
    return Listed(entries=(manifest("web.json", text),))


def test_no_repr_of_a_state_shows_what_is_in_a_file(desk: Desk) -> None:
    seen = desk.sees(manifest("web", "name=web image=hunter2"), manifest("bad", "hunter2"))

    assert "hunter2" not in repr(seen)


def test_the_path_of_a_verdict_is_that_of_the_file(desk: Desk) -> None:
    seen = desk.sees(manifest("web", "name=web"))

    assert Path(seen.verdicts[0].path) == Path("/manifests/web")

"""When a look is believed: files that are still moving, the first listing, and a path that goes away."""

from __future__ import annotations

import pytest

from files.looking.found import Content, Listed, Unlistable
from messages.sources import Verdict
from tests.support.files.manifest_files import (
    LEFTOVER,
    Observer,
    manifest,
    names,
    the_pod,
    verdicts,
)

MISSING = Unlistable(reason="does not exist", missing=True)
UNREADABLE = Unlistable(reason="cannot be read: Permission denied", missing=False)


# --- what is still moving ------------------------------------------------------------------------------


def test_a_new_file_is_not_seen_until_it_is_quiet(observer: Observer) -> None:
    # It decodes, but who knows whether its second container is still to come.
    observer.sees()
    early = observer.sees(manifest("web", "name=web", written=0), at=0.01)
    assert names(early) == []
    assert verdicts(early) == {}
    assert early.look_again_in == pytest.approx(0.041, abs=1e-4)

    assert names(observer.sees(manifest("web", "name=web", written=0), at=0.051)) == ["web"]


def test_a_changed_file_keeps_its_pod_and_its_verdict_until_it_is_quiet(observer: Observer) -> None:
    before = observer.sees(manifest("web", "name=web image=web:2"))

    # The new content has been written up to here, and is as good as any.
    early = observer.sees(manifest("web", "name=web", written=1), at=1.04)

    assert early.served is before.served
    assert early.verdicts == before.verdicts
    assert early.look_again_in == pytest.approx(0.011, abs=1e-4)


def test_a_broken_file_is_given_a_moment_longer(observer: Observer) -> None:
    observer.sees()
    observer.sees(manifest("web", "", written=1), at=1.01)

    early = observer.sees(manifest("web", "", written=1), at=1.06)
    assert verdicts(early) == {}
    assert early.look_again_in == pytest.approx(0.041, abs=1e-4)

    late = observer.sees(manifest("web", "", written=1), at=1.101)
    assert verdicts(late) == {"web": Verdict.REJECTED}
    assert late.look_again_in is None


def test_a_known_file_is_not_believed_to_be_broken_at_first_sight(observer: Observer) -> None:
    # Opened for writing, it is empty for a few microseconds before its time changes.
    before = observer.sees(manifest("web", "name=web"))

    early = observer.sees(manifest("web", ""), at=1)
    assert early.verdicts == before.verdicts
    assert early.look_again_in == pytest.approx(0.101, abs=1e-4)

    early = observer.sees(manifest("web", ""), at=1.06)
    assert early.verdicts == before.verdicts
    assert early.look_again_in == pytest.approx(0.041, abs=1e-4)

    late = observer.sees(manifest("web", ""), at=1.101)
    assert verdicts(late) == {"web": Verdict.KEPT}
    assert late.look_again_in is None


def test_an_old_broken_file_does_not_hold_up_the_first_listing(observer: Observer) -> None:
    assert observer.sees(manifest("web", "rubbish")).look_again_in is None


def test_a_file_that_was_torn_while_it_was_read_is_looked_at_again(observer: Observer) -> None:
    # ``cp -p`` gives the file its old time when it is done, so its time may look settled.
    before = observer.sees(manifest("web", "name=web image=web:2"))

    torn = observer.sees(manifest("web", Content(data=b"name=web", torn=True)))

    assert torn.served is before.served
    assert torn.look_again_in == pytest.approx(0.051, abs=1e-4)


def test_a_file_that_is_never_quiet_is_judged_as_it_is_after_two_seconds(
    observer: Observer,
) -> None:
    observer.sees()
    observer.sees(manifest("log", "line", written=0), at=0)
    assert verdicts(observer.sees(manifest("log", "line line", written=1.9), at=1.9)) == {}

    seen = observer.sees(manifest("log", "line line line", written=2), at=2)

    assert verdicts(seen) == {"log": Verdict.REJECTED}


def test_a_time_far_in_the_future_postpones_nothing(observer: Observer) -> None:
    assert names(observer.sees(manifest("web", "name=web", written=3600))) == ["web"]


def test_a_file_server_whose_clock_is_a_little_ahead_is_given_a_little_longer(
    observer: Observer,
) -> None:
    observer.sees()

    early = observer.sees(manifest("web", "name=web", written=0.03))

    assert names(early) == []
    assert early.look_again_in == pytest.approx(0.081, abs=1e-4)


def test_looking_again_when_told_is_never_too_early(observer: Observer) -> None:
    young = manifest("web", "name=web", written=0)
    observer.sees()
    again = observer.sees(young, at=0.0123).look_again_in
    assert again is not None

    assert observer.sees(young, at=0.0123 + again).look_again_in is None


def test_a_file_that_vanishes_for_a_moment_keeps_its_pod(observer: Observer) -> None:
    # An editor that moves the old file away and then writes a new one.
    before = observer.sees(manifest("web", "name=web"))

    between = observer.sees(manifest("web~", LEFTOVER), at=1)
    assert between.served is before.served
    assert verdicts(between) == {"web": Verdict.ACCEPTED, "web~": Verdict.IGNORED}
    assert between.look_again_in == pytest.approx(0.051, abs=1e-4)

    young = observer.sees(manifest("web", "name=web image=web:2", written=1.01), at=1.02)
    assert young.served is before.served
    settled = observer.sees(manifest("web", "name=web image=web:2", written=1.01), at=1.07)
    assert the_pod(settled) != the_pod(before)


def test_a_file_that_stays_away_is_gone(observer: Observer) -> None:
    observer.sees(manifest("web", "name=web"))
    observer.sees(at=1)
    assert names(observer.sees(at=1.03)) == ["web"]

    gone = observer.sees(at=1.051)

    assert names(gone) == []
    assert gone.look_again_in is None


def test_a_vanished_file_does_not_keep_what_another_file_claims(observer: Observer) -> None:
    # The same UID under another name, in a file that comes earlier.
    observer.sees(manifest("b", "name=web uid=1"))

    after = observer.sees(manifest("a", "name=db uid=1"))

    assert names(after) == ["db"]
    assert verdicts(after) == {"a": Verdict.ACCEPTED}


def test_a_clock_set_back_keeps_nothing_that_is_gone(observer: Observer) -> None:
    observer.sees(manifest("web", "name=web"))
    observer.sees(at=0)

    assert names(observer.sees(at=-3600)) == []


def test_a_file_written_and_then_renamed_is_never_absent(observer: Observer) -> None:
    before = observer.sees(manifest("a", "name=web", inode=1))

    early = observer.sees(manifest("b", "name=web image=web:2", inode=1, written=1), at=1.01)
    assert early.served is before.served

    settled = observer.sees(manifest("b", "name=web image=web:2", inode=1, written=1), at=1.055)
    assert names(settled) == ["web"]
    assert verdicts(settled) == {"b": Verdict.ACCEPTED}


def test_a_file_that_is_written_and_renamed_just_after_a_look_is_never_absent(
    observer: Observer,
) -> None:
    # The old name is missing for as long as the new one is too young.
    before = observer.sees(manifest("a", "name=web"))
    observer.sees(manifest("b", "name=web", inode=2, written=1.005), at=1.0)

    early = observer.sees(manifest("b", "name=web", inode=2, written=1.005), at=1.052)
    assert early.served is before.served
    assert early.look_again_in == pytest.approx(0.004, abs=1e-4)

    settled = observer.sees(manifest("b", "name=web", inode=2, written=1.005), at=1.056)
    assert names(settled) == ["web"]
    assert verdicts(settled) == {"b": Verdict.ACCEPTED}


def test_a_file_that_is_gone_is_not_kept_for_longer_than_a_new_one_is_waited_for(
    observer: Observer,
) -> None:
    observer.sees(manifest("a", "name=web"))
    for at in (1.0, 1.5, 2.0, 2.5, 2.999):
        seen = observer.sees(manifest("log", "no manifest", written=at), at=at)
        assert names(seen) == ["web"]

    assert names(observer.sees(manifest("log", "no manifest", written=3), at=3.0)) == []


def test_a_file_that_goes_just_before_its_directory_cannot_be_read_is_gone_when_it_can(
    observer: Observer,
) -> None:
    observer.sees(manifest("web", "name=web"))
    observer.sees(at=1.0)
    observer.hears(UNREADABLE, at=1.02)
    back = observer.sees(at=60.0)
    assert names(back) == ["web"]
    assert back.look_again_in == pytest.approx(0.051, abs=2e-3)
    assert names(observer.sees(at=60.06)) == []


def test_a_file_that_comes_just_before_its_directory_cannot_be_read_is_there_when_it_can(
    observer: Observer,
) -> None:
    observer.sees()
    found = Listed(entries=(manifest("web", "name=web", written=1.0),))
    observer.hears(found, at=1.0)
    observer.hears(UNREADABLE, at=1.02)
    assert names(observer.hears(found, at=60.0)) == ["web"]


# --- the first listing -----------------------------------------------------------------------------------


def test_the_first_listing_waits_for_every_file_to_settle(observer: Observer) -> None:
    # A pod that is missing in the first listing counts as removed.
    old, young = manifest("a", "name=a"), manifest("b", "name=b", written=0)

    early = observer.sees(old, young, at=0.01)
    assert early.served is None
    assert early.look_again_in is not None

    assert names(observer.sees(old, young, at=0.06)) == ["a", "b"]


def test_a_path_that_is_missing_at_first_is_an_empty_listing(observer: Observer) -> None:
    # The source is ready, and says what is wrong.
    seen = observer.hears(MISSING)

    assert seen.served == ()
    assert seen.error == "does not exist, taken as empty"


def test_what_a_path_held_that_is_missing_at_first_is_known_once_it_is_listed(
    observer: Observer,
) -> None:
    missing = [observer.hears(MISSING, at=at).state for at in (0, 60)]
    assert [state.is_provisional for state in missing] == [True, True]

    empty = observer.sees(at=120).state
    assert (empty.served, empty.is_provisional) == ((), False)

    # From here on it is one that went away.
    gone = observer.hears(MISSING, at=180)
    assert (gone.state.is_provisional, gone.error) == (False, "does not exist")


def test_a_path_that_came_late_is_not_listed_before_all_its_files_have_settled(
    observer: Observer,
) -> None:
    # As at the start: a thing that is not in the first listing is taken for removed.
    observer.hears(MISSING)
    old, young = manifest("a", "name=a"), manifest("b", "name=b", written=60)

    early = observer.sees(old, young, at=60.01)
    assert (early.served, early.state.is_provisional) == ((), True)
    assert early.look_again_in is not None

    settled = observer.sees(old, young, at=60.06)
    assert (names(settled), settled.state.is_provisional) == (["a", "b"], False)


def test_a_path_that_is_missing_at_first_is_empty_for_good_for_who_asks_for_that() -> None:
    seen = Observer(clear_on_missing=True).hears(MISSING)

    assert (seen.served, seen.state.is_provisional) == ((), False)
    assert seen.error == "does not exist, taken as empty"


def test_a_path_that_is_unreadable_at_first_tells_nothing(observer: Observer) -> None:
    seen = observer.hears(UNREADABLE)

    assert seen.served is None
    assert seen.error == "cannot be read: Permission denied"


def test_a_broken_single_file_at_first_is_an_empty_listing(observer: Observer) -> None:
    seen = observer.hears(Listed(entries=(manifest("web", "rubbish"),), single=True))

    assert seen.served == ()
    assert verdicts(seen) == {"web": Verdict.REJECTED}


def test_a_single_file_that_was_removed_takes_its_pod_along_and_is_missed(
    observer: Observer,
) -> None:
    observer.hears(Listed(entries=(manifest("web", "name=web"),), single=True))
    observer.hears(Listed(entries=(), single=True), at=1)

    gone = observer.hears(Listed(entries=(), single=True), at=2)

    assert gone.served == ()
    assert gone.error == "does not exist"


# --- a path that goes away -------------------------------------------------------------------------------


@pytest.mark.parametrize("listing", [MISSING, UNREADABLE], ids=["missing", "unreadable"])
def test_a_path_that_cannot_be_listed_any_more_keeps_its_pods(
    observer: Observer, listing: Unlistable
) -> None:
    before = observer.sees(manifest("bad", "rubbish"), manifest("web", "name=web"))

    after = observer.hears(listing, at=60)

    assert after.served is before.served
    assert after.verdicts is before.verdicts
    assert after.error == listing.reason


def test_a_path_that_is_back_has_no_error_and_the_identical_pods(observer: Observer) -> None:
    before = observer.sees(manifest("web", "name=web"))
    observer.hears(MISSING, at=60)

    back = observer.sees(manifest("web", "name=web"), at=120)

    assert back.served is before.served
    assert back.error == ""


def test_the_time_in_which_a_path_could_not_be_listed_counts_for_nothing(
    observer: Observer,
) -> None:
    # Whether a file vanished for good, or is being written too long, is found out afresh.
    observer.sees(manifest("web", "name=web"), manifest("db", "name=db"))
    observer.sees(manifest("db", "name=db image=db:2", written=1), at=1)
    observer.hears(MISSING, at=1.01)

    back = observer.sees(manifest("db", "name=db image=db:3", written=60), at=60)

    assert names(back) == ["db", "web"]
    assert back.look_again_in is not None
    assert verdicts(back) == {"db": Verdict.ACCEPTED, "web": Verdict.ACCEPTED}
    assert observer.decoded == [b"name=db", b"name=web"]


def test_a_missing_path_is_an_empty_one_for_who_asks_for_that() -> None:
    observer = Observer(clear_on_missing=True)
    before = observer.sees(manifest("web", "name=web"))
    # ``ln -sfn`` leaves a moment without the link.
    assert observer.hears(MISSING, at=1).served is before.served

    gone = observer.hears(MISSING, at=2)

    assert gone.served == ()
    assert gone.error == "does not exist, taken as empty"


def test_an_unreadable_path_keeps_its_pods_even_then() -> None:
    observer = Observer(clear_on_missing=True)
    before = observer.sees(manifest("web", "name=web"))

    assert observer.hears(UNREADABLE, at=60).served is before.served

"""The keeper of certificates: followers, crashes, and disks that hang."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from typing_extensions import override

from actors.certificates.keeper import CERTIFICATE_KEEPER
from kernel import Port
from kernel.cell import Cell
from kernel.mailbox import Crash
from messages.certificates import (
    AuthoritiesAre,
    CertificateFact,
    CertificateIs,
    CertificateMessage,
    FollowCertificates,
)
from tests.support.certificates.certificate_stage import CertificateStage, certificate_stage
from tests.support.kernel.probe import Probe
from tests.support.kernel.schedule import Schedule


@pytest.fixture
def both(stage: CertificateStage) -> CertificateStage:
    """Return a stage with a configured pair and configured authorities."""
    stage.has_pair = stage.has_authorities = True
    stage.configures(stage.issued())
    stage.puts("ca.crt", stage.issued().certificate)
    return stage


def test_whoever_follows_is_told_what_is_known_and_again_when_it_asks_again(
    both: CertificateStage,
) -> None:
    both.play.start()
    both.follows()
    told = both.facts()
    assert [type(each) for each in told] == [CertificateIs, AuthoritiesAre]
    both.follows()
    assert both.facts() == told


def test_who_follows_before_anything_is_known_is_told_once_it_is(both: CertificateStage) -> None:
    both.lanes.is_paused = True
    both.play.start()
    both.follows()
    assert both.facts() == []
    assert both.described().source == ""
    both.lanes.work()
    both.play.settle()
    assert [type(each) for each in both.facts()] == [CertificateIs, AuthoritiesAre]


def test_a_life_after_a_crash_tells_the_followers_again_and_asks_for_nothing(
    both: CertificateStage,
) -> None:
    both.starts()
    both.follows()
    told, asked = both.facts(), list(both.keys.asked)
    both.crashes()
    assert both.facts() == told
    assert both.keys.asked == asked


class CrashesTheKeeper(Port[CertificateFact]):
    """Whoever tells it something crashes over that, once."""

    has_crashed = False

    @override
    def tell(self, message: CertificateFact, /) -> None:
        if not self.has_crashed:
            self.has_crashed = True
            raise RuntimeError("amid what it tells")


def test_a_crash_amid_what_it_tells_costs_no_follower_the_news(both: CertificateStage) -> None:
    both.lanes.is_paused = True
    both.play.start()
    fragile = CrashesTheKeeper()
    both.play.tell(CERTIFICATE_KEEPER, FollowCertificates(subscriber=fragile))
    both.follows()
    both.lanes.work()
    both.passes(1)
    assert fragile.has_crashed
    assert [type(each) for each in both.facts()] == [CertificateIs, AuthoritiesAre]


def test_what_changes_while_the_keeper_lies_crashed_is_told(both: CertificateStage) -> None:
    both.starts()
    second = both.issued()
    both.play.system.crash(CERTIFICATE_KEEPER.path)
    both.configures(second)
    both.passes(2)
    told = both.certificate()
    assert told is not None
    assert told.certificate == second.certificate


def test_a_certificate_that_the_life_before_was_making_is_taken_and_no_second_one_made(
    stage: CertificateStage,
) -> None:
    stage.lanes.is_paused = True
    stage.play.start()
    stage.follows()
    stage.crashes()
    assert len(stage.lanes.waiting) == 2
    turns = {job.turn for job in stage.lanes.waiting}
    assert len(turns) == 1  # so they are done one after the other
    stage.lanes.work()
    stage.play.settle()
    told = stage.certificate()
    assert told is not None
    assert stage.keys.asked == ["make", "read"]
    assert stage.kept()["kubelet.key"] == told.key


def test_a_disk_that_hangs_costs_no_answer_and_one_check(both: CertificateStage) -> None:
    both.starts()
    both.lanes.hangs = True
    both.passes(200)
    assert len(both.lanes.waiting) == 2
    (trouble,) = both.described().troubles
    assert trouble == "certificates cannot be checked: nothing came of it within 150 s"
    both.follows()
    assert both.certificate() is not None
    both.lanes.hangs = False
    both.lanes.work()
    both.passes(120)
    assert both.described().troubles == ()
    assert both.warnings() == [trouble]


def test_a_bug_in_a_check_is_said_and_the_last_good_certificate_stays(
    both: CertificateStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = both.starts()
    monkeypatch.delattr("actors.certificates.checking.reread")
    both.passes(30)
    assert both.described().troubles == ("certificates cannot be checked: failed with NameError",)
    both.follows()
    assert both.certificate() == told


def crashes(keeper: Cell[CertificateMessage]) -> None:
    """Have the keeper crash before its next message."""
    keeper.put(Crash())


def changed_twice(folder: Path, schedule: Schedule) -> None:
    """Have files change twice while a follower comes late, and see what each follower knows in the end."""
    late: Probe[CertificateFact] = Probe()
    with certificate_stage(folder, schedule) as stage:
        stage.has_pair = stage.has_authorities = True
        keeper = stage.play.system.addresses.cell(CERTIFICATE_KEEPER)
        schedule.crash = partial(crashes, keeper)
        stage.play.start()
        stage.follows()
        changes_both(stage)
        keeper.tell(FollowCertificates(subscriber=late))
        stage.passes(4)
        facts = changes_both(stage)
        for told in (stage.facts(), late.drain()):
            last = {type(each): each for each in told}
            assert [last[type(fact)] for fact in facts] == facts


def changes_both(stage: CertificateStage) -> list[CertificateFact]:
    """Change all files, let it be noticed, and return what is to be told of them."""
    files, authority = stage.issued(), stage.issued().certificate
    stage.configures(files)
    stage.puts("ca.crt", authority)
    stage.passes(5)
    return [
        CertificateIs(
            certificate=files.certificate,
            key=files.key,
            until=files.until,
            names=("n1",),
            addresses=(),
            is_own=False,
        ),
        AuthoritiesAre(pem=authority),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_wherever_the_keeper_crashes_each_follower_ends_with_what_is_in_the_files(
    tmp_path: Path, seed: int
) -> None:
    undisturbed = Schedule(seed)
    changed_twice(tmp_path / "undisturbed", undisturbed)
    for step in range(1, undisturbed.taken + 1):
        schedule = Schedule(seed)
        schedule.crash_at = step
        changed_twice(tmp_path / f"after-{step}", schedule)


def test_nothing_that_is_told_answered_or_logged_shows_a_key(both: CertificateStage) -> None:
    both.starts()
    both.puts("tls.key", both.issued().key)
    both.passes(5)
    both.follows()
    shown = repr(both.facts()) + repr(both.described()) + repr(both.logged) + repr(both.memory)
    assert "PRIVATE" not in shown

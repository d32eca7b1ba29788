"""Who observes failed loops hears of each once when it fails, and once when it is healthy again."""

from __future__ import annotations

from actors.kernel import (
    DynamicMessage,
    DynamicSpec,
    Key,
    OnExhausted,
    Runtime,
    StartChild,
    StopChild,
    SupervisorSpec,
)
from actors.messages.units import Seconds
from tests.support.players import STEADY, FailsAtFirst, Troupe, crash, key
from tests.support.probe import Probe
from tests.support.stage import stage

WEB, LOG = key("web"), key("log")
CROWD = Key[DynamicMessage]("crowd")


def test_a_loop_is_failed_from_its_last_straw_until_it_was_healthy_for_a_while(
    troupe: Troupe, runtime: Runtime
) -> None:
    heard: Probe[frozenset[str]] = Probe()
    web = troupe.child(WEB, at_start=FailsAtFirst(6), on_exhausted=OnExhausted.ISOLATE)
    spec = SupervisorSpec(
        name="root",
        children=(web, troupe.child(LOG)),
        backoff=STEADY,
        intensity=2,
        period=Seconds(10.0),
    )
    with stage(spec, runtime) as play:
        play.system.observe_failed_loops(heard.tell)

        # It fails at 0, 1 and 3 s: two restarts are tolerated, the third is not.
        play.advance(2.9)
        heard.expect_silence()
        play.advance(0.2)
        heard.expect(frozenset({"web"}))

        # The attempts at 11, 19 and 27 s change nothing; the one at 35 s holds, and takes 30 s to be
        # believed.
        play.advance(61.8)
        heard.expect_silence()
        play.advance(0.2)
        heard.expect(frozenset())


def test_a_crash_in_between_starts_the_wait_anew(troupe: Troupe, runtime: Runtime) -> None:
    heard: Probe[frozenset[str]] = Probe()
    web = troupe.child(WEB, at_start=FailsAtFirst(3), on_exhausted=OnExhausted.ISOLATE)
    spec = SupervisorSpec(
        name="root", children=(web,), backoff=STEADY, intensity=1, period=Seconds(10.0)
    )
    with stage(spec, runtime) as play:
        play.system.observe_failed_loops(heard.tell)
        # The life that begins at 17 s holds for a while; the next begins 8 s after it crashed.
        play.advance(20.0)
        heard.expect(frozenset({"web"}))
        play.tell(WEB, crash())
        play.advance(37.9)
        heard.expect_silence()
        play.advance(0.2)
        heard.expect(frozenset())


def test_a_failed_child_that_is_stopped_for_good_is_no_failed_loop(
    troupe: Troupe, runtime: Runtime
) -> None:
    heard: Probe[frozenset[str]] = Probe()
    spec = SupervisorSpec(
        name="root",
        children=(DynamicSpec(key=CROWD, backoff=STEADY, intensity=1, period=Seconds(10.0)),),
    )
    with stage(spec, runtime) as play:
        play.system.observe_failed_loops(heard.tell)
        web = troupe.child(WEB, at_start=FailsAtFirst(100), on_exhausted=OnExhausted.ISOLATE)
        crowd = play.system.address(CROWD)
        crowd.tell(StartChild(spec=web))
        play.advance(5.0)
        heard.expect(frozenset({"web"}))

        crowd.tell(StopChild(path=WEB.path))
        play.settle()
        heard.expect(frozenset())

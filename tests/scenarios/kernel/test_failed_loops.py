"""Who observes failed loops hears of each once when it fails, and once when it is healthy again."""

from __future__ import annotations

import pytest

from kernel import (
    ChildSpec,
    OnExhausted,
    Runtime,
    StopChild,
)
from kernel.reports import are_most_failing
from tests.support.kernel.players import FailsAtFirst, Line, Troupe, crash, key
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import stage
from tests.support.kernel.trees import POOL, WITH_STRICT_POOL, start_in_pool, tolerating

WEB, LOG = key("web"), key("log")


def test_a_loop_is_failed_from_its_last_straw_until_it_was_healthy_for_a_while(
    troupe: Troupe, runtime: Runtime
) -> None:
    heard: Probe[frozenset[str]] = Probe()
    web = troupe.child(WEB, at_start=FailsAtFirst(6), on_exhausted=OnExhausted.ISOLATE)
    spec = tolerating(2, web, troupe.child(LOG))
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
    spec = tolerating(1, web)
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


def failing(troupe: Troupe, *paths: str, times: int = 100) -> list[ChildSpec[Line]]:
    """Return isolated children that fail in so many lives."""
    isolate = OnExhausted.ISOLATE
    return [
        troupe.child(key(path), at_start=FailsAtFirst(times), on_exhausted=isolate)
        for path in paths
    ]


@pytest.mark.parametrize(
    ("failed", "members", "fails"),
    [(1, 5_000, False), (1, 1, False), (4, 4, False), (5, 10, False), (5, 9, True)],
)
def test_a_pool_fails_with_most_of_its_children_unless_these_are_few(
    failed: int, members: int, *, fails: bool
) -> None:
    assert are_most_failing(failed, members) is fails


def test_one_failing_dynamic_child_is_no_failed_loop(troupe: Troupe, runtime: Runtime) -> None:
    heard: Probe[frozenset[str]] = Probe()
    with stage(WITH_STRICT_POOL, runtime) as play:
        play.system.observe_failed_loops(heard.tell)
        start_in_pool(play, *failing(troupe, "bad"), *(troupe.child(key(name)) for name in "abc"))
        play.advance(5.0)

        assert play.state(key("bad")) == "failed"
        heard.expect_silence()
        (pool,) = play.system.summarize().dynamic
        assert (pool.name, pool.states) == ("pool/*", {"running": 3, "failed": 1})
        assert ([each.name for each in pool.not_running], pool.is_failing) == (["bad"], False)


def test_most_dynamic_children_are_one_failed_loop_until_they_are_healthy(
    troupe: Troupe, runtime: Runtime
) -> None:
    heard: Probe[frozenset[str]] = Probe()
    with stage(WITH_STRICT_POOL, runtime) as play:
        play.system.observe_failed_loops(heard.tell)
        # They fail at 0 and 1 s, which is one time too many.
        start_in_pool(play, *failing(troupe, *"abcdef", times=2))
        play.advance(1.5)
        heard.expect(frozenset({"pool/*"}))
        assert play.system.summarize().dynamic[0].is_failing

        # The lives that begin at 9 s hold, and 30 s later that is believed.
        play.advance(37.0)
        heard.expect_silence()
        play.advance(1.0)
        heard.expect(frozenset())


def test_a_pool_fails_also_when_healthy_children_leave(troupe: Troupe, runtime: Runtime) -> None:
    heard: Probe[frozenset[str]] = Probe()
    with stage(WITH_STRICT_POOL, runtime) as play:
        play.system.observe_failed_loops(heard.tell)
        start_in_pool(
            play, *failing(troupe, *"abcde"), *(troupe.child(key(name)) for name in "uvwxy")
        )
        play.advance(5.0)
        heard.expect_silence()

        play.tell(POOL, StopChild(path="y"))
        heard.expect(frozenset({"pool/*"}))

        # One that comes is one more that is well.
        start_in_pool(play, troupe.child(key("z")))
        heard.expect(frozenset())


def test_failed_children_that_are_stopped_for_good_are_no_failed_loop(
    troupe: Troupe, runtime: Runtime
) -> None:
    heard: Probe[frozenset[str]] = Probe()
    with stage(WITH_STRICT_POOL, runtime) as play:
        play.system.observe_failed_loops(heard.tell)
        start_in_pool(play, *failing(troupe, *"abcde"))
        play.advance(5.0)
        heard.expect(frozenset({"pool/*"}))

        play.tell(POOL, StopChild(path="a"))
        heard.expect(frozenset())

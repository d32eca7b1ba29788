"""The status of a pod as it follows from what is observed, and from the status before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from messages.pod_runtime import ContainerHistory, ContainerState, PodObserved, PodTrouble
from messages.pods import Pod, PodPhase
from messages.statuses import PodFailure, PodStatus
from messages.units import Timestamp
from stores.statuses.rendering import render_status
from stores.statuses.status import StatusSituation, shows_same, status_after
from tests.support.builders import edited, make_pod
from tests.support.pods.observations import (
    backing_off,
    exited,
    observation,
    restarted,
    running,
    sandbox,
    waiting,
)

NOW = Timestamp(1_700_000_100.7)
FAILURE = PodFailure(reason="DeadlineExceeded", message="Pod was active too long")


def after(
    observed: PodObserved | None,
    previous: PodStatus | None = None,
    pod: Pod | None = None,
    **fields: Any,
) -> PodStatus:
    situation = StatusSituation(
        pod=pod or make_pod(), observed=observed, previous=previous, now=NOW
    )
    return status_after(replace(situation, **fields))


def never(**fields: Any) -> Pod:
    spec = {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never", **fields}
    return make_pod("web", spec=spec)


def test_start_time_is_the_first_moment_and_stays() -> None:
    first = after(None)
    assert first.start_time == 1_700_000_100.0
    assert after(observation(running()), first, now=Timestamp(NOW + 60)).start_time == (
        first.start_time
    )


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    first = after(observation(waiting()))
    later = after(observation(running()), first, now=Timestamp(NOW + 60))
    since = {each.type: each.since - int(NOW) for each in later.conditions}
    assert since["Ready"] == 60
    assert since["PodScheduled"] == 0


def test_a_pod_fails_with_its_reason_once_no_container_may_run() -> None:
    runs = after(observation(running()))
    assert runs.phase is PodPhase.RUNNING
    stopping = after(observation(running()), runs, failure=FAILURE)
    assert (stopping.phase, stopping.reason) == (PodPhase.RUNNING, "")
    ended = after(observation(exited(code=137)), stopping, failure=FAILURE)
    assert (ended.phase, ended.reason, ended.message) == (
        PodPhase.FAILED,
        FAILURE.reason,
        FAILURE.message,
    )


def at(history: ContainerHistory, started: float, finished: float | None = None) -> PodObserved:
    """Return an observation of ``history`` with these times."""
    assert history.current is not None
    end = None if finished is None else Timestamp(finished)
    current = replace(history.current, started_at=Timestamp(started), finished_at=end)
    return observation(replace(history, current=current))


def times(status: PodStatus) -> tuple[float | None, float | None]:
    assert status.observed is not None
    current = status.observed.containers["main"].current
    assert current is not None
    return current.started_at, current.finished_at


def test_a_container_is_not_shown_to_have_begun_or_ended_later_than_was_shown() -> None:
    shown = after(at(running(), 100.0))
    assert times(after(at(running(), 100.9), shown)) == (100.9, None)  # the same second
    assert times(after(at(running(), 160.5), shown)) == (100.0, None)
    assert times(after(at(running(), 90.0), shown)) == (90.0, None)
    assert times(after(at(running(attempt=1), 160.5), shown)) == (160.5, None)
    ended = after(at(exited(code=1), 160.0, 170.0), shown)
    assert times(ended) == (100.0, 170.0)
    assert times(after(at(exited(code=1), 200.0, 210.0), ended)) == (100.0, 170.0)


def test_a_terminal_status_stays_terminal_with_its_reason() -> None:
    ended = after(observation(exited(code=1)), pod=never(), failure=FAILURE)
    again = after(observation(running(attempt=1)), ended, pod=never())
    assert (again.phase, again.reason) == (PodPhase.FAILED, FAILURE.reason)


def test_a_container_that_ended_for_good_is_not_shown_running_again() -> None:
    ended = after(observation(exited(code=1)), pod=never())
    again = after(observation(running(attempt=1)), ended, pod=never())
    assert again.observed is not None
    assert again.observed.containers["main"] == exited(code=1)


def test_a_container_that_ended_is_not_shown_running_under_the_same_id() -> None:
    ended = after(observation(exited(code=1)))
    assert after(observation(running()), ended).observed == ended.observed
    restarted = after(observation(running(attempt=1)), ended).observed
    assert restarted is not None
    assert restarted.containers["main"] == running(attempt=1)


def test_what_the_runtime_forgot_stays_in_the_status() -> None:
    ended = after(observation(exited(code=3), sandbox=sandbox("10.0.0.9")), pod=never())
    forgotten = after(observation(sandbox=None), ended, pod=never(), is_ended=True)
    assert forgotten.observed is not None
    assert forgotten.observed.containers["main"] == exited(code=3)
    assert forgotten.observed.sandbox is not None
    assert forgotten.observed.sandbox.ips == ("10.0.0.9",)


def test_a_container_that_is_gone_though_it_ran_was_lost() -> None:
    runs = after(observation(running()))
    gone = after(observation(), runs).observed
    assert gone is not None
    last = gone.containers["main"].last
    assert last is not None
    assert (last.exit_code, last.reason) == (137, "ContainerStatusUnknown")


@pytest.mark.parametrize(
    ("reason", "runs"), [("ContainerStatusUnknown", True), ("Error", False)], ids=["lost", "ended"]
)
def test_an_instance_is_shown_to_run_again_only_if_its_end_was_a_guess(
    reason: str, *, runs: bool
) -> None:
    held_for_ended = after(observation(exited(code=137, reason=reason)))
    seen = after(observation(running()), held_for_ended).observed
    assert seen is not None
    current = seen.containers["main"].current
    assert current is not None
    assert (current.state is ContainerState.RUNNING) is runs


def test_a_container_that_runs_anew_after_the_runtime_lost_it_was_restarted() -> None:
    before = after(observation(running(attempt=3)))
    anew = running(id="another", attempt=0)
    for between in (None, observation(), observation(waiting())):
        status = before if between is None else after(between, before)
        seen = after(observation(anew), status).observed
        assert seen is not None
        now = seen.containers["main"]
        assert now.current is not None
        assert (now.current.id, now.current.attempt) == ("another", 4)
        assert now.last is not None
        assert (now.last.exit_code, now.last.reason) == (137, "ContainerStatusUnknown")


def test_restarts_are_counted_from_what_was_shown_when_the_runtime_counts_from_zero() -> None:
    status = after(observation(running(attempt=3)))
    for history, count in (
        (running(id="a", attempt=0), 4),
        (running(id="a", attempt=0), 4),
        (exited(code=1, id="a", attempt=0), 4),
        (restarted(running(id="b", attempt=1)), 5),
        (running(id="b", attempt=1), 5),
        (running(id="c", attempt=9), 9),
    ):
        status = after(observation(history), status)
        assert status.observed is not None
        current = status.observed.containers["main"].current
        assert current is not None
        assert current.attempt == count


def test_an_instance_that_is_there_again_after_a_later_one_is_gone_is_no_restart() -> None:
    status = after(observation(restarted(running(attempt=1))))
    seen = after(observation(exited(code=1, attempt=0)), status).observed
    assert seen is not None
    assert seen.containers["main"].current is not None
    assert seen.containers["main"].current.attempt == 1


def test_a_trouble_for_good_fails_the_pod_with_its_words() -> None:
    trouble = PodTrouble(reason="UnsupportedVolume", message="no volumes here", is_for_good=True)
    status = after(observation(troubles=(trouble,)))
    assert (status.phase, status.reason) == (PodPhase.FAILED, "UnsupportedVolume")


FORBIDDEN = PodTrouble(reason="SysctlForbidden", message="forbidden sysctl: no", is_for_good=True)


def rejected(observed: PodObserved | None, previous: PodStatus | None = None, **more: Any) -> Any:
    """Return what people see of a pod that the runtime refuses, but its start and its class."""
    shown = dict(render_status(make_pod(), after(observed, previous, **more)))
    del shown["startTime"], shown["qosClass"]
    return shown


AS_BY_ADMISSION = {
    "phase": "Failed",
    "reason": "SysctlForbidden",
    "message": "Pod was rejected: forbidden sysctl: no",
    "conditions": [],
}


def test_a_pod_that_the_runtime_refuses_before_anything_of_it_was_made_was_never_taken_on() -> None:
    pending = after(observation(waiting(), sandbox=None))
    assert pending.conditions
    refused = observation(waiting(), sandbox=None, troubles=(FORBIDDEN,))
    assert rejected(refused, pending, host_ips=("10.0.0.1",)) == AS_BY_ADMISSION
    assert rejected(refused) == AS_BY_ADMISSION


def test_a_pod_that_was_refused_stays_so_whatever_the_runtime_tells_later() -> None:
    refused = after(observation(sandbox=None, troubles=(FORBIDDEN,)))
    later = after(observation(sandbox=None), refused)
    for status in (later, after(observation(waiting(), sandbox=None), later, is_ended=True)):
        assert (status.observed, status.message) == (None, AS_BY_ADMISSION["message"])
        assert status.conditions == ()


def test_a_pod_that_is_refused_keeps_the_conditions_that_it_is_shown_with() -> None:
    scheduled = {"type": "PodScheduled", "status": "True"}
    bound = edited(make_pod(), status={"phase": "Pending", "conditions": [scheduled]})
    pending = after(observation(waiting(), sandbox=None), pod=bound)
    status = after(observation(sandbox=None, troubles=(FORBIDDEN,)), pending, pod=bound)
    assert [each.type for each in status.conditions] == ["PodScheduled"]


@pytest.mark.parametrize("seen", [observation(), observation(exited(code=1), sandbox=None)])
def test_a_pod_of_which_something_was_made_is_no_refusal(seen: PodObserved) -> None:
    status = after(replace(seen, troubles=(FORBIDDEN,)))
    assert (status.phase, status.reason) == (PodPhase.FAILED, "SysctlForbidden")
    assert status.message == "forbidden sysctl: no"
    assert status.conditions


def test_statuses_that_differ_in_the_mark_alone_show_the_same() -> None:
    one = after(observation(running()))
    assert one.observed is not None
    later = replace(one.observed, mark=one.observed.mark._replace(number=9))
    assert shows_same(one, after(later, one))
    assert not shows_same(one, after(observation(running(), sandbox=sandbox("10.0.0.8")), one))


def test_a_container_that_waits_for_its_next_start_shows_how_it_ended() -> None:
    ended = after(observation(exited(code=3)))
    seen = after(observation(waiting()), ended).observed
    assert seen is not None
    assert seen.containers["main"].last == exited(code=3).current
    again = after(observation(waiting()), after(observation(waiting()), ended)).observed
    assert again == seen


def test_a_container_runs_again_after_its_back_off() -> None:
    before = after(observation(backing_off()))
    seen = after(observation(running(attempt=1)), before).observed
    assert seen is not None
    assert seen.containers["main"] == running(attempt=1)


def test_a_container_that_a_rule_starts_again_runs_again() -> None:
    pod = on_failure()
    failed = after(observation(exited(code=1)), pod=pod)
    seen = after(observation(running(attempt=1)), failed, pod=pod).observed
    assert seen is not None
    assert seen.containers["main"] == running(attempt=1)
    done = after(observation(exited(code=0)), pod=pod)
    assert after(observation(running(attempt=1)), done, pod=pod).observed == done.observed


def on_failure() -> Pod:
    spec = {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "OnFailure"}
    return make_pod("web", spec=spec)


def test_init_containers_run_again_in_another_sandbox_alone() -> None:
    # Rule Y10.
    pod = never(initContainers=[{"name": "init", "image": "i"}])
    first = after(observation(exited("init"), waiting()), pod=pod)
    second = observation(running("init", attempt=1), sandbox=sandbox(attempt=1))
    seen = after(second, first, pod=pod).observed
    assert seen is not None
    assert seen.containers["init"] == running("init", attempt=1)
    same = after(observation(running("init", attempt=1)), first, pod=pod).observed
    assert same is not None
    assert same.containers["init"] == exited("init")
    gone = observation(running("init", attempt=1), sandbox=None)
    none = after(gone, first, pod=pod).observed
    assert none is not None
    assert none.containers["init"] == exited("init")


def test_init_containers_run_again_in_a_sandbox_that_was_seen_before_they_did() -> None:
    # Rule Y10.
    pod = never(initContainers=[{"name": "init", "image": "i"}])
    first = after(observation(exited("init"), waiting()), pod=pod)
    empty = observation(exited("init"), sandbox=sandbox(attempt=1))
    replaced = after(replace(empty, from_earlier=frozenset({"init"})), first, pod=pod)
    again = observation(running("init", attempt=1), sandbox=sandbox(attempt=1))
    seen = after(again, replaced, pod=pod)
    assert seen.observed is not None
    assert seen.observed.containers["init"] == running("init", attempt=1)


def test_a_container_that_is_not_specified_any_more_is_taken_as_it_is_told() -> None:
    before = after(observation(running(), exited("old")))
    seen = after(observation(running(), running("old", attempt=1)), before).observed
    assert seen is not None
    assert seen.containers["old"] == running("old", attempt=1)


def test_a_stopped_sandbox_keeps_its_addresses_until_there_are_others() -> None:
    # Rule G5.
    before = after(observation(running(), sandbox=sandbox("10.0.0.9")))
    stopped = replace(sandbox(is_ready=False), ips=())
    seen = after(observation(running(), sandbox=stopped), before).observed
    assert seen is not None
    assert seen.sandbox == replace(stopped, ips=("10.0.0.9",))


@pytest.mark.parametrize("restarts", ["Never", "Always"])
def test_a_pod_that_has_ended_keeps_its_addresses_though_it_is_told_not_to_have_begun(
    restarts: str,
) -> None:
    # A class may report nonsense to an agent that has only read how the pod ended.
    pod = edited(make_pod("web"), restartPolicy=restarts)
    ended = observation(exited(), sandbox=sandbox("10.0.0.9"), phase=PodPhase.SUCCEEDED)
    pending = observation(sandbox=replace(sandbox(), ips=()), phase=PodPhase.PENDING)
    shown = render_status(pod, after(pending, after(ended, pod=pod), pod=pod))
    assert (shown["phase"], shown["podIP"]) == ("Succeeded", "10.0.0.9")


def test_a_pod_keeps_its_phase_while_a_container_may_run_though_it_will_have_ended() -> None:
    # Rule V8: an init container failed for good, and a sidecar is being stopped.
    side = {"name": "side", "image": "i", "restartPolicy": "Always"}
    pod = never(initContainers=[side, {"name": "init", "image": "i"}])
    begun = after(observation(running("side"), running("init")), pod=pod)
    failed = observation(running("side"), exited("init", code=1))
    assert after(failed, begun, pod=pod).phase is PodPhase.PENDING
    assert after(failed, pod=pod).phase is PodPhase.RUNNING
    over = observation(exited("side", code=137), exited("init", code=1))
    assert after(over, begun, pod=pod).phase is PodPhase.FAILED


def test_a_condition_that_has_another_reason_keeps_its_time() -> None:
    first = after(observation(running("main"), sandbox=None))
    one = make_pod("web")
    unready = after(observation(waiting()), first, now=Timestamp(NOW + 10), pod=one)
    failed = after(observation(exited(code=1)), unready, now=Timestamp(NOW + 20), pod=never())
    ready = {each.type: each for each in failed.conditions}["Ready"]
    assert ready.reason == "PodFailed"
    assert ready.since == Timestamp(int(NOW) + 10)


def test_what_ended_for_good_may_run_again_where_an_exit_restarts_all_containers() -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    main = {"name": "main", "image": "i"}
    other = {
        "name": "other",
        "image": "i",
        "restartPolicy": "Never",
        "restartPolicyRules": [rule],
    }
    for containers, attempt in (([main, other], 1), ([main], 0)):
        pod = never(containers=containers)
        rest = running("other")
        ended = after(observation(exited(code=0), rest), pod=pod)
        again = after(observation(running(attempt=1), rest), ended, pod=pod)
        assert again.observed is not None
        current = again.observed.containers["main"].current
        assert current is not None
        assert current.attempt == attempt

"""A status never goes back, whatever a runtime tells: over random observations, failures and restarts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from messages.pod_runtime import (
    ContainerHistory,
    ContainerState,
    PodObserved,
    PodTrouble,
    ProbeVerdict,
)
from messages.pods import TERMINAL_PHASES, Pod, PodPhase
from messages.statuses import PodFailure, PodStatus
from messages.units import Timestamp
from stores.statuses.reading import status_of
from stores.statuses.rendering import render_status, with_status
from stores.statuses.shown import LOST_REASON
from stores.statuses.status import StatusSituation, shows_same, status_after
from tests.support.builders import make_pod
from tests.support.pods.observations import (
    backing_off,
    created,
    exited,
    lost,
    observation,
    restarted,
    running,
    sandbox,
    waiting,
)

IMAGE = "registry.example/web:1"
BEGAN = 1_700_000_000

NAMES = ("init", "side", "main", "helper")


def pod_of(policy: str) -> Pod:
    spec = {
        "restartPolicy": policy,
        "initContainers": [
            {"name": "init", "image": IMAGE},
            {"name": "side", "image": IMAGE, "restartPolicy": "Always"},
        ],
        "containers": [{"name": name, "image": IMAGE} for name in ("main", "helper")],
    }
    return make_pod("web", spec=spec)


attempts = st.integers(0, 3)
codes = st.sampled_from([0, 1, 137])


def histories(name: str) -> st.SearchStrategy[ContainerHistory]:
    return st.one_of(
        st.builds(running, st.just(name), attempts),
        st.builds(exited, st.just(name), codes, attempts),
        st.builds(backing_off, st.just(name), codes, attempts),
        st.builds(waiting, st.just(name)),
        st.builds(created, st.just(name)),
        st.builds(lost, st.just(name)),
        st.builds(restarted, st.builds(running, st.just(name), st.integers(1, 3)), codes),
    )


sandboxes = st.none() | st.builds(
    sandbox, st.sampled_from(["10.0.0.7", "10.0.0.8"]), is_ready=st.booleans(), attempt=attempts
)
troubles = st.lists(
    st.builds(
        PodTrouble,
        reason=st.sampled_from(["ResizeRefused", "NotSupported", "FailedCreatePodSandBox"]),
        message=st.text(max_size=5),
        is_for_good=st.booleans(),
    ),
    max_size=2,
).map(tuple)


@st.composite
def observations(draw: st.DrawFn) -> PodObserved:
    names = draw(st.sets(st.sampled_from(NAMES)))
    seen = [draw(histories(name)) for name in NAMES if name in names]
    return observation(
        *seen,
        sandbox=draw(sandboxes),
        troubles=draw(troubles),
        phase=draw(st.none() | st.sampled_from(PodPhase)),
    )


steps = st.fixed_dictionaries(
    {
        "observed": st.none() | observations(),
        "failure": st.none() | st.just(PodFailure(reason="Evicted", message="low on memory")),
        "is_ended": st.booleans(),
        "verdicts": st.none()
        | st.dictionaries(
            st.sampled_from(NAMES),
            st.builds(ProbeVerdict, st.booleans(), st.booleans(), st.booleans()),
        ),
        "after": st.integers(0, 100),
        "is_restarted": st.booleans(),
    }
)


@given(st.sampled_from(["Always", "OnFailure", "Never"]), st.lists(steps, min_size=1, max_size=6))
def test_a_status_never_goes_back(policy: str, story: list[dict[str, Any]]) -> None:
    pod, now = pod_of(policy), BEGAN
    before: PodStatus | None = None
    for step in story:
        now += step["after"]
        if step["is_restarted"] and before is not None:
            # The agent was started again, and knows what the API shows.
            before = status_of(with_status(pod, before))
        situation = StatusSituation(
            pod=pod,
            observed=step["observed"],
            failure=step["failure"],
            is_ended=step["is_ended"],
            verdicts=step["verdicts"],
            previous=before,
            now=Timestamp(now),
        )
        status = status_after(situation)
        check_by_itself(pod, status)
        if before is not None:
            check_step(pod, before, status, policy)
        assert shows_same(status, status_after(replace(situation, previous=status)))
        before = status


def check_by_itself(pod: Pod, status: PodStatus) -> None:
    """Check what every status is like."""
    rendered = json.loads(json.dumps(render_status(pod, status)))
    types = [each["type"] for each in rendered["conditions"]]
    assert len(types) == len(set(types))
    ready = {each["type"]: each["status"] for each in rendered["conditions"]}.get("Ready")
    if ready == "True":
        assert rendered["phase"] not in {"Succeeded", "Failed"}
        assert all(each["ready"] for each in rendered["containerStatuses"])
    for each in rendered.get("containerStatuses", ()):
        assert len(each["state"]) == 1
        assert not (each["ready"] and "running" not in each["state"])
    if status.is_ended and "containerStatuses" in rendered:
        # All of them, or none where an init container says why.
        regular = {next(iter(each["state"])) for each in rendered["containerStatuses"]}
        inits = {next(iter(each["state"])) for each in rendered.get("initContainerStatuses", ())}
        assert regular == {"terminated"} or (regular == {"waiting"} and "terminated" in inits)
    read = status_of(rendered)
    assert read is not None
    assert (read.phase, read.reason) == (status.phase, status.reason)


def check_step(pod: Pod, before: PodStatus, after: PodStatus, policy: str) -> None:
    """Check what may follow what."""
    assert after.start_time == before.start_time
    if before.phase in TERMINAL_PHASES:
        assert (after.phase, after.reason, after.message) == (
            before.phase,
            before.reason,
            before.message,
        )
    since = {each.type: each for each in before.conditions}
    for each in after.conditions:
        known = since.get(each.type)
        if known is not None and known.status == each.status:
            assert known.since == each.since
    assert after.is_ended >= before.is_ended
    check_containers(pod, before, after, policy)
    if policy == "Never":
        gone = shown_ended(pod, before) - shown_ended(pod, after)
        assert not gone


def shown_ended(pod: Pod, status: PodStatus) -> set[str]:
    rendered = render_status(pod, status).get("containerStatuses", ())
    return {each["name"] for each in rendered if "terminated" in each["state"]}


def check_containers(pod: Pod, before: PodStatus, after: PodStatus, policy: str) -> None:
    """Check that what ended for good, or under one id, does not run again: V3. A guessed end may."""
    old_seen = {} if before.observed is None else before.observed.containers
    new_seen = {} if after.observed is None else after.observed.containers
    for each in pod.document["spec"]["containers"]:
        old = old_seen.get(each["name"])
        new = new_seen.get(each["name"])
        if old is None or old.current is None or old.current.state is not ContainerState.EXITED:
            continue
        assert new is not None
        is_for_good = policy == "Never" or (policy == "OnFailure" and old.current.exit_code == 0)
        if is_for_good and old.wait is None:
            assert new.current is not None
            assert new.current.state is ContainerState.EXITED
        is_guess = bool(old.current.id) and old.current.reason == LOST_REASON
        if new.current is not None and new.current.id == old.current.id and not is_guess:
            assert new.current.state in {ContainerState.EXITED, ContainerState.UNKNOWN}

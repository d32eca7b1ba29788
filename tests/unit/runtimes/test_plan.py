"""What runs next: situations of a pod, and the steps that follow."""

from __future__ import annotations

from typing import Any

import pytest

from manifests.container_hashes import container_hash
from messages.container_runtime import CreateContainer, RunSandbox, StopContainer
from messages.pod_runtime import ContainerWait, ProbeVerdict
from messages.units import Seconds, Timestamp
from runtimes.containers.contents import ContainerNotes, ImageNotes
from runtimes.containers.crash_backoff import CrashNotes
from runtimes.containers.plan import plan
from runtimes.containers.situation import SANDBOX, Flight, Limits, Plan
from tests.support.runtimes.situations import (
    IMAGE,
    NOW,
    WALL,
    Spec,
    container,
    created,
    dead_sandbox,
    exited,
    next_steps,
    running,
    sandbox,
    sidecar,
    situation,
    spec_of,
    steps,
    unknown,
    waits,
)

ONE = spec_of("a")
TWO = spec_of("a", "b")
ONCE = spec_of("a", policy="Never")
UNTIL_SUCCESS = spec_of("a", policy="OnFailure")
INITS = spec_of("a", inits=(container("i"), container("j")))
SIDECARS = spec_of("a", inits=(sidecar("s"), container("i"), sidecar("t")))
PROBED = spec_of("a", inits=(sidecar("s", startupProbe={"exec": {}}),))
OF_ANOTHER_IMAGE: dict[str, Any] = {"spec_hash": "12345678"}


@pytest.mark.parametrize(
    ("spec", "containers", "expected"),
    [
        # regular containers
        (ONE, [], ["create a-0"]),
        (ONE, [created("a")], ["start a-0"]),
        (ONE, [running("a")], []),
        (ONE, [exited("a")], ["create a-1"]),
        (ONE, [exited("a", 1, attempt=6)], ["create a-7"]),
        (ONE, [unknown("a")], ["stop a-0 within 30"]),
        (TWO, [], ["create a-0", "create b-0"]),
        (TWO, [running("a"), exited("b", 2)], ["create b-1"]),
        (ONE, [created("a", **OF_ANOTHER_IMAGE)], ["remove a-0"]),
        (ONE, [running("a", **OF_ANOTHER_IMAGE)], ["stop a-0 within 30"]),
        (ONE, [running("a", spec_hash="")], []),
        (ONE, [running("a"), running("b")], ["stop b-0 within 30"]),
        (TWO, [running("a"), running("c")], ["stop c-0 within 30", "create b-0"]),
        # restart policies
        (ONCE, [exited("a", 1)], ["stop sandbox-0"]),
        (UNTIL_SUCCESS, [exited("a", 1)], ["create a-1"]),
        (UNTIL_SUCCESS, [exited("a", 0)], ["stop sandbox-0"]),
        (spec_of("a", "b", policy="Never"), [exited("a"), running("b")], []),
        # init containers
        (INITS, [], ["create i-0"]),
        (INITS, [created("i")], ["start i-0"]),
        (INITS, [running("i")], []),
        (INITS, [unknown("i")], ["stop i-0 within 30"]),
        (INITS, [exited("i")], ["create j-0"]),
        (INITS, [exited("i", 1)], ["create i-1"]),
        (INITS, [exited("i"), exited("j")], ["create a-0"]),
        (INITS, [exited("i"), exited("j"), running("a")], []),
        (INITS, [exited("i"), exited("j"), exited("a")], ["create a-1"]),
        (INITS, [exited("j"), running("a")], []),
        (INITS, [exited("j")], ["create a-0"]),
        (INITS, [exited("j", 1)], ["create j-1"]),
        (
            spec_of("a", inits=(container("i"),), policy="Never"),
            [exited("i", 1)],
            ["stop sandbox-0"],
        ),
        # sidecars
        (SIDECARS, [], ["create s-0"]),
        (SIDECARS, [running("s")], ["create i-0"]),
        (SIDECARS, [running("s"), running("i")], []),
        (SIDECARS, [exited("s"), running("i")], ["create s-1"]),
        (SIDECARS, [exited("s"), exited("i")], ["create s-1", "create t-0"]),
        (SIDECARS, [exited("s"), exited("i", 1)], ["create s-1", "create i-1"]),
        (SIDECARS, [exited("s"), exited("i"), running("t")], ["create s-1", "create a-0"]),
        (SIDECARS, [running("s"), exited("i"), exited("t")], ["create t-1"]),
        (SIDECARS, [exited("s")], ["create s-1"]),
        (SIDECARS, [running("s"), exited("i")], ["create t-0"]),
        (SIDECARS, [running("s"), exited("i"), running("t")], ["create a-0"]),
        (
            SIDECARS,
            [exited("s", 1), exited("i"), exited("t", 1), running("a")],
            ["create s-1", "create t-1"],
        ),
        # the end: what is left is stopped, sidecars in reverse order, then the sandbox
        (
            {**SIDECARS, "restartPolicy": "Never"},
            [running("s"), exited("i"), running("t"), exited("a")],
            ["stop t-0 within 30"],
        ),
        (
            {**SIDECARS, "restartPolicy": "Never"},
            [running("s"), exited("i"), exited("t"), exited("a")],
            ["stop s-0 within 30"],
        ),
        # ephemeral containers
        ({**ONE, "ephemeralContainers": [container("e")]}, [running("a")], ["create e-0"]),
        ({**ONE, "ephemeralContainers": [container("e")]}, [running("a"), exited("e", 1)], []),
        (
            {**ONE, "ephemeralContainers": [container("e")]},
            [running("a"), created("e")],
            ["start e-0"],
        ),
        (
            {**INITS, "ephemeralContainers": [container("e")]},
            [running("i")],
            ["create e-0"],
        ),
        # what is left over
        (ONE, [running("a", 2), exited("a", 1, 1), exited("a", 1, 0)], ["remove a-0"]),
        (ONE, [running("a", 1), exited("a", 1, 0)], []),
    ],
)
def test_steps_in_a_sandbox_that_is_ready(
    spec: Spec, containers: list[Any], expected: list[str]
) -> None:
    assert next_steps(spec, *containers) == expected


@pytest.mark.parametrize(
    ("spec", "contents", "expected"),
    [
        (ONE, [], ["run sandbox 0"]),
        (ONE, [dead_sandbox(attempt=3)], ["run sandbox 4"]),
        (ONE, [dead_sandbox(running("a"))], ["stop a-0 within 30"]),
        (ONE, [dead_sandbox(exited("a", 137))], ["run sandbox 1"]),
        (ONCE, [dead_sandbox(exited("a", 137))], []),
        (ONCE, [dead_sandbox(running("a"))], ["stop a-0 within 30"]),
        (UNTIL_SUCCESS, [dead_sandbox(exited("a", 0))], []),
        (ONE, [sandbox(attempt=1), dead_sandbox(exited("a", 137))], ["create a-1"]),
        (
            spec_of("a", "b", policy="OnFailure"),
            [sandbox(attempt=1), dead_sandbox(exited("a", 0), exited("b", 137))],
            ["create b-1"],
        ),
        # init containers run again
        (
            INITS,
            [sandbox(attempt=1), dead_sandbox(exited("i"), exited("j"), exited("a", 137))],
            ["create i-1"],
        ),
        (
            INITS,
            [
                sandbox(exited("i", attempt=1), attempt=1),
                dead_sandbox(exited("i"), exited("j"), exited("a", 137)),
            ],
            ["create j-1"],
        ),
        # what lives in an old sandbox ends before anything starts in the new one
        (ONE, [sandbox(attempt=1), sandbox(running("a"))], ["stop a-0 within 30"]),
        (ONE, [sandbox(attempt=1), sandbox(exited("a"))], ["stop sandbox-0"]),
        # an old sandbox goes when nothing in it is worth keeping
        (
            ONE,
            [
                sandbox(running("a", 2), attempt=2),
                dead_sandbox(exited("a", 1, 1), attempt=1),
                dead_sandbox(exited("a", 1, 0)),
            ],
            ["remove sandbox-0"],
        ),
        (
            ONE,
            [sandbox(created("a", 1), attempt=1), dead_sandbox(created("a"))],
            ["start a-1", "remove sandbox-0"],
        ),
    ],
)
def test_steps_about_sandboxes(spec: Spec, contents: list[Any], expected: list[str]) -> None:
    assert next_steps(spec, contents=tuple(contents)) == expected


def test_images_are_looked_for_while_the_sandbox_is_made() -> None:
    spec = spec_of("a", inits=(container("i", image="other:1"),))
    found = next_steps(spec, contents=(), assumes_images=False)
    assert found == ["run sandbox 0", "find other:1", f"find {IMAGE}"]
    making = {SANDBOX: Flight(RunSandbox(pod=situation(spec).pod, attempt=0), NOW)}
    assert next_steps(spec, contents=(), assumes_images=False, busy=making) == found[1:]


MODEL = "registry.example/model:1"
TOOLS = "registry.example/tools:1"


def with_images(**policies: str) -> Spec:
    """Return a pod with a container that mounts images, with these policies."""
    references = {"model": MODEL, "tools": TOOLS}
    volumes = [
        {"name": name, "image": {"reference": references[name], "pullPolicy": policy}}
        for name, policy in policies.items()
    ]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in policies]
    return {**spec_of(), "containers": [container("a", volumeMounts=mounts)], "volumes": volumes}


def test_images_that_are_volumes_are_had_one_after_the_other_before_the_container() -> None:
    spec = with_images(model="IfNotPresent", tools="Always")
    able = Limits(mounts_images=True)
    notes = ContainerNotes()
    assert next_steps(spec, limits=able, notes={"a": notes}) == [f"find {IMAGE}"]
    notes.images[IMAGE] = ImageNotes(IMAGE, image_id="sha256:a")
    assert next_steps(spec, limits=able, notes={"a": notes}) == [f"find {MODEL}"]
    notes.images[MODEL] = ImageNotes(MODEL, is_missing=True)
    assert next_steps(spec, limits=able, notes={"a": notes}) == [f"pull {MODEL}"]
    notes.images[MODEL] = ImageNotes(MODEL, image_id="sha256:m")
    assert next_steps(spec, limits=able, notes={"a": notes}) == [f"pull {TOOLS}"]
    notes.images[TOOLS] = ImageNotes(TOOLS, image_id="sha256:t")
    (step,) = plan(situation(spec, limits=able, notes={"a": notes})).steps
    assert isinstance(step.request, CreateContainer)
    assert step.request.image_id == "sha256:a"
    assert step.request.volume_images == {"model": "sha256:m", "tools": "sha256:t"}


def test_nothing_is_pulled_for_a_runtime_that_mounts_no_images() -> None:
    assert next_steps(with_images(model="Always")) == ["create a-0"]


def test_a_volume_whose_image_cannot_be_named_keeps_its_container_waiting() -> None:
    spec = with_images(model="Always")
    spec["volumes"][0]["image"]["reference"] = "No Image"
    notes = ContainerNotes(images={IMAGE: ImageNotes(IMAGE, image_id="sha256:a")})
    decided = plan(situation(spec, limits=Limits(mounts_images=True), notes={"a": notes}))
    assert waits(decided) == {"a": "InvalidImageName"}


def test_an_image_that_is_never_pulled_says_so_by_the_policy_of_its_volume() -> None:
    shape = situation(with_images(model="Never")).shape
    assert shape.regular[0].pull_policy_of(MODEL) == "Never"
    assert shape.regular[0].pull_policy_of(IMAGE) == "IfNotPresent"


def test_a_sandbox_that_could_not_be_made_is_tried_again_later() -> None:
    decided = plan(situation(ONE, contents=(), sandbox_retry_at=Seconds(NOW + 4)))
    assert (steps(decided), decided.wake_at) == ([], NOW + 4)
    assert waits(decided) == {"a": "ContainerCreating"}


def test_attempts_of_sandboxes_and_containers_that_somebody_removed_are_not_used_again() -> None:
    assert next_steps(ONE, contents=(), highest_sandbox=6) == ["run sandbox 7"]
    assert next_steps(ONE, notes={"a": ContainerNotes(highest=4)}) == ["create a-5"]


@pytest.mark.parametrize("verdict", [None, ProbeVerdict(), ProbeVerdict(container_id="s-0")])
def test_the_next_container_starts_when_a_sidecar_has_started(verdict: ProbeVerdict | None) -> None:
    verdicts = {} if verdict is None else {"s": verdict}
    assert next_steps(PROBED, running("s"), verdicts=verdicts) == ["create a-0"]


@pytest.mark.parametrize(
    "verdict",
    [
        ProbeVerdict(is_started=False),
        ProbeVerdict(is_started=False, container_id="s-1"),
        ProbeVerdict(is_started=True, container_id="s-0"),
    ],
)
def test_the_next_container_waits_for_the_startup_probe_of_a_sidecar(verdict: ProbeVerdict) -> None:
    decided = plan(situation(PROBED, running("s", 1), verdicts={"s": verdict}))
    assert (steps(decided), waits(decided)) == ([], {"a": "PodInitializing"})


@pytest.mark.parametrize(
    ("verdict", "why", "grace"),
    [
        (ProbeVerdict(is_alive=False), "failed liveness probe, will be restarted", 30),
        (
            ProbeVerdict(is_alive=False, container_id="a-0"),
            "failed liveness probe, will be restarted",
            30,
        ),
        (
            ProbeVerdict(is_alive=False, is_started=False),
            "failed startup probe, will be restarted",
            7,
        ),
    ],
)
def test_a_container_that_failed_a_probe_is_killed(
    verdict: ProbeVerdict, why: str, grace: int
) -> None:
    probed = {
        "containers": [container("a", startupProbe={"terminationGracePeriodSeconds": 7})],
    }
    decided = plan(situation(probed, running("a"), verdicts={"a": verdict}))
    assert steps(decided) == [f"stop a-0 within {grace}"]
    assert decided.steps[0].why == f"Container a {why}"
    assert decided.steps[0].replaces == "a-0"


def test_a_sidecar_that_failed_a_probe_is_killed_and_called_an_init_container() -> None:
    decided = plan(situation(SIDECARS, running("s"), verdicts={"s": ProbeVerdict(is_alive=False)}))
    assert "stop s-0 within 30" in steps(decided)
    assert decided.steps[0].why == "Init container s failed liveness probe"


def test_a_verdict_about_another_instance_says_nothing() -> None:
    verdicts = {"a": ProbeVerdict(is_alive=False, container_id="a-0")}
    assert next_steps(ONE, running("a", 1), verdicts=verdicts) == []


def test_a_container_that_never_restarts_is_killed_for_its_probe_and_stays_so() -> None:
    decided = plan(situation(ONCE, running("a"), verdicts={"a": ProbeVerdict(is_alive=False)}))
    assert decided.steps[0].replaces == ""
    assert decided.steps[0].why == "Container a failed liveness probe"


def test_what_was_killed_to_be_replaced_starts_again_whatever_its_policy() -> None:
    notes = {"a": ContainerNotes(replaced_id="a-0")}
    assert next_steps(ONCE, exited("a", 0), notes=notes) == ["create a-1"]
    assert next_steps(UNTIL_SUCCESS, exited("a", 0), notes=notes) == ["create a-1"]


def test_what_is_replaced_waits_and_has_not_ended_for_good() -> None:
    notes = {"a": ContainerNotes(replaced_id="a-0")}
    assert waits(plan(situation(ONCE, exited("a", 1), notes=notes))) == {"a": "ContainerCreating"}
    assert waits(plan(situation(ONE, exited("a", 1), notes=notes))) == {}


@pytest.mark.parametrize("spec", [ONE, ONCE, UNTIL_SUCCESS])
@pytest.mark.parametrize("exit_code", [0, 143])
def test_what_uses_an_object_that_changed_is_replaced_whatever_its_policy(
    spec: Spec, exit_code: int
) -> None:
    outdated = frozenset({"a-0"})
    decided = plan(situation(spec, running("a"), outdated=outdated))
    assert steps(decided) == ["stop a-0 within 30"]
    assert decided.steps[0].why == "Container a uses an object that changed, will be restarted"
    assert next_steps(spec, exited("a", exit_code), outdated=outdated) == ["create a-1"]
    assert next_steps(spec, running("a", 1), exited("a", exit_code), outdated=outdated) == []


def test_a_change_is_no_crash_that_a_container_waits_for() -> None:
    crashes = CrashNotes(container_hash("a", IMAGE), "a-1", NOW, Seconds(80.0), NOW)
    notes = {"a": ContainerNotes(highest=1, crashes=crashes)}
    ended = exited("a", 1, attempt=1)
    assert next_steps(ONE, ended, notes=notes) == []
    assert next_steps(ONE, ended, notes=notes, outdated=frozenset({"a-1"})) == ["create a-2"]


def test_sidecars_are_replaced_and_init_containers_are_not_run_again() -> None:
    there = [running("s"), exited("i"), running("t"), running("a")]
    named = frozenset({"s-0", "i-0"})
    assert next_steps(SIDECARS, *there, outdated=named) == ["stop s-0 within 30"]
    assert next_steps(INITS, running("i"), outdated=named) == []


def test_one_request_is_in_flight_for_each_container() -> None:
    creation = next(iter(plan(situation(ONE)).steps))
    decided = plan(situation(TWO, busy={"a": Flight(creation.request, NOW)}))
    assert steps(decided) == ["create b-0"]
    assert waits(decided) == {"a": "ContainerCreating", "b": "ContainerCreating"}
    kill = Flight(StopContainer(id="a-0", grace=Seconds(30.0)), NOW)
    failed = {"a": ProbeVerdict(is_alive=False)}
    assert next_steps(ONE, running("a"), busy={"a": kill}, verdicts=failed) == []
    sandbox_call = Flight(RunSandbox(pod=situation(ONE).pod, attempt=0), NOW)
    assert next_steps(ONE, contents=(), busy={"": sandbox_call}) == []


def test_a_crash_loop_waits_and_says_so_as_a_kubelet_does() -> None:
    crashes = CrashNotes(
        exited("a").spec_hash, "a-3", Seconds(NOW - 15), Seconds(80.0), Seconds(NOW - 20)
    )
    decided = plan(situation(ONE, exited("a", 1, 3), notes={"a": ContainerNotes(crashes=crashes)}))
    assert (steps(decided), decided.wake_at) == ([], NOW + 65)
    assert decided.waits["a"] == ContainerWait(
        reason="CrashLoopBackOff",
        message="back-off 1m20s restarting failed container=a pod=web_default(uid-default-web)",
    )


@pytest.mark.parametrize(
    "crashes",
    [
        CrashNotes("of another image", "a-3", Seconds(NOW - 15), Seconds(80.0), Seconds(NOW - 20)),
        CrashNotes(exited("a").spec_hash, "a-3", Seconds(NOW - 80), Seconds(80.0), Seconds(NOW)),
        CrashNotes(exited("a").spec_hash, "a-3", Seconds(NOW), Seconds(80.0), Seconds(NOW - 601)),
    ],
)
def test_a_crash_loop_ends_with_its_time_a_long_run_or_another_image(crashes: CrashNotes) -> None:
    notes = {"a": ContainerNotes(crashes=crashes)}
    assert next_steps(ONE, exited("a", 1, 3), notes=notes) == ["create a-4"]


@pytest.mark.parametrize(
    ("exited_ago", "told_ago", "known_in"),
    [
        (0.3, 0.1, 0.4),
        (0.6, 0.3, 0.3),
        (3.0, 1.0, 3.0),
        # Ten seconds after the exit it is known in any case.
        (6.0, 1.0, 4.0),
        (6.0, None, 4.0),
    ],
)
def test_how_long_the_end_of_a_sandbox_is_waited_for_follows_from_how_slow_the_runtime_is(
    exited_ago: float, told_ago: float | None, known_in: float
) -> None:
    crashes = CrashNotes(exited("a").spec_hash, "a-0", Seconds(NOW - exited_ago))
    crashes.told_at = None if told_ago is None else Seconds(NOW - told_ago)
    decided = plan(situation(ONE, exited("a", 137), notes={"a": ContainerNotes(crashes=crashes)}))
    assert steps(decided) == []
    assert decided.wake_at == pytest.approx(NOW + known_in)


@pytest.mark.parametrize("exit_code", [137, 143])
def test_what_others_have_killed_is_not_started_before_the_end_of_its_sandbox_would_be_known(
    exit_code: int,
) -> None:
    def decided(ago: float, *, of: int = exit_code, **fields: Any) -> Plan:
        at = Seconds(NOW - ago)
        crashes = CrashNotes(exited("a").spec_hash, "a-0", at, told_at=at)
        notes = {"a": ContainerNotes(crashes=crashes, replaced_id=fields.pop("replaced_id", ""))}
        return plan(situation(ONE, exited("a", of), notes=notes, **fields))

    assert (steps(decided(0.4)), decided(0.4).wake_at) == ([], NOW + 0.1)
    assert steps(decided(0.5)) == ["create a-1"]
    # Nobody waits for that after other exits, nor where the kill was our own.
    assert steps(decided(0.0, of=1)) == ["create a-1"]
    assert steps(decided(0.0, stops={"a-0": NOW})) == ["create a-1"]
    assert steps(decided(0.0, replaced_id="a-0")) == ["create a-1"]
    # The sandbox did end, and there is another one.
    gone = (sandbox(attempt=1), dead_sandbox(exited("a", exit_code)))
    assert steps(decided(0.0, contents=gone)) == ["create a-1"]


def test_a_restart_that_was_counted_and_came_to_nothing_has_waited_already() -> None:
    crashes = CrashNotes(
        exited("a").spec_hash, "a-3", Seconds(NOW - 10), Seconds(20.0), NOW, counted_id="a-3"
    )
    notes = {"a": ContainerNotes(crashes=crashes)}
    assert next_steps(ONE, exited("a", 1, 3), notes=notes) == ["create a-4"]


@pytest.mark.parametrize(
    ("until", "grace"), [(NOW + 12, 12), (NOW + 30, 30), (NOW + 2, 2), (NOW + 1, 2), (NOW - 9, 2)]
)
def test_an_instance_that_was_told_to_stop_is_told_again_with_what_is_left_of_its_grace(
    until: float, grace: float
) -> None:
    failed = {"a": ProbeVerdict(is_alive=False)}
    told = next_steps(ONE, running("a"), verdicts=failed, stops={"a-0": Seconds(until)})
    assert told == [f"stop a-0 within {grace}"]


def test_an_error_is_shown_until_the_next_attempt_succeeds() -> None:
    error = ContainerWait(reason="CreateContainerConfigError", message='secret "s" not found')
    notes = {"a": ContainerNotes(error=error, retry_at=Seconds(NOW + 10))}
    decided = plan(situation(ONE, notes=notes))
    assert (steps(decided), decided.wake_at, decided.waits) == ([], NOW + 10, {"a": error})
    decided = plan(situation(ONE, notes=notes, now=Seconds(NOW + 10)))
    assert (steps(decided), decided.waits) == (["create a-0"], {"a": error})


def test_an_instance_that_can_never_be_started_is_removed() -> None:
    notes = {"a": ContainerNotes(discarded_id="a-0")}
    assert next_steps(ONE, created("a"), notes=notes) == ["remove a-0"]


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([], {"i": "PodInitializing", "j": "PodInitializing", "a": "PodInitializing"}),
        ([running("i")], {"j": "PodInitializing", "a": "PodInitializing"}),
        ([exited("i", 1)], {"j": "PodInitializing", "a": "PodInitializing"}),
        ([exited("i"), exited("j")], {"a": "PodInitializing"}),
        ([exited("i"), exited("j"), running("a")], {}),
        ([exited("i"), exited("j"), exited("a", 1)], {}),
    ],
)
def test_what_waits_and_what_is_still_shown_as_it_ended(
    containers: list[Any], expected: dict[str, str]
) -> None:
    assert waits(plan(situation(INITS, *containers))) == expected


def test_a_container_is_created_from_what_the_specification_says() -> None:
    found = plan(situation(ONE)).steps[0].request
    assert isinstance(found, CreateContainer)
    assert found.container == container("a")
    assert (found.attempt, found.spec_hash) == (0, exited("a").spec_hash)
    assert found.sandbox.id == "sandbox-0"
    assert found.container["image"] == IMAGE


RESTART_ALL = {
    "initContainers": [container("i")],
    "containers": [
        container(
            "a",
            restartPolicy="Never",
            restartPolicyRules=[
                {
                    "action": "RestartAllContainers",
                    "exitCodes": {"operator": "In", "values": [42]},
                }
            ],
        ),
        container("b", restartPolicy="Never"),
    ],
}
LATER = Timestamp(WALL + 5)


RESIZED = {"containers": [container("a", resources={"limits": {"cpu": "2"}})]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"limits": {"cpu": "1"}}, ["resize a-0"]),
        ({}, ["resize a-0"]),
        ({"limits": {"cpu": "2"}}, []),
        ({"limits": {"cpu": "2"}, "claims": [{"name": "x"}]}, []),
        (None, []),
    ],
)
def test_a_container_that_has_other_resources_is_resized(given: Any, expected: list[str]) -> None:
    assert next_steps(RESIZED, running("a", resources=given)) == expected


def test_what_ended_for_good_waits_when_all_containers_start_again() -> None:
    containers = (exited("i"), exited("a", 42), exited("b"))
    decided = plan(situation(RESTART_ALL, *containers, restart_all_at=LATER))
    assert waits(decided) == {"b": "PodInitializing"}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([exited("i"), exited("a", 42), running("b")], ["stop b-0 within 30"]),
        ([exited("i"), exited("a", 42), exited("b", 143)], ["create i-1"]),
        (
            [exited("i", attempt=1, created_at=LATER), exited("a", 42), exited("b", 143)],
            ["create a-1", "create b-1"],
        ),
        (
            [
                exited("i", attempt=1, created_at=LATER),
                running("a", 1, created_at=LATER),
                running("b", 1, created_at=LATER),
            ],
            [],
        ),
        (
            [
                exited("i", attempt=1, created_at=LATER),
                exited("a", 1, 1, created_at=LATER),
                exited("b", 0, 1, created_at=LATER),
            ],
            ["stop sandbox-0"],
        ),
    ],
)
def test_an_exit_code_may_restart_all_containers(
    containers: list[Any], expected: list[str]
) -> None:
    assert next_steps(RESTART_ALL, *containers, restart_all_at=LATER) == expected


@pytest.mark.parametrize(("ran", "expected"), [(599.0, []), (600.0, []), (600.5, ["create a-4"])])
def test_only_more_than_ten_minutes_of_running_forgive_crashes(
    ran: float, expected: list[str]
) -> None:
    restarted = Seconds(NOW - ran)
    crashes = CrashNotes(exited("a").spec_hash, "a-3", Seconds(NOW), Seconds(80.0), restarted)
    notes = {"a": ContainerNotes(crashes=crashes)}
    assert next_steps(ONE, exited("a", 1, 3), notes=notes) == expected

"""Why a pod does not run: each cause once, and what to do about it. Nothing of a pod that is well."""

from __future__ import annotations

from typing import Any, Final

import pytest

from messages.events import EventType, NotedEvent
from messages.units import Timestamp
from server.reasons.judging import reasons
from server.reasons.known import PodCase

NOW: Final = Timestamp(1_000_000.0)
STARTED: Final = "1970-01-12T13:46:00Z"
"""40 s before."""
ENDED: Final = "1970-01-12T13:46:30Z"
"""10 s before."""
NOT_READY: Final = {
    "type": "Ready",
    "status": "False",
    "reason": "ContainersNotReady",
    "message": "containers with unready status: [main]",
}
READY: Final = {"type": "Ready", "status": "True"}
MAIN: Final = {"name": "main", "image": "web:1"}


def case(*containers: dict[str, Any], spec: Any = None, events: Any = (), **status: Any) -> PodCase:
    """Return a pod that is not ready, with these statuses of its containers."""
    status = {"phase": "Pending", "conditions": [NOT_READY], **status}
    return PodCase(
        pod={
            "metadata": {"namespace": "shop", "name": "web", "uid": "u"},
            "spec": {"containers": [MAIN], **(spec or {})},
            "status": {**status, "containerStatuses": list(containers)},
        },
        events=events,
    )


def waits(reason: str, message: str = "", name: str = "main", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "image": "web:1",
        "state": {"waiting": {"reason": reason, "message": message}},
        **more,
    }


def crashed(**end: Any) -> dict[str, Any]:
    """Return a container that waits for its next start."""
    last = {"startedAt": STARTED, "finishedAt": ENDED, **end}
    message = "back-off 20s restarting failed container=main pod=web_shop(u)"
    return waits("CrashLoopBackOff", message, restartCount=3, lastState={"terminated": last})


def runs(**more: Any) -> dict[str, Any]:
    return {"name": "main", "image": "web:1", "state": {"running": {"startedAt": STARTED}}, **more}


def event(reason: str, message: str, at: float = NOW - 10, container: str = "main") -> NotedEvent:
    path = f"spec.containers{{{container}}}" if container else ""
    return NotedEvent(Timestamp(at), Timestamp(at), 1, EventType.WARNING, reason, message, path)


def volumes(message: str) -> list[dict[str, str]]:
    """Return the conditions of a pod whose volumes are not there."""
    own = {"type": "actorlet/VolumesReady", "status": "False", "reason": "FailedMount"}
    return [NOT_READY, {**own, "message": message}]


def texts(told: PodCase) -> list[str]:
    return [each.text for each in reasons(told, NOW)]


def advices(told: PodCase) -> list[str]:
    return [each.advice for each in reasons(told, NOW)]


# What a pod that has ended stays for.


def held(message: str, **status: Any) -> PodCase:
    """Return a pod whose volumes cannot be taken away."""
    own = {"type": "actorlet/VolumesReleased", "status": "False", "reason": "FailedUnmount"}
    return case(conditions=[{**own, "message": message}], **{"phase": "Succeeded", **status})


def test_a_pod_that_a_volume_keeps_says_which_one_and_what_to_do_first_of_all() -> None:
    begun = "UnmountVolume.TearDown failed for volume"
    told = held(f'{begun} "pv1" : driver d mounted /p1; {begun} "pv2" : driver e mounted /p2')
    told.pod["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    assert texts(told) == [
        "It has ended, and stays because of volume pv1: driver d mounted /p1",
        "It has ended, and stays because of volume pv2: driver e mounted /p2",
        "It is being deleted",
    ]
    assert "FailedUnmount" in advices(told)[0]


def test_a_pod_whose_volumes_are_in_use_says_where() -> None:
    (told,) = texts(held("/root/pods/u/volumes/x: Device or resource busy"))
    assert told.startswith("It has ended, and its volumes cannot be taken away: /root/pods/u/")
    gone = {"type": "actorlet/VolumesReleased", "status": "True"}
    assert texts(case(phase="Succeeded", conditions=[gone])) == []


# What a pod lacks.


def test_an_object_that_is_missing_is_told_once_with_all_who_need_it() -> None:
    needy = case(
        waits("CreateContainerConfigError", 'secret "database" not found'),
        waits("CreateContainerConfigError", 'secret "database" not found', "helper"),
        conditions=volumes(
            'MountVolume.SetUp failed for volume "data" : secret "database" not found'
        ),
    )
    (told,) = texts(needy)
    assert told.startswith("Secret shop/database does not exist; it is needed by ")
    assert told.endswith(" by volume data, container main and container helper")
    assert advices(needy) == [
        "Create the Secret at the API server; the pod starts as soon as it is there"
    ]


def test_what_to_do_about_a_missing_object_depends_on_where_it_comes_from() -> None:
    lacking = case(waits("CreateContainerConfigError", 'configmap "settings" not found'))
    local = PodCase(pod=lacking.pod, is_local=True)
    assert "--local-objects-dir" in advices(local)[0]
    assert "API server" in advices(lacking)[0]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("couldn't find key pass in Secret shop/there", "Secret shop/there has no key pass; it"),
        (
            'secret "there" references non-existent secret key: pass',
            "Secret shop/there has no key pass; it",
        ),
        (
            'configmap "there" references non-existent config key: pass',
            "ConfigMap shop/there has no key pass; it",
        ),
        (
            'secret "there" not read yet: refused',
            "Secret shop/there is not known yet: not read yet",
        ),
        (
            'secret "there" may not be read by this node',
            "Secret shop/there may not be read by this",
        ),
        ('secret "there" cannot be used: chmod it', "Secret shop/there cannot be used: chmod it"),
    ],
)
def test_an_object_that_cannot_be_used_is_told_with_why(message: str, text: str) -> None:
    (told,) = texts(case(waits("CreateContainerConfigError", message)))
    assert told.startswith(text)
    assert told.endswith("is needed by container main")


def test_an_object_of_which_no_container_says_anything_is_missing_all_the_same() -> None:
    volumes = [
        {"name": "data", "secret": {"secretName": "database"}},
        {"name": "more", "configMap": {"name": "settings", "optional": True}},
    ]
    silent = case(waits("ContainerCreating"), spec={"volumes": volumes})
    objects = {("Secret", "database"): "not found", ("ConfigMap", "settings"): "not found"}
    known = PodCase(pod=silent.pod, objects=objects)
    assert texts(known) == ["Secret shop/database does not exist; it is needed by volume data"]
    variables = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "database", "key": "a"}}}]
    needy = case(waits("ContainerCreating"), spec={"containers": [{**MAIN, "env": variables}]})
    unread = {("Secret", "database"): "not read yet: connection refused"}
    (told,) = texts(PodCase(pod=needy.pod, objects=unread))
    assert told.startswith(
        "Secret shop/database is not known yet: not read yet: connection refused"
    )
    # A container that says why it waits knows better.
    assert texts(PodCase(pod=case(waits("ErrImagePull", "no")).pod, objects=objects)) == [
        "The image web:1 of container main cannot be pulled: no"
    ]


def test_each_volume_in_trouble_is_told_and_each_cause_once() -> None:
    message = (
        'MountVolume.SetUp failed for volume "a" : volumes of the kind nfs are not supported; '
        'MountVolume.SetUp failed for volume "b" : no space left on device'
    )
    assert texts(case(waits("ContainerCreating"), conditions=volumes(message))) == [
        "Volume a cannot be made: volumes of the kind nfs are not supported",
        "Volume b cannot be made: no space left on device",
    ]


def test_what_is_not_about_a_volume_is_told_as_it_is() -> None:
    own = {"type": "actorlet/Supported", "status": "False", "message": "user namespaces are off"}
    assert texts(case(waits("ContainerCreating"), conditions=[NOT_READY, own])) == [
        "User namespaces are off"
    ]


@pytest.mark.parametrize(
    ("reason", "message", "text"),
    [
        (
            "ImagePullBackOff",
            'Back-off pulling image "web:1": ErrImagePull: failed to do request: connection refused',
            "The image web:1 of container main cannot be pulled: connection refused",
        ),
        ("ErrImagePull", "none such", "The image web:1 of container main cannot be pulled: none such"),
        ("ImagePullBackOff", "", "The image web:1 of container main cannot be pulled: ImagePullBackOff"),
        ("ErrImageNeverPull", "is not present", "The image web:1 of container main is not on this node, and"),
        ("InvalidImageName", "odd", 'The image "web:1" of container main cannot be used: odd'),
        (
            "CreateContainerError",
            "no such device",
            "Container main cannot be created: no such device (CreateContainerError)",
        ),
        ("RunContainerError", "", "Container main cannot be created: RunContainerError"),
    ],
)  # fmt: skip
def test_a_container_that_cannot_be_made_says_why(reason: str, message: str, text: str) -> None:
    (told,) = texts(case(waits(reason, message)))
    assert told.startswith(text)


def test_root_that_is_refused_is_told_with_what_helps() -> None:
    refused = case(waits("CreateContainerConfigError", "container has runAsNonRoot and image will"))
    assert "runAsUser" in advices(refused)[0]


# How containers end.


def test_a_crash_loop_is_told_with_its_code_its_last_words_its_restarts_and_its_pause() -> None:
    looping = case(crashed(exitCode=3, reason="Error", message="no\ndatabase\n"), phase="Running")
    (told,) = texts(looping)
    assert told.startswith(
        "Container main ended with code 3 (Error): no database. It was restarted 3"
    )
    assert told.endswith("restarted 3 times so far, and will be again")
    (found,) = reasons(looping, NOW)
    assert found.document()["at"] == "1970-01-12T13:46:50Z"  # 20 s after its end
    assert advices(looping) == ["actorlet logs shop/web -c main -p shows what it wrote"]


@pytest.mark.parametrize("message", ["", "back-off soon", "it crashes"])
def test_a_pause_that_nobody_tells_has_no_end(message: str) -> None:
    looping = crashed(exitCode=3)
    looping["state"]["waiting"]["message"] = message
    (found,) = reasons(case(looping, phase="Running"), NOW)
    assert found.text.endswith("and will be again after a pause")
    assert "at" not in found.document()


def test_of_a_long_message_its_end_is_told() -> None:
    (told,) = texts(case(crashed(exitCode=1, message="x" * 5000 + " the end")))
    assert len(told) < 450
    assert "the end" in told


@pytest.mark.parametrize(
    ("end", "text", "advice"),
    [
        (
            {"exitCode": 137, "reason": "OOMKilled"},
            "Container main was killed since it used more memory than it may (OOMKilled)",
            "limits.memory (it is 16Mi)",
        ),
        ({"exitCode": 127}, "Container main ended with code 127", "was not found"),
        ({"exitCode": 126}, "Container main ended with code 126", "cannot be executed"),
        (
            {"exitCode": 128, "reason": "StartError", "message": "no such file"},
            "Container main could not be started: no such file",
            "Look at command",
        ),
        ({"exitCode": 137, "signal": 9}, "Container main was ended by SIGKILL", "actorlet logs"),
        ({"exitCode": 150, "signal": 22}, "Container main was ended by signal 22", "actorlet logs"),
    ],
)
def test_how_a_container_ended_says_what_to_look_at(end: Any, text: str, advice: str) -> None:
    limited = {**MAIN, "resources": {"limits": {"memory": "16Mi"}}}
    ended = case(crashed(**end), spec={"containers": [limited]})
    assert texts(ended)[0].startswith(text)
    assert advice in advices(ended)[0]


def test_a_container_that_a_probe_ended_is_told_with_what_the_probe_said() -> None:
    events = [
        event("Unhealthy", "Liveness probe failed: HTTP 500"),
        event("Killing", "Container main failed liveness probe, will be restarted"),
    ]
    (told,) = texts(case(crashed(exitCode=137), events=events))
    assert told.startswith("Container main was ended: its liveness probe failed: HTTP 500. It was")


def test_a_probe_that_failed_in_an_earlier_life_ended_nothing_of_this_one() -> None:
    events = [
        event("Unhealthy", "Liveness probe failed: HTTP 500", NOW - 900),
        event("Killing", "Container main failed liveness probe, will be restarted", NOW - 900),
        event("FailedPostStartHook", "PostStartHook failed: no", NOW - 900),
    ]
    (told,) = texts(case(crashed(exitCode=1), events=events))
    assert told.startswith("Container main ended with code 1")


def test_a_hook_that_failed_is_told_instead_of_the_end_that_it_brought() -> None:
    events = [event("FailedPostStartHook", "PostStartHook failed: exit code 1", NOW - 39)]
    (told,) = texts(case(crashed(exitCode=137), events=events))
    assert told.startswith("Container main was ended: its postStart hook failed: exit code 1. It")


def test_a_hook_that_fails_at_present_is_told_once() -> None:
    (told,) = texts(case(waits("PostStartHookError", "exit code 1")))
    assert told == "Container main was ended: its postStart hook failed: exit code 1"


def test_of_what_a_runtime_says_of_a_start_the_end_is_told() -> None:
    message = "OCI runtime create failed: unable to start container process: exec: no such file"
    (told,) = texts(case(crashed(exitCode=128, reason="StartError", message=message)))
    assert told.startswith("Container main could not be started: exec: no such file. It was")


def test_a_pod_that_runs_again_says_how_it_ended_lately() -> None:
    last = {"terminated": {"exitCode": 1, "finishedAt": ENDED}}
    again = case(runs(lastState=last, restartCount=1, ready=True), conditions=[READY])
    assert texts(again) == [
        "Container main ended with code 1. It was restarted once, and runs again"
    ]
    last["terminated"]["finishedAt"] = "1970-01-12T13:00:00Z"
    assert texts(again) == []


def test_a_pod_that_has_failed_says_how_its_containers_ended_and_that_it_stays_so() -> None:
    ended = {"name": "main", "state": {"terminated": {"exitCode": 4, "reason": "Error"}}}
    assert texts(case(ended, phase="Failed", spec={"restartPolicy": "Never"})) == [
        "Container main ended with code 4 (Error). It is not started again: the pod's restartPolicy is Never"
    ]
    assert texts(case(ended, phase="Failed")) == ["Container main ended with code 4 (Error)"]


# What has begun.


def test_an_init_container_that_does_not_end_is_named() -> None:
    stuck = case(waits("PodInitializing"), initContainerStatuses=[runs(name="prep")])
    stuck.pod["spec"]["initContainers"] = [{"name": "prep"}]
    assert texts(stuck) == [
        f"Init container prep runs since {STARTED}: the others wait for its end"
    ]


def test_probes_that_fail_are_told_with_what_they_said() -> None:
    unready = case(runs(), events=[event("Unhealthy", "Readiness probe failed: HTTP 503")])
    assert texts(unready) == ["Container main runs, but its readiness probe fails: HTTP 503"]
    slow = {**MAIN, "startupProbe": {}}
    starting = case(
        runs(), events=[event("Unhealthy", "Startup probe failed: no")], spec={"containers": [slow]}
    )
    assert texts(starting) == ["Container main runs, but its startup probe fails: no"]


def test_a_probe_that_has_not_answered_yet_is_waited_for() -> None:
    assert texts(case(runs())) == [
        f"Container main runs since {STARTED}, and its readiness probe has not succeeded yet"
    ]


def test_readiness_gates_are_named_that_nobody_has_opened() -> None:
    gates = [{"conditionType": "example.com/lb"}, {"conditionType": "example.com/open"}]
    shut = {**NOT_READY, "reason": "ReadinessGatesNotReady", "message": "does not exist"}
    others = [shut, {"type": "example.com/open", "status": "True"}]
    gated = case(runs(ready=True), spec={"readinessGates": gates}, conditions=others)
    assert texts(gated) == [
        "All containers are ready, and the pod waits for its readiness gates: example.com/lb"
    ]


def test_what_another_condition_says_is_told() -> None:
    other = {"type": "PodScheduled", "status": "False", "message": "nowhere"}
    assert texts(case(conditions=[NOT_READY, other])) == ["PodScheduled is false: nowhere"]


# What a pod as a whole lacks.


@pytest.mark.parametrize(
    ("reason", "message", "text"),
    [
        (
            "NodeAffinity",
            "Pod was rejected: Predicate NodeAffinity failed",
            "This node has refused the pod (NodeAffinity): Predicate NodeAffinity failed",
        ),
        (
            "DeadlineExceeded",
            "Pod was active on the node longer than the specified deadline",
            "The pod was ended: it ran for longer than its activeDeadlineSeconds (3)",
        ),
        ("Evicted", "low on memory", "The node has ended the pod: Evicted: low on memory"),
    ],
)
def test_what_the_node_did_with_a_pod_is_told(reason: str, message: str, text: str) -> None:
    failed = case(phase="Failed", reason=reason, message=message, spec={"activeDeadlineSeconds": 3})
    assert texts(failed) == [text]


def test_a_pod_without_a_sandbox_says_why_it_has_none() -> None:
    without = {"type": "PodReadyToStartContainers", "status": "False"}
    lost = [
        event("FailedCreatePodSandBox", "Failed to create pod sandbox: no plugin", container="")
    ]
    made = case(waits("ContainerCreating"), conditions=[NOT_READY, without], events=lost)
    assert texts(made) == ["The pod's sandbox cannot be made: no plugin"]
    alone = [event("NetworkNotReady", "network is not ready: cni is missing", container="")]
    cut_off = case(waits("ContainerCreating"), conditions=[NOT_READY, without], events=alone)
    assert texts(cut_off) == ["The pod has no network yet: cni is missing"]
    # Once it has one, what was before is over.
    assert texts(case(waits("ContainerCreating"), events=lost)) == [
        "Nothing is wrong so far: main is being created"
    ]


def test_a_runtime_that_is_away_is_the_first_cause() -> None:
    away = PodCase(pod=case(crashed(exitCode=1)).pod, runtime_trouble="nobody listens")
    first, second = texts(away)
    assert first == "No container can be started at present: nobody listens"
    assert second.startswith("Container main ended with code 1")


def test_a_pod_that_is_deleted_says_what_its_object_waits_for() -> None:
    leaving = case(runs(ready=True), conditions=[READY])
    leaving.pod["metadata"].update(
        deletionTimestamp=ENDED, deletionGracePeriodSeconds=30, finalizers=["example.com/a"]
    )
    assert texts(leaving) == [
        "It is being deleted, and may take 30 s to end",
        "Its object stays until its finalizers are removed: example.com/a",
    ]


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        ("kept", "/m/web.yaml is broken, so the pod runs as it said before: (line 4)"),
        ("rejected", "/m/web.yaml is rejected: (line 4)"),
        ("shadowed", "/m/web.yaml has no effect: (line 4)"),
    ],
)
def test_a_manifest_is_told_of_a_pod_that_is_well_too(verdict: str, text: str) -> None:
    well = case(runs(ready=True), conditions=[READY]).pod
    manifest = {"path": "/m/web.yaml", "verdict": verdict, "reason": "(line 4)"}
    assert texts(PodCase(pod=well, manifests=(manifest,))) == [text]


def test_a_pod_that_is_well_has_no_reason() -> None:
    fine = {"path": "/m/web.yaml", "verdict": "accepted", "reason": ""}
    well = PodCase(pod=case(runs(ready=True), conditions=[READY]).pod, manifests=(fine,))
    assert texts(well) == []
    done = {"name": "main", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    assert texts(case(done, phase="Succeeded")) == []


def test_a_pod_about_which_nobody_complains_says_what_is_waited_for() -> None:
    assert texts(case(waits("ContainerCreating"), waits("ContainerCreating", name="b"))) == [
        "Nothing is wrong so far: main, b are being created"
    ]
    assert texts(PodCase(pod={})) == ["The agent has not begun with it"]

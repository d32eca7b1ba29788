"""What has to be so when nothing has happened for a while. Each function returns what is not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import filterfalse
from typing import Any, Final

from tests.environment.machine import Instance
from tests.environment.node import Node
from tests.environment.oracle.cluster import is_preparing
from tests.environment.oracle.cluster_rest import condition, restless_cluster
from tests.environment.oracle.deadlines import EXCEEDED
from tests.environment.oracle.disk import unlike_disk
from tests.environment.oracle.referenced import miscounted
from tests.environment.oracle.rule import Wishes, is_sidecar
from tests.environment.oracle.shown import TERMINAL
from tests.environment.oracle.volumes import stale_files

SETTLED_AFTER: Final = 90.0
"""Seconds of a container's run after which its probes have said whether it is started, alive and ready."""
NEVER_RUNS: Final = "example/never-runs"
"""Annotation of a pod that cannot run."""
TAINTED: Final = "TaintToleration"
"""The reason of a pod that a tainted Node refuses. One whose containers are lost is admitted anew."""


def restless(node: Node, wishes: Wishes) -> Iterator[str]:
    """Yield everything that is not as it should be at rest."""
    wanted = {uid for uid in wishes.pods if wishes.wants(uid)}
    statuses = node.statuses()
    if set(statuses) != wanted:
        yield f"statuses of {sorted(statuses)}, but {sorted(wanted)} are wanted"
    for uid in sorted(wanted & set(statuses)):
        yield from _unlike(node, wishes, uid, statuses[uid])
    yield from _left_over(node, wanted)
    yield from stale_files(node, wishes)
    yield from unlike_disk(node.folder, wishes, statuses)
    yield from restless_cluster(node, wishes)
    yield from miscounted(node, wishes)


def _unlike(node: Node, wishes: Wishes, uid: str, status: dict[str, Any]) -> Iterator[str]:
    """Yield where the status of a pod and the machine differ from each other, or from what is wanted."""
    running = {each.name: each for each in node.runtime.live() if each.uid == uid}
    goes_on = _goes_on(node, wishes, uid, status)
    # What a class runs an edited pod with, only the agent knows that has begun it.
    is_known = (
        node.runtime.restarts_containers or uid not in wishes.edited_at or not wishes.killed_at
    )
    for one in status.get("containerStatuses", ()):
        name, is_up = one["name"], "running" in one["state"]
        if is_up != (name in running):
            yield f"{name} of {uid} is shown as {one['state']}, but running: {sorted(running)}"
        elif is_up and one["image"] != running[name].image and is_known:
            yield f"{name} of {uid} is shown with {one['image']}, not {running[name].image}"
        elif goes_on and not is_up and _shows_no_pause(one):
            yield f"{name} of {uid} does not run: {one['state']}"
    yield from _of_others(node, uid, status)
    yield from _unlike_answers(node, wishes, uid, status)
    for one in running.values():
        if node.runtime.follows_edits and is_known and not wishes.is_as_wanted(one):
            yield f"{one.name} of {uid} runs {one.image}, which is not wanted"
    if running and not status.get("podIP"):
        yield f"{uid} runs and shows no address"


def _of_others(node: Node, uid: str, status: dict[str, Any]) -> Iterator[str]:
    """Yield the containers that are shown by another instance than the newest that there is."""
    newest = node.runtime.newest_ids(uid)
    for group in ("initContainerStatuses", "containerStatuses"):
        for shown in status.get(group, ()):
            there = newest.get(shown["name"], shown.get("containerID"))
            if shown.get("containerID") != there:
                yield f"{shown['name']} of {uid} is shown as {shown}, but {there} is there"


def _unlike_answers(node: Node, wishes: Wishes, uid: str, status: dict[str, Any]) -> Iterator[str]:
    """Yield where a container that has run for a while is shown otherwise than it answers its probes."""
    shown = [
        each
        for group in ("initContainerStatuses", "containerStatuses")
        for each in status.get(group, ())
    ]
    ready = {each["name"]: each["ready"] for each in shown}
    for one in node.runtime.live():
        if one.uid != uid or wishes.now() - one.started_at < SETTLED_AFTER:
            continue
        yield from _goes_on_in_vain(node, wishes, one)
        answers = not wishes.probe(one, "ready") or node.runtime.says(one, "ready")
        if ready.get(one.name) is not answers:
            yield f"{one.name} of {uid} is shown ready: {ready.get(one.name)}, but answers {answers}"
    for each in filterfalse(is_sidecar, wishes.inits(uid)):
        ready.pop(each["name"], None)
    if status["phase"] == "Running" and condition(status, "Ready") != str(all(ready.values())):
        yield f"{uid} is ready: {condition(status, 'Ready')}, but its containers: {ready}"


def _goes_on_in_vain(node: Node, wishes: Wishes, one: Instance) -> Iterator[str]:
    """Yield why a container should have been ended that still runs."""
    for what in ("started", "alive"):
        is_ended = node.runtime.restarts_containers and wishes.probe(one, what)
        if is_ended and not node.runtime.says(one, what):
            yield f"{one.name} of {one.uid} goes on, but is not {what}"
    if not wishes.hooks.get((one.id, "postStart"), True):
        yield f"{one.name} of {one.uid} goes on, but its postStart has failed"


def _goes_on(node: Node, wishes: Wishes, uid: str, status: dict[str, Any]) -> bool:
    """Return whether all containers of a pod should run, or wait for that."""
    if not node.runtime.restarts_containers:
        return status["phase"] not in TERMINAL
    if NEVER_RUNS in wishes.pods[uid].annotations or status.get("reason") in {TAINTED, EXCEEDED}:
        return False
    return wishes.spec(uid).get("restartPolicy", "Always") == "Always" and not is_preparing(
        wishes, uid, status
    )


def _shows_no_pause(one: dict[str, Any]) -> bool:
    return bool(one["state"].get("waiting", {}).get("reason") != "CrashLoopBackOff")


def _left_over(node: Node, wanted: set[str]) -> Iterator[str]:
    """Yield sandboxes, containers, directories and calls that nobody needs any more."""
    yield from node.runtime.left_over(wanted)
    for kind in ("pods", "pod-records"):
        folder = node.folder / "root" / kind
        left = {path.name.removesuffix(".json") for path in folder.glob("*")} - wanted
        yield from (f"{kind}/{name} is left" for name in sorted(left))

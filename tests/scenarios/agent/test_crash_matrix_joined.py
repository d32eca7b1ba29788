"""No crash, of anybody, at any moment, leaves the cluster otherwise than it would be without it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.builders import make_pod
from tests.support.crash_matrix import Matrix
from tests.support.sources.file_source_stage import pod_text
from tests.support.worlds.joined import NODE, JoinedWorld

Action: TypeAlias = Callable[[JoinedWorld], object]

SEEDS = range(2)
EVERY = int(os.environ.get("CRASH_EVERY", "120"))
"""Of all blows every 120th, and every sixtieth of those that are at a message, others on each of the
schedules: some 1,000. ``CRASH_EVERY=1`` takes all of them, which takes an hour."""

WEB = ("pods", "default", f"web-{NODE}")
REGISTERED = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": NODE, "labels": {"actorlet/runtime": "hollow"}},
    "spec": {},
}


def together(*actions: Action) -> Action:
    """Return them as one action: the agent has no time in between."""

    def action(world: JoinedWorld) -> None:
        for each in actions:
            each(world)

    return action


def write(pod: str, image: str = "web:1", uid: str = "") -> Action:
    """Write a manifest, or edit it."""

    def action(world: JoinedWorld) -> None:
        world.files.write(f"{pod}.yaml", pod_text(pod, image=image, uid=uid))
        world.files.watches.notice()

    return action


def remove(pod: str) -> Action:
    """Remove a manifest."""

    def action(world: JoinedWorld) -> None:
        (world.files.path / f"{pod}.yaml").unlink()
        world.files.watches.notice()

    return action


def bind(name: str, node: str = NODE, image: str = "job:1") -> Action:
    """Have somebody create an ordinary pod that is bound to a node."""
    pod = make_pod(name, source="", image=image, spec={"nodeName": node})
    return lambda world: world.store.add(pod.document)


def delete(name: str, grace: int = 0) -> Action:
    """Have an administrator delete a pod: by force, unless it is given some time."""

    def act(world: JoinedWorld) -> None:
        if world.store.has("pods", "default", name):  # the agent removes what has ended
            world.store.remove("pods", "default", name, grace=grace)

    return act


def label(name: str, value: str) -> Action:
    """Have a user label a pod."""
    return lambda world: world.store.change(
        "pods", "default", name, metadata={"labels": {"theirs": value}}
    )


def finish(name: str) -> Action:
    """Have a pod run to its end."""
    return lambda world: world.store.change("pods", "default", name, status={"phase": "Succeeded"})


def delete_node(world: JoinedWorld) -> None:
    """Have an administrator delete the Node."""
    world.store.remove("nodes", NODE)


def delete_lease(world: JoinedWorld) -> None:
    """Have an administrator delete the Lease."""
    world.store.remove("leases", "kube-node-lease", NODE)


def mark_node(world: JoinedWorld) -> None:
    """Have an administrator label, taint and cordon the Node."""
    world.store.change(
        "nodes",
        NODE,
        metadata={"labels": {"theirs": "1"}, "annotations": {"theirs": "2"}},
        spec={"unschedulable": True, "taints": [{"key": "theirs", "effect": "NoExecute"}]},
    )


def unmark_node(world: JoinedWorld) -> None:
    """Have an administrator take off what the agent put on the Node."""
    labels = {"rack": "8", "beta.kubernetes.io/os": None}
    world.store.change("nodes", NODE, metadata={"labels": labels}, spec={"taints": None})


def go_away(world: JoinedWorld) -> None:
    """Have the API server be away."""
    world.api_goes_away()


def come_back(world: JoinedWorld) -> None:
    """Have the API server be back."""
    world.api_comes_back()


def lag(world: JoinedWorld) -> None:
    """Have the watches lag."""
    world.api.watches.pause()


def catch_up(world: JoinedWorld) -> None:
    """Have the watches lag no more."""
    world.api.watches.resume()


def refuse_pods(world: JoinedWorld) -> None:
    """Have a webhook refuse new pods."""
    world.refuses_pods = True


def allow_pods(world: JoinedWorld) -> None:
    """Have the webhook refuse no longer."""
    world.refuses_pods = False


def leave_mirrors(world: JoinedWorld) -> None:
    """Have the agent have lived before: one manifest stayed, one was edited and one removed since."""
    node = world.store.add(REGISTERED)
    write("web")(world)
    write("shop", image="shop:2")(world)
    world.earlier_mirror(pod_text("web", image="web:1"), node)
    world.earlier_mirror(pod_text("shop", image="shop:1"), node)
    world.earlier_mirror(pod_text("mail", image="mail:1"), node)
    bind("job")(world)


def leave_mirrors_of_another_node(world: JoinedWorld) -> None:
    """Have the agent have lived before, and its Node deleted and made anew since."""
    world.earlier_mirror(pod_text("mail"), world.store.add(REGISTERED))
    write("web")(world)
    world.earlier_mirror(pod_text("web", image="web:1"), world.store.get("nodes", NODE))
    delete_node(world)
    world.store.add(REGISTERED)


BEFORE: dict[str, Action] = {
    "has lived before": leave_mirrors,
    "has lived before, as another Node": leave_mirrors_of_another_node,
    "finds nobody at its start": go_away,
}
STORIES: dict[str, tuple[Action, ...]] = {
    "written, edited, removed": (
        write("web"),
        write("web", image="web:2"),
        write("mail", uid="fixed"),
        remove("web"),
        write("mail", uid="fixed", image="mail:2"),
    ),
    "mirrors are deleted and labelled": (
        write("web"),
        delete(WEB[2], grace=30),
        label(WEB[2], "1"),
        write("mail"),
        delete(f"mail-{NODE}"),
        label(f"mail-{NODE}", "2"),
    ),
    "the name is taken": (
        write("web"),
        together(delete(WEB[2]), bind(WEB[2], "elsewhere")),
        write("mail"),
        delete(WEB[2]),
    ),
    "the name is taken by a pod of this node": (
        write("web"),
        together(delete(WEB[2]), bind(WEB[2])),
        write("web", image="web:2"),
        delete(WEB[2]),
    ),
    "pods are bound, change and go": (
        bind("job"),
        together(bind("other"), bind("foreign", "elsewhere")),
        together(label("job", "1"), finish("job")),
        together(delete("job"), bind("job", image="job:2")),
        delete("other", grace=30),
        delete("other"),
    ),
    "the Node is deleted": (
        write("web"),
        delete_lease,
        delete_node,
        together(write("mail"), bind("job")),
        together(delete_node, delete_lease),
    ),
    "the Node is marked": (
        write("web"),
        mark_node,
        write("web", image="web:2"),
        unmark_node,
        delete_node,
        mark_node,
        unmark_node,
    ),
    "the API server is away for a while": (
        write("web"),
        go_away,
        together(write("web", image="web:2"), write("mail"), bind("job")),
        delete(WEB[2]),
        come_back,
        remove("mail"),
    ),
    "the watches lag": (
        write("web"),
        lag,
        write("mail"),
        delete(WEB[2]),
        remove("mail"),
        catch_up,
    ),
    "mirrors are refused": (
        refuse_pods,
        write("web"),
        write("web", image="web:2"),
        write("mail"),
        remove("mail"),
        allow_pods,
    ),
    "mirrors stay refused": (
        write("web"),
        refuse_pods,
        write("web", image="web:2"),
        write("mail"),
    ),
    "the name stays taken": (
        write("web"),
        together(delete(WEB[2]), bind(WEB[2], "elsewhere")),
        write("mail"),
    ),
    "has lived before": (write("web", image="web:2"), remove("shop")),
    "has lived before, as another Node": (remove("web"),),
    "finds nobody at its start": (write("web"), bind("job"), come_back, delete(WEB[2])),
}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.timeout(900)  # for ``CRASH_EVERY=1``
def test_the_cluster_is_the_same_in_the_end_whoever_crashes_wherever(
    tmp_path: Path, name: str
) -> None:
    make_world = partial(JoinedWorld, prepare=BEFORE.get(name))
    matrix = Matrix(make_world, tmp_path, STORIES[name])
    matrix.run(SEEDS, EVERY, max(1, EVERY // 2))
    assert matrix.differences == []
    # So that the matrix does not shrink unnoticed: a crash of nobody proves nothing.
    assert matrix.reached >= 30

"""Stories of what the agent does at the API server. Each name says why all is fine."""

from __future__ import annotations

from typing import Any, Final

from tests.environment.oracle.cluster import (
    GoneAfterEnd,
    MarksStay,
    NoSecretTold,
    OnlyOurs,
    StatusNeverBack,
)
from tests.simulation.rules.by_hand import OneRule, Stories, container, mirror_of, shown
from tests.support.apiserver.paths import CONFIG_MAP, EVENT, NODE, POD, Kind
from tests.support.builders import make_pod
from tests.support.canary import hidden

INIT: Final = container("init")


def made(world: OneRule, kind: Kind, *, is_agents: bool = True, **about: Any) -> None:
    """Have an object be made at the API server."""
    world.changes(kind, None, {"metadata": {"name": "it"}, **about}, is_agents=is_agents)


def it_is_an_event(world: OneRule, *, is_fine: bool) -> None:
    made(world, EVENT if is_fine else CONFIG_MAP)


def somebody_else_makes_it(world: OneRule, *, is_fine: bool) -> None:
    made(world, EVENT)
    made(world, CONFIG_MAP, is_agents=not is_fine)


def the_pod_is_a_mirror(world: OneRule, *, is_fine: bool) -> None:
    pod = world.wants(nodeName="node1")
    world.changes(POD, None, (mirror_of(pod) if is_fine else pod).document)


def the_pod_is_on_this_node(world: OneRule, *, is_fine: bool) -> None:
    pod = world.wants(nodeName="node1" if is_fine else "node2")
    world.changes(POD, pod.document, pod.document)


def node(**about: Any) -> dict[str, Any]:
    """Return a Node with a label of the administrators' and one of ours."""
    metadata = {
        "name": "node1",
        "labels": {"theirs": "", "ours": ""},
        "annotations": {"theirs": ""},
    }
    return {"metadata": {**metadata, **about}, "spec": {"taints": []}}


def its_spec_stays(world: OneRule, *, is_fine: bool) -> None:
    world.changes(NODE, node(), {**node(), "spec": {"taints": []} if is_fine else {}})


def their_label_stays(world: OneRule, *, is_fine: bool) -> None:
    world.changes(NODE, node(), node(labels={"theirs" if is_fine else "ours": ""}))


def their_annotation_stays(world: OneRule, *, is_fine: bool) -> None:
    world.changes(NODE, node(), node(annotations={"theirs": ""} if is_fine else {}))


def a_final_phase_stays(world: OneRule, *, is_fine: bool) -> None:
    world.writes(phase="Failed")
    world.writes(phase="Failed" if is_fine else "Succeeded")


def what_runs_is_not_pending_again(world: OneRule, *, is_fine: bool) -> None:
    world.writes(phase="Running")
    world.writes(phase="Succeeded" if is_fine else "Pending")


def restarts_are_counted_up(world: OneRule, *, is_fine: bool) -> None:
    world.writes(phase="Running", containerStatuses=[{"name": "main", "restartCount": 2}])
    after = {"name": "main", "restartCount": 3 if is_fine else 1}
    world.writes(phase="Running", containerStatuses=[after])


def an_address_stays(world: OneRule, *, is_fine: bool) -> None:
    world.writes(phase="Running", podIP="10.0.0.1")
    world.writes(phase="Running", podIP="10.0.0.1" if is_fine else "")


def others_have_touched_the_pod(world: OneRule, *, is_fine: bool) -> None:
    if not is_fine:
        world.is_touched()
    one = shown(world.starts(), restartCount=2)
    world.writes(phase="Running", containerStatuses=[one])
    if is_fine:
        world.is_touched()
    world.writes(phase="Running", containerStatuses=[{"name": "main", "restartCount": 0}])


def its_sandbox_has_ended_once_more(world: OneRule, *, is_fine: bool) -> None:
    world.wants(initContainers=[INIT])
    for is_ended in (True, is_fine):
        world.writes(phase="Running", containerStatuses=[shown(world.starts())])
        if is_ended:
            world.is_touched()
        for _ in range(2):
            world.writes(**prepares(is_done=False))
        world.passes(60.0)


def others_had_put_the_address_there(world: OneRule, *, is_fine: bool) -> None:
    there = {"podIP": "192.0.2.9"}
    world.writes(over=there if is_fine else {}, phase="Running", podIP="192.0.2.9")
    world.writes(phase="Running")


def it_could_not_be_recorded(world: OneRule, *, is_fine: bool) -> None:
    world.writes(phase="Running")
    if is_fine:
        world.wishes.note_disk_failure()
    world.kills_agent()
    world.writes(phase="Pending")


def nobody_wanted_it_before_a_sigkill(world: OneRule, *, is_fine: bool) -> None:
    world.unwants()
    world.writes(phase="Succeeded")
    if is_fine:
        world.wishes.killed_at = world.now
    world.writes(phase="Failed")


def prepares(*, is_done: bool) -> dict[str, Any]:
    """Return a status of a pod whose init container runs, or has succeeded."""
    state = {"terminated": {"exitCode": 0}} if is_done else {"running": {}}
    return {"phase": "Pending", "initContainerStatuses": [{"name": "init", "state": state}]}


def it_prepares_after_the_power_went(world: OneRule, *, is_fine: bool) -> None:
    world.wants(initContainers=[INIT])
    world.writes(phase="Running")
    if is_fine:
        world.rule.loses_power()
    world.writes(**prepares(is_done=False))


def it_has_not_prepared_yet(world: OneRule, *, is_fine: bool) -> None:
    world.wants(initContainers=[INIT])
    world.writes(phase="Running")
    world.rule.loses_power()
    world.writes(**prepares(is_done=not is_fine))


def nothing_of_it_runs(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    if is_fine:
        world.ends(one)
    world.rule.deletes(world.wants(is_bound=True))


def the_mirror_is_of_an_old_form(world: OneRule, *, is_fine: bool) -> None:
    old = mirror_of(world.wants())
    world.wants(containers=[container(image="img:2" if is_fine else "img:1")])
    world.wishes.owner = "node-uid"
    world.passes(2.0)
    world.rule.deletes(old)


def the_mirror_is_being_deleted(world: OneRule, *, is_fine: bool) -> None:
    mirror = mirror_of(world.wants(), deleting=is_fine)
    world.wishes.owner = "node-uid"
    world.passes(2.0)
    if not is_fine:
        mirror = mirror_of(world.wishes.pods["a-1"])
    world.rule.deletes(mirror)


def the_mirror_belongs_to_another_node(world: OneRule, *, is_fine: bool) -> None:
    mirror = mirror_of(world.wants())
    world.wishes.owner = "another" if is_fine else "node-uid"
    world.passes(2.0)
    world.rule.deletes(mirror)


def the_agent_has_just_heard_of_it(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    mirror = mirror_of(world.wants())
    world.wishes.owner = "node-uid"
    world.passes(0.9 if is_fine else 1.1)
    world.rule.deletes(mirror)


def no_value_is_told(world: OneRule, *, is_fine: bool) -> None:
    made(world, EVENT, message="harmless" if is_fine else hidden("keys-1"))


def somebody_else_tells_it(world: OneRule, *, is_fine: bool) -> None:
    made(world, CONFIG_MAP, is_agents=not is_fine, data=hidden("keys-1"))


def the_pod_is_another(world: OneRule, *, is_fine: bool) -> None:
    world.writes(phase="Failed")
    pod = make_pod("a", uid="a-2" if is_fine else "a-1", status={"phase": "Running"})
    world.changes(POD, None, pod.document)


STORIES: Final[Stories] = {
    (OnlyOurs, "the agent makes"): (
        *(it_is_an_event, somebody_else_makes_it, the_pod_is_a_mirror),
    ),
    (OnlyOurs, "the agent changes Pod a"): (the_pod_is_on_this_node,),
    (MarksStay, "the spec of the Node was"): (its_spec_stays,),
    (MarksStay, "the Node has not their"): (their_label_stays, their_annotation_stays),
    (StatusNeverBack, "at the API server a-1 was"): (
        *(a_final_phase_stays, what_runs_is_not_pending_again, it_could_not_be_recorded),
        *(nobody_wanted_it_before_a_sigkill, it_prepares_after_the_power_went),
        *(it_has_not_prepared_yet, its_sandbox_has_ended_once_more, the_pod_is_another),
    ),
    (StatusNeverBack, "at the API server a-1 had 2 restarts of main, now less"): (
        *(restarts_are_counted_up, others_have_touched_the_pod),
    ),
    (StatusNeverBack, "at the API server a-1 shows no address any more"): (
        *(an_address_stays, others_had_put_the_address_there),
    ),
    (GoneAfterEnd, "is deleted while main runs"): (nothing_of_it_runs,),
    (GoneAfterEnd, "is deleted though it is right"): (
        *(the_mirror_is_of_an_old_form, the_mirror_is_being_deleted),
        *(the_mirror_belongs_to_another_node, the_agent_has_just_heard_of_it),
    ),
    (NoSecretTold, "a value of a Secret is seen"): (no_value_is_told, somebody_else_tells_it),
}

"""What people do at the API server, and what goes wrong with it. Nothing, on a node that stands alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from messages.api import FailureKind, Verb
from messages.pods import Pod
from tests.environment.cluster import NODE, CallFault, Cluster
from tests.environment.oracle.cluster import shown_uid
from tests.environment.origins import FromCluster
from tests.simulation.events.event import TOLD_WITHIN, Kinds, World
from tests.simulation.reading import MAYBE, OBJECTS
from tests.simulation.workload import grace_of, may_change, with_grace, with_other_image
from tests.support.builders import make_pod

FAULTS: Final = (
    *((Verb.PATCH, part) for part in ("/pods/", "/events/", "/nodes/")),
    *((Verb.CREATE, part) for part in ("/pods", "/events")),
    *(
        (Verb.DELETE, "/pods/"),
        (Verb.UPDATE, "/leases/"),
        (Verb.GET, "/pods/"),
        (Verb.GET, "/nodes"),
    ),
)
FAILURES: Final = (
    *(FailureKind.TIMEOUT, FailureKind.CONFLICT, FailureKind.THROTTLED, FailureKind.SERVER_ERROR),
    FailureKind.UNREACHABLE,
)
API: Final = "source/api"
WATCHES: Final = "watches"
ELSEWHERE: Final = "node2"
MARKS: Final = {"labels": {"theirs": "1"}, "annotations": {"theirs": "2"}}
CORDONED: Final = {"unschedulable": True, "taints": [{"key": "theirs", "effect": "NoExecute"}]}


def _in(happens: Callable[[World, Cluster], None]) -> Callable[[World], None]:
    def happen(world: World) -> None:
        if world.node.cluster is not None:
            happens(world, world.node.cluster)

    return happen


def _say(world: World, _: Cluster) -> None:
    world.says(*world.random.choice(OBJECTS + MAYBE))


def _unsay(world: World, cluster: Cluster) -> None:
    kind, name = world.random.choice(OBJECTS + MAYBE)
    if cluster.store.has(f"{kind.lower()}s", "default", name):
        cluster.store.remove(f"{kind.lower()}s", "default", name)


def _force(world: World, cluster: Cluster) -> None:
    if name := _bound_one(world):
        world.takes(name)
        if cluster.store.has("pods", "default", name):
            cluster.store.remove("pods", "default", name)
        world.tells()


def _hurry(world: World, cluster: Cluster) -> None:
    """Delete a pod, and once more, with a shorter grace, while it may not have ended."""
    if name := _bound_one(world):
        uid, pods = world.pods[name], world.oracle.wishes.pods
        world.takes(name)
        world.tells()
        world.node.advance(world.random.choice([0.0, 0.3, 2.0]))
        if cluster.store.has("pods", "default", name):
            grace = world.random.choice([1, 2, 5])
            pods[uid] = with_grace(pods[uid], min(grace, grace_of(pods[uid])))
            cluster.store.remove("pods", "default", name, grace=grace)


def _bound_one(world: World) -> str:
    """Return the name of a pod that is bound to the node. Empty if there is none."""
    bound = [name for name, uid in world.pods.items() if uid in world.oracle.wishes.bound]
    return world.random.choice(sorted(bound)) if bound else ""


def _unmirror(world: World, cluster: Cluster) -> None:
    mirrors = [each["metadata"]["name"] for each in cluster.store.pods() if Pod.of(each).is_mirror]
    if mirrors:
        grace = world.random.choice([0, None])
        cluster.store.remove("pods", "default", world.random.choice(mirrors), grace=grace)


def _label_mirror(world: World, cluster: Cluster) -> None:
    """Have a user label a mirror, which stays right."""
    mirrors = [each["metadata"]["name"] for each in cluster.store.pods() if Pod.of(each).is_mirror]
    if mirrors:
        name = world.random.choice(mirrors)
        labels = {"theirs": str(world.random.randrange(9))}
        cluster.store.change("pods", "default", name, metadata={"labels": labels})


def _edit_static(world: World, _: Cluster) -> None:
    """Edit a static pod: its mirror shows the earlier version."""
    statics = [name for name, place in world.places.items() if not isinstance(place, FromCluster)]
    if names := [name for name in sorted(statics) if may_change(world.manifests[name])]:
        name = world.random.choice(names)
        world.brings(name, with_other_image(world.manifests[name]))
        world.tells()


def _unregister(_: World, cluster: Cluster) -> None:
    if cluster.store.has("nodes", NODE):
        cluster.store.remove("nodes", NODE)


def _overwrite(world: World, cluster: Cluster) -> None:
    """Have somebody else write into the status of a pod.

    An agent that begins knows what was shown from there alone.
    """
    pods = {each["metadata"]["name"]: each for each in cluster.store.pods()}
    if pods:
        written = world.random.choice([{"podIP": "192.0.2.9"}, {"containerStatuses": []}])
        name, wishes = world.random.choice([*pods]), world.oracle.wishes
        if world.node.wall - wishes.killed_at < TOLD_WITHIN:
            wishes.touched.add(shown_uid(pods[name]))
        cluster.store.change("pods", "default", name, status=written)


def _take_name(world: World, cluster: Cluster) -> None:
    """Delete a mirror by force, and create a pod of another node under its name."""
    mirrors = [each for each in cluster.store.pods() if Pod.of(each).is_mirror]
    if mirrors:
        name = world.random.choice(mirrors)["metadata"]["name"]
        world.troubles()
        cluster.store.remove("pods", "default", name, grace=0)
        cluster.store.add(make_pod(name, source="", spec={"nodeName": ELSEWHERE}).document)


def free_names(cluster: Cluster) -> None:
    """Delete the pods of other nodes."""
    for each in cluster.store.pods():
        if each["spec"]["nodeName"] == ELSEWHERE:
            cluster.store.remove("pods", "default", each["metadata"]["name"], grace=0)


def _recreate(world: World, cluster: Cluster) -> None:
    """Delete a pod by force, and create one under its name in the same moment."""
    if name := _bound_one(world):
        place, manifest = world.places[name], world.manifests[name]
        world.takes(name)
        if cluster.store.has("pods", "default", name):
            cluster.store.remove("pods", "default", name)
        world.places[name] = place
        world.brings(name, manifest)
        world.tells()


def _refuse_mirrors(world: World, cluster: Cluster) -> None:
    world.troubles()
    cluster.refuses_mirrors = True


def _allow_mirrors(world: World, cluster: Cluster) -> None:
    world.troubles()
    cluster.refuses_mirrors = False


def _expire(_: World, cluster: Cluster) -> None:
    """Have somebody delete the Lease."""
    if cluster.store.has("leases", "kube-node-lease", NODE):
        cluster.store.remove("leases", "kube-node-lease", NODE)


def _mark(_: World, cluster: Cluster) -> None:
    """Have an administrator label, taint and cordon the Node."""
    if cluster.store.has("nodes", NODE):
        cluster.store.change("nodes", NODE, metadata=MARKS, spec=CORDONED)


def _lag(world: World, cluster: Cluster) -> None:
    """Have nothing arrive that changes: as an outage of which the agent does not know."""
    world.troubles()
    world.oracle.wishes.outages.setdefault(WATCHES, world.node.wall)
    cluster.streams.lag()


def _catch_up(world: World, cluster: Cluster) -> None:
    world.troubles()
    cluster.streams.catch_up()
    world.is_told_again(WATCHES)


def _fault(world: World, cluster: Cluster) -> None:
    world.troubles()
    verb, part = world.random.choice(FAULTS)
    failure = world.random.choice(FAILURES)
    has_effect = failure is FailureKind.TIMEOUT and world.random.random() < 0.7
    cluster.calls.faults.append(CallFault(verb, part, failure, has_effect))


def _go_away(world: World, cluster: Cluster) -> None:
    world.troubles()
    world.oracle.wishes.outages.setdefault(API, world.node.wall)
    cluster.go_away()


def _come_back(world: World, cluster: Cluster) -> None:
    world.troubles()
    cluster.come_back()
    world.is_told_again(API)


def _slow_down(world: World, cluster: Cluster) -> None:
    world.troubles()
    cluster.calls.slowness = world.random.choice([0.3, 3.0, 12.0])


def _end_streams(world: World, cluster: Cluster) -> None:
    world.troubles()
    cluster.streams.end()
    if world.random.random() < 0.5:
        cluster.store.compact()
    world.hears_late()


CLUSTER: Final[Kinds] = {
    "an object changes": (4, _in(_say)),
    "an object is deleted": (1, _in(_unsay)),
    "a pod is deleted by force": (2, _in(_force)),
    "a deletion is hurried": (8, _in(_hurry)),
    "a mirror is deleted": (2, _in(_unmirror)),
    "a static pod is edited": (4, _in(_edit_static)),
    "a mirror's name is taken": (2, _in(_take_name)),
    "taken names are free again": (2, _in(lambda _, cluster: free_names(cluster))),
    "a pod is created again": (2, _in(_recreate)),
    "new mirrors are refused": (1, _in(_refuse_mirrors)),
    "new mirrors are allowed": (2, _in(_allow_mirrors)),
    "the Lease is deleted": (1, _in(_expire)),
    "the Node is marked": (1, _in(_mark)),
    "the Node is deleted": (4, _in(_unregister)),
    "a status is overwritten": (2, _in(_overwrite)),
    "a request will fail": (4, _in(_fault)),
    "the API server goes": (2, _in(_go_away)),
    "the API server comes back": (3, _in(_come_back)),
    "the API server is slow": (1, _in(_slow_down)),
    "watches end": (2, _in(_end_streams)),
    "a mirror is labelled": (0, _in(_label_mirror)),
    "watches lag": (0, _in(_lag)),
    "watches catch up": (0, _in(_catch_up)),
}

"""A world that a story makes by hand, with one rule of the oracle in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias

from typing_extensions import override

from messages.pods import Pod
from tests.environment.cluster import NODE as HERE
from tests.environment.machine import Instance
from tests.environment.oracle.rule import Judgements, Rule, Wishes
from tests.environment.outside import Outside
from tests.environment.runtimes.runtime import InThisLife, Runtime
from tests.support.apiserver.history import Change
from tests.support.apiserver.paths import POD, Kind
from tests.support.builders import make_mirror, make_pod

BEGINS_AT: Final = 1000.0
"""The time of a world that begins: long after the last trouble."""
UID: Final = "a-1"
"""Of the pod that stories are about."""
EXEC: Final = {"exec": {"command": ["do"]}}
ONCE: Final = {"successThreshold": 1, "failureThreshold": 1}
"""A probe of which each answer counts."""


class ByHand(Runtime):
    """Runs what a story says, and means by an image what it says."""

    def __init__(self) -> None:
        super().__init__(Outside())
        self.running: dict[str, Instance] = {}
        self.meant: dict[bool, tuple[str, float]] = {}
        """What each image means, and since when, by whether it is pulled anew."""
        self.strangers: dict[str, str] = {}
        self.missing: list[str] = []

    @override
    def edges(self, in_this_life: InThisLife) -> Mapping[str, Any]:
        return {}

    @override
    def live(self) -> Iterator[Instance]:
        yield from self.running.values()

    @override
    def work(self) -> Counter[str]:
        return Counter()

    @override
    def left_over(self, wanted: set[str]) -> Iterator[str]:
        yield from ()

    @override
    def meaning(self, image: str, *, is_pulled: bool) -> tuple[str, float]:
        return self.meant.get(is_pulled, ("", 0.0))

    @override
    def others(self) -> Mapping[str, str]:
        return self.strangers

    @override
    def lost(self) -> Iterator[str]:
        yield from self.missing


class OneRule:
    """The world, and what its rule has said."""

    def __init__(self, rule: type[Rule]) -> None:
        self.now = BEGINS_AT
        self.runtime = ByHand()
        self.wishes = Wishes(now=lambda: self.now)
        self.broken: list[str] = []
        self.judgements = Judgements()
        self.rule = rule(self.wishes, self.runtime, self.broken.append, self.judgements)
        self._made = 0

    def passes(self, seconds: float) -> None:
        """Have time pass."""
        self.now += seconds

    def wants(self, uid: str = UID, *, is_bound: bool = False, **spec: Any) -> Pod:
        """Have a pod wanted, or a new form of it: with a container ``main``, unless the spec has others."""
        spec.setdefault("containers", [container()])
        annotations = spec.pop("annotations", {})
        pod = make_pod(uid.partition("-")[0], uid=uid, spec=spec, annotations=annotations)
        if uid in self.wishes.pods:
            self.wishes.edited_at[uid] = self.now
        if is_bound:
            self.wishes.bound.add(uid)
        self.wishes.pods[pod.uid] = pod
        self.wishes.wanted_since.setdefault(uid, self.now)
        return pod

    def unwants(self, uid: str = UID) -> None:
        """Have nobody want the pod any more."""
        self.wishes.unwanted_at[uid] = self.now

    def starts(self, name: str = "main", uid: str = UID, **about: Any) -> Instance:
        """Have a new instance of a container run."""
        self._made += 1
        one = Instance(
            id=f"id-{self._made}",
            sandbox="s-1",
            uid=uid,
            name=name,
            image="img:1",
            attempt=0,
            started_at=self.now,
            finished_at=0.0,
            exit_code=0,
        )
        one = replace(one, **about)
        self.runtime.running[one.id] = one
        self.wishes.note_start(one)
        self.rule.starts(one)
        return one

    def ends(self, one: Instance, exit_code: int = 0) -> None:
        """Have an instance end."""
        del self.runtime.running[one.id]
        self.rule.ends(replace(one, finished_at=self.now, exit_code=exit_code))

    def ends_all(self) -> None:
        """Have all end that runs."""
        for each in tuple(self.runtime.live()):
            self.ends(each)

    def runs(self, seconds: float, exit_code: int = 0, **about: Any) -> None:
        """Have an instance start, run so long, and end."""
        one = self.starts(**about)
        self.passes(seconds)
        self.ends(one, exit_code)

    def answers(self, one: Instance, what: str, *, is_yes: bool = True) -> None:
        """Have an instance answer one of its probes."""
        self.wishes.note_answer(one, what, is_yes=is_yes)
        self.rule.answers(one, what, is_yes=is_yes)

    def stops(self, one: Instance, grace: float = 30.0) -> None:
        """Have the agent ask for the end of an instance."""
        self.rule.is_asked_to_stop(one, grace)

    def hook_ends(self, one: Instance, field: str, *, is_success: bool = True) -> None:
        """Have a hook of an instance end."""
        self.wishes.note_hook(one, field, is_success=is_success)
        self.rule.hook_ends(one, field, is_success=is_success)

    def kills_agent(self) -> None:
        """Have the agent get a SIGKILL, and the next one begin at once."""
        self.wishes.note_kill(self.now)

    def is_touched(self) -> None:
        """Have others remove something of the pod, some time after what has happened and before what will."""
        self.passes(0.01)
        self.wishes.touched.add(UID)
        self.passes(0.01)

    def shows(self, uid: str = UID, **status: Any) -> None:
        """Have the agent show this status alone, a moment after the last."""
        self.passes(0.1)
        self.rule.shows({uid: status})

    def changes(
        self, kind: Kind, before: Any, after: Any, *, is_agents: bool = True, is_gone: bool = False
    ) -> None:
        """Have the agent, or others, change an object of the API server."""
        self.passes(0.1)
        change = Change(kind=kind, namespace="default", before=before, after=after, is_gone=is_gone)
        self.rule.changes(change, is_agents=is_agents)

    def writes(self, *, over: Mapping[str, Any] | None = None, **status: Any) -> None:
        """Have the agent write the status of the pod, over one that others may have written."""
        pod = {"metadata": {"name": "a", "uid": UID}, "spec": {"nodeName": HERE}}
        self.changes(POD, {**pod, "status": over or {}}, {**pod, "status": status})


class Story(Protocol):
    """What happens in the world of a rule. All is fine or not.

    The name of a story says why all is fine: since the rule is kept, or since something excuses it.
    """

    __name__: str

    def __call__(self, world: OneRule, *, is_fine: bool) -> None:
        """Have it happen."""
        ...


Stories: TypeAlias = Mapping[tuple[type[Rule], str], Sequence[Story]]
"""By rule, and by a part of what it says when it is broken."""


def shown(one: Instance, **about: Any) -> dict[str, Any]:
    """Return how a running instance is shown in a status."""
    state: dict[str, Any] = {"running": {}}
    shows = {"name": one.name, "containerID": one.id, "restartCount": one.attempt}
    return {**shows, "state": state, "ready": True, **about}


def container(name: str = "main", **about: Any) -> dict[str, Any]:
    """Return a container of a spec."""
    return {"name": name, "image": "img:1", **about}


def mirror_of(pod: Pod, **fields: Any) -> Pod:
    """Return the mirror of a static pod at the API server, as it should be."""
    owner = {"kind": "Node", "name": HERE, "uid": "node-uid"}
    return make_mirror(
        pod, metadata={"ownerReferences": [owner]}, spec=pod.document["spec"], **fields
    )

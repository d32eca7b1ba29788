"""The pods of histories: what is drawn of a pod of some kind, and what the machine has its containers do."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agent.edges import Bounds
from kube.calls.actor import CallRules
from messages.pods import Pod
from runtimes.cri.wire import cri_pb2 as cri
from tests.environment.health import ASKED
from tests.environment.machine import NOBODYS, Machine
from tests.environment.node import NodeBounds, Sources
from tests.environment.oracle.hooks import POST_START, PRE_STOP
from tests.environment.oracle.references import containers_of
from tests.environment.runtimes.containers import IMAGES
from tests.simulation.kinds import GOES_ON, HOOKS, IN_CONTAINERS, MAY_CHANGE, few_of
from tests.simulation.probed import probes_of
from tests.simulation.reading import READS
from tests.support.builders import make_pod
from tests.support.cri.fake_machine import Behaviour

NAMES: Final = "abcd"


def sources_of(random_: random.Random) -> Sources:
    """Return where the pods of a node come from: one that stands alone, or is joined to a cluster."""
    is_joined = random_.random() < 0.5
    has_directory = random_.random() < 0.5
    has_url = not has_directory or random_.random() < 0.3
    has_objects = random_.random() < 0.5
    return Sources(has_url, has_directory, cluster=is_joined, objects=has_objects)


ONE_BY_ONE: Final = CallRules(
    qps=20.0, burst=1, event_qps=2.0, event_burst=1, in_flight=2, kept_free=1
)
"""Requests of an agent that is held back as far as may be, with one more for its Lease."""


def bounds_of(random_: random.Random) -> NodeBounds:
    """Return the bounds of an agent: each as it is for people, or as small as may be."""
    return NodeBounds(
        Bounds(
            starts=random_.choice([1, 2, 8]),
            stops=random_.choice([1, 2, 8]),
            pods=random_.choice([1, 2, 64]),
            workers=random_.choice([1, 2, 64]),
        ),
        longest_pause=random_.choice([1.0, 10.0, 25.0, 300.0]),
        looks=random_.choice([1.0, 20.0]),
        calls=random_.choice([CallRules(), ONE_BY_ONE]),
    )


@dataclass(frozen=True, slots=True)
class Workload:
    """The pods that there may be, by what runs them."""

    kinds: Mapping[str, Mapping[str, Any]]
    annotations: Mapping[str, str] = field(default_factory=dict)
    """What pods are annotated with: of containers, if they have those, or of the pod as a whole."""

    def of(self, kinds: Sequence[str]) -> Workload:
        """Return it with some of its kinds alone."""
        return replace(self, kinds={kind: self.kinds[kind] for kind in kinds})

    def focused(self, random_: random.Random) -> Workload:
        """Return it with all of its kinds, or with a few."""
        return self if random_.random() < 0.3 else self.of(few_of(self.kinds, random_))


PLAIN: Final = Workload(IN_CONTAINERS)
"""Of containers, which the machine has behave."""


def behaviours(random_: random.Random) -> dict[str, Behaviour]:
    """Return what containers do, by their names. Times are drawn around the bounds of back-off."""
    return {
        "main": Behaviour(ignores_term=random_.random() < 0.3),
        "hooked": Behaviour(ignores_term=random_.random() < 0.5),
        "commanded": Behaviour(ignores_term=random_.random() < 0.5),
        "beside": Behaviour(run_for=4.0, exit_code=random_.choice([0, 1])),
        "crashing": Behaviour(
            run_for=random_.choice([0.5, 3.0]),
            exit_code=1,
            says_running_for=random_.choice([0.0, 0.06, 0.3]),
        ),
        "aging": Behaviour(run_for=random_.choice([400.0, 590.0, 610.0]), exit_code=1),
        "first": Behaviour(run_for=0.3),
        "second": Behaviour(run_for=2.0),
        "failing": Behaviour(run_for=0.5, exit_code=1),
        "done": Behaviour(run_for=1.0),
        "failed": Behaviour(run_for=1.5, exit_code=3),
    }


def hooks(random_: random.Random) -> dict[str, float]:
    """Return the seconds that the commands of hooks take, by what they are of."""
    return {
        POST_START: random_.choice([0.0, 0.2, 4.0]),
        PRE_STOP: random_.choice([0.0, 0.2, 1.5, 7.0]),
    }


def startups(random_: random.Random) -> dict[str, float]:
    """Return the seconds after which containers have started, by their names."""
    return {"slow": random_.choice([0.5, 3.0, 7.0]), "stuck": math.inf}


def pod_of(
    name: str, uid: str, kind: str, random_: random.Random, workload: Workload = PLAIN
) -> Pod:
    """Return a new pod."""
    made = workload.kinds[kind]
    spec: dict[str, Any] = {
        "restartPolicy": made.get("restartPolicy", "Always"),
        "terminationGracePeriodSeconds": random_.choice([1, 2, 5, 30]),
    }
    for group in ("initContainers", "containers"):
        if group in made:
            spec[group] = [
                _container(each, made.get("pull", "IfNotPresent")) for each in made[group]
            ]
    for sidecar in made.get("sidecars", ()):
        spec.setdefault("initContainers", []).append(
            _container(sidecar) | {"restartPolicy": "Always"}
        )
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        container.update(probes_of(container["name"], made.get("probes", {}), random_))
    if "deadlines" in made:
        spec["activeDeadlineSeconds"] = random_.choice(made["deadlines"])
    if "reads" in made:
        READS[made["reads"]](spec)
    names = [
        each["name"] for group in ("initContainers", "containers") for each in spec.get(group, ())
    ]
    annotations = {
        key: said
        for key, said in {**workload.annotations, **made.get("annotations", {})}.items()
        if "." not in key.rpartition("/")[2] or key.rpartition(".")[2] in names
    }
    return make_pod(
        name, uid=uid, source="http", labels={"kind": kind}, spec=spec, annotations=annotations
    )


def may_change(pod: Pod) -> bool:
    """Return whether the image of the pod may be changed."""
    return pod.document["metadata"]["labels"]["kind"] in MAY_CHANGE


def with_other_image(pod: Pod) -> Pod:
    """Return the pod with the other image in its first container; itself if its kind has to stay."""
    if not may_change(pod):
        return pod
    before = pod.document["spec"]["containers"][0]["image"]
    return with_image(pod, IMAGES[before == IMAGES[0]])


def with_image(pod: Pod, image: str) -> Pod:
    """Return the pod with this image in its first container."""
    document = deepcopy(dict(pod.document))
    document["spec"]["containers"][0]["image"] = image
    return Pod.of(document)


def grace_of(pod: Pod) -> int:
    """Return the seconds that the pod has for its end."""
    return int(pod.document["spec"]["terminationGracePeriodSeconds"])


def with_grace(pod: Pod, seconds: int) -> Pod:
    """Return the pod with another grace."""
    document = deepcopy(dict(pod.document))
    document["spec"]["terminationGracePeriodSeconds"] = seconds
    return Pod.of(document)


def rests(pod: Pod) -> bool:
    """Return whether its containers go on for ever, or have ended for good, after a while.

    Raises ``KeyError`` for a container that is not known. Who has probes or a token is asked, or asks, again.
    """
    spec = pod.document["spec"]
    if "activeDeadlineSeconds" in spec:
        return False
    regular = [GOES_ON[each["name"]] for each in spec["containers"]]
    inits = [GOES_ON[each["name"]] for each in spec.get("initContainers", ())]
    is_asked = any(field in each for each in containers_of(pod) for field in ASKED)
    sources = [
        each
        for volume in spec.get("volumes", ())
        for each in volume.get("projected", {}).get("sources", ())
    ]
    has_token = any("serviceAccountToken" in each for each in sources)
    stays = all(each is None for each in regular) or spec["restartPolicy"] == "Never"
    return stays and all(each is not False for each in inits) and not is_asked and not has_token


def _container(name: str, pull: str = "IfNotPresent") -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": name,
        "image": IMAGES[0],
        "imagePullPolicy": pull,
    }
    return made | ({"lifecycle": HOOKS[name]} if name in HOOKS else {})


def settle_others(machine: Machine) -> None:
    """Put on the machine what is no pod of ours: one that runs, and one whose sandbox no list shows."""
    for name in ("runs", "is-unlisted"):
        metadata = cri.PodSandboxMetadata(name=name, namespace="others", uid=f"{NOBODYS}-{name}")
        sandbox = machine.run_sandbox(cri.PodSandboxConfig(metadata=metadata))
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=name), image=cri.ImageSpec(image=IMAGES[0])
        )
        container = machine.create_container(sandbox, config)
        if name == "runs":
            machine.start_container(container)
        else:
            machine.unlisted.add(sandbox)

"""The seam at which pods are run: what a runtime of pods must do, and what it may rely on.

A runtime of pods is an actor that hears ``PodRuntimeMessage``. Three are here: ``runtimes.containers`` drives
a runtime of containers (``runtimes.hollow`` in memory, or one that speaks the CRI), and ``runtimes.provider``
calls a plain Python class. Whoever wants to run pods as something else writes such a class (see
``docs/writing-a-runtime.md``) or, for full control, an actor that keeps what this page says. The suite
``tests/contracts/test_pod_runtime_contract.py`` runs on every implementation.

**Commands.** ``RunPod``, ``StopPod`` and ``ForgetPod`` say what should be. ``PodObserved`` says what is. Both
are complete and may repeat; no delta is ever needed.

- Each command carries a ``Mark``. Marks of one pod grow, also across crashes of who gives them. A command
  with a smaller mark than the last one is ignored. One with the same mark is the same command again.
- A later command about a pod replaces the earlier one as a whole. Only ``StopPod`` is kept to the end: after
  it no ``RunPod`` of this UID counts until ``ForgetPod`` was carried out.
- ``PodObserved`` goes to the ``reply_to`` of the last command about the pod. It names the greatest mark whose
  effect it includes. At least one is told for each mark, as soon as that is true.
- ``PodObserved`` is told whenever anything in it has changed, as soon as the runtime knows. Several changes
  in quick succession may be told as one; the last state is always told.

**Signals.** ``SignalContainers`` asks for something that is done once, and is answered. It changes nothing of
what should be. A runtime whose containers get no signals says so for each of them in its answer.

**Crashes.** A crash of either side changes nothing about what runs.

- The runtime's commands outlive its own crashes: it gets a memory that each life goes on with (as all actors
  here do). The next life looks at what really runs before it acts, and tells each pod's state once more.
- A command that the runtime crashed over is lost. So each life tells ``PodsObserved`` to everybody who ever
  asked for it, with its number, and all commands are given once more.
- A worker that crashed gives its last command again, with a greater mark, to the same address. The agent
  that was killed does so for every pod that it should run. What runs already and is as it should be goes
  on undisturbed, and is told as it is.
- Pods that run and that nobody commanded are left alone, and are in ``PodsObserved``.

**Not knowing.** A runtime that cannot see (its socket is away, say) tells a ``PodTrouble`` beside its last
knowledge, and neither starts nor stops anything on a guess. ``ListRuntimePods`` waits for its answer then.

**Deadlines.** No command has one: a pod may take minutes to start, and is stopped within the grace of its
``StopPod`` and as long again as the runtime itself needs. No handler of a runtime blocks: what takes time
runs elsewhere, with a deadline, and its result comes back as a message.

**Errors.** A runtime never fails because of a pod. What goes wrong with one pod is a ``ContainerWait`` or a
``PodTrouble`` of that pod, with a sentence for people, and an event; the runtime tries again by itself, with
back-off, for as long as the command stands. A trouble that is ``is_for_good`` ends the pod.

**Values.** ``RunPod`` carries values of Secrets. They never reach a log, an event, an exception text or a
``repr``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from messages.cluster import ClusterServices
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pods import JsonObject, Pod, PodPhase, PodUid
from messages.port import Port
from messages.units import Seconds, Timestamp
from messages.volumes import PodVolume


class Mark(NamedTuple):
    """Orders the commands about one pod, also across crashes of who gives them. The greater is the newer.

    An observation names the greatest mark whose effect it includes. So an observation with a smaller mark
    says nothing about what a command changed.
    """

    incarnation: int
    """Which life of the pod's worker gave the command."""
    number: int
    """Counts the commands of that life."""


NO_MARK = Mark(-1, 0)
"""Smaller than the mark of every command: what is observed of a pod that nobody commanded yet."""


# What is observed.


class ContainerState(StrEnum):
    """The state of one container, as the CRI names them."""

    CREATED = "created"
    """It is there, and never ran. One with a reason cannot be started any more: its start was given up."""
    RUNNING = "running"
    EXITED = "exited"
    UNKNOWN = "unknown"
    """The runtime has lost track of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopTerms:
    """What is written at a container about its end, for when nobody has its pod's specification any more."""

    grace: Seconds | None = None
    """The pod's, if it was written."""
    pre_stop: JsonObject | None = field(default=None, hash=False, repr=False)
    """The handler of its hook, as in a specification. Headers may be confidential."""
    ports: tuple[JsonObject, ...] = field(default=(), hash=False)
    """Those by whose names the hook may say where it goes."""
    sidecar: int | None = None
    """Its place among the pod's init containers, if it is a sidecar: these end last, in reverse order."""


class UsedObject(NamedTuple):
    """A Secret or a ConfigMap of the pod's namespace that variables of a container were made from."""

    kind: ObjectKind
    name: str
    version: str
    """Its ``resourceVersion`` then. Empty if it was not there, and did not have to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerObserved:
    """One instance of a container."""

    id: str
    """With the name of the runtime: ``containerd://3f2a...``."""
    name: str
    """The name in the pod's specification. Unique among all containers of a pod, of whatever kind."""
    attempt: int
    """How many instances of this container there were before: the restart count."""
    state: ContainerState
    image: str = ""
    """The image as the specification names it."""
    image_id: str = ""
    """The image as the runtime identifies it, with its digest."""
    spec_hash: str = ""
    """Hash of the part of the specification that it was created from. Another one demands another
    instance."""
    is_foreign: bool = False
    """Another node agent created it, a kubelet: its hash may be one that nobody else can compute."""
    created_at: Timestamp | None = None
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    exit_code: int | None = None
    """Set once it exited. 128 + n if signal n ended it."""
    reason: str = ""
    """Why it is as it is, in one word: ``Completed``, ``Error``, ``OOMKilled``, ``StartError``, ..."""
    message: str = ""
    """For people, of at most 4 kB: the termination message."""
    resources: JsonObject | None = field(default=None, hash=False)
    """``resources`` of the specification that it was created with, or was given since. None from a runtime
    that cannot tell: a change while the agent is away is then not seen."""
    stop_terms: StopTerms | None = None
    """None from a runtime that writes nothing down."""
    variables_from: tuple[UsedObject, ...] = ()
    """What its variables were made from. Empty from a runtime that writes nothing down."""
    is_ready: bool = True
    """False while the runtime itself knows that it cannot serve yet. Probes decide in addition."""
    is_reason_open: bool = False
    """It was killed, and the runtime has not said yet whether that was for memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerWait:
    """Why a container does not run, or not yet."""

    reason: str
    """One word of the kubelet's: ``ContainerCreating``, ``PodInitializing``, ``CrashLoopBackOff``,
    ``ErrImagePull``, ``ImagePullBackOff``, ``CreateContainerConfigError``, ..."""
    message: str = ""
    """For people. Never contains values of Secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerHistory:
    """All that matters of one container of the specification."""

    name: str
    current: ContainerObserved | None = None
    """The newest instance; None before the first one."""
    last: ContainerObserved | None = None
    """The newest instance before ``current`` that exited: ``lastState``."""
    wait: ContainerWait | None = None
    """Why no instance runs. None while one does, after the last one has exited for good, and while the next
    one is made at once because the restart policy says so. Without a wait, whoever reads the policy must not
    take a container for ended that is being replaced in spite of it: by another image, say."""


class SandboxState(StrEnum):
    """The state of a pod's sandbox."""

    READY = "ready"
    NOT_READY = "not_ready"
    """It was stopped, or it died. Nothing can be started in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxObserved:
    """The newest sandbox of a pod: what its containers share, above all the network."""

    id: str
    attempt: int
    state: SandboxState
    created_at: Timestamp
    ips: tuple[str, ...] = ()
    """The pod's addresses, the first one of the primary family. Empty for the node's own network. Once it is
    stopped they are those that it had (rule G5)."""
    content_digest: str = ""
    """That of the manifest of a static pod when it was made; empty from a runtime that cannot tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTrouble:
    """What keeps a pod as a whole from being as it was commanded. A level: it is told while it lasts."""

    reason: str
    """One word in CamelCase: ``FailedCreatePodSandBox``, ``RuntimeIsAway``, ``ResizeRefused``, ..."""
    message: str
    is_for_good: bool = False
    """The pod can never run here, whoever tries again. It fails with this reason and this message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodObserved:
    """All that the runtime knows of one pod. Complete, pushed, repeatable.

    Told to the port of the last command about the pod, whenever what it says has changed, and once for
    each command. Never told on a guess: while the runtime cannot be asked, nothing is told but a
    ``trouble`` beside the last knowledge.
    """

    uid: PodUid
    mark: Mark
    """The greatest mark of a command whose effect it includes. A ``RunPod`` has its effect once it is
    obeyed from here on, a ``StopPod`` once no container runs any more and the sandbox is stopped."""
    sandbox: SandboxObserved | None = None
    containers: Mapping[str, ContainerHistory] = field(default_factory=dict)
    """By name, for each container of the specification that the runtime knows something of."""
    from_earlier: frozenset[str] = frozenset()
    """Names of the containers whose newest instance is in an earlier sandbox than ``sandbox``."""
    troubles: tuple[PodTrouble, ...] = ()
    pulling: Seconds = Seconds(0.0)
    """From when the first of its images began to be pulled until the last one was there."""
    phase: PodPhase | None = None
    """Set by runtimes that know a phase and no containers. Otherwise the phase follows from containers."""

    @property
    def is_running(self) -> bool:
        """Whether anything of it lives: a container, or a ready sandbox."""
        return (self.sandbox is not None and self.sandbox.state is SandboxState.READY) or any(
            history.current is not None and history.current.state is ContainerState.RUNNING
            for history in self.containers.values()
        )


# Commands.

OBJECT_CHANGED: Final = "ObjectChanged"
"""The reason of an end, and of what people are told, where a Secret or a ConfigMap changed."""


class ProbeVerdict(NamedTuple):
    """What the probes of one container say. Probes that there are none of say what pods without them get."""

    is_alive: bool = True
    """False demands that the container is killed and, by its restart policy, started again."""
    is_started: bool = True
    is_ready: bool = True
    container_id: str = ""
    """The instance that it is about; empty for whichever there is. It says nothing of another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPod:
    """Make this pod run as its specification says, from now on, until ``StopPod``.

    Level-triggered: it may repeat, with the same mark or with a greater one, and then replaces the earlier
    command as a whole. A command with a smaller mark than the last one about this pod is ignored. So is
    every ``RunPod`` after a ``StopPod``, until ``ForgetPod`` was carried out: what is being stopped never
    starts again under this UID.
    """

    pod: Pod
    mark: Mark
    reply_to: Port[PodObserved]
    """Who is told what becomes of it. An address that outlives crashes."""
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    """The Secrets and ConfigMaps that its containers' environments need, and the Secrets that its images are
    pulled with, as far as they exist."""
    unread: Mapping[ObjectId, str] = field(default_factory=dict)
    """Why others of them cannot be read at present, for people. Nobody knows whether they exist, so no
    container is created without them, even where they are optional."""
    services: ClusterServices = ()
    """What its containers are told of Services. Empty where the runtime has no use for it."""
    is_running: bool = False
    """It is shown as Running, be it that an agent before saw it run."""
    verdicts: Mapping[str, ProbeVerdict] = field(default_factory=dict)
    """By name of the container. A container that is missing has no probes."""
    volumes: Mapping[str, PodVolume] = field(default_factory=dict)
    """By name: what containers mount. Empty where nobody makes volumes."""
    first_digests: Mapping[str, str] = field(default_factory=dict)
    """By name, of a static pod whose UID its user has fixed: the digests of its containers when this agent
    first saw it. An instance that does not tell what it was made of counts as made of that. The same in each
    command."""
    outdated: frozenset[str] = frozenset()
    """Ids of instances that are to be stopped and started again, whatever the restart policy says and without
    a back-off: what they use has changed. They end with the reason ``ObjectChanged``, and show it as long as
    they are named. Only what runs by then or was named while it ran is replaced by another instance: regular
    containers and sidecars. Ids of instances that are gone mean nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPod:
    """Stop all containers of a pod, within ``grace``, and then its sandbox. Nothing of it starts any more.

    May repeat; a later one with a shorter grace shortens what is under way, and a longer one changes
    nothing. Also for a pod that the runtime alone knows. A pod that it does not know is stopped already.
    """

    uid: PodUid
    mark: Mark
    reply_to: Port[PodObserved]
    grace: Seconds
    """From now on. Containers that still run then are killed."""
    pod: Pod | None = None
    """Its newest version: the runtime may never have been told to run it, if an earlier process was. None if
    nobody has its specification."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPod:
    """Remove all that is left of a stopped pod: containers, sandboxes, logs.

    Its ``PodObserved`` has neither sandbox nor containers. A pod that still runs is stopped first, as by
    ``StopPod`` with the shortest grace. May repeat. After it the UID may be run again.
    """

    uid: PodUid
    mark: Mark
    reply_to: Port[PodObserved]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalContainers:
    """Send a signal to the main process of instances of a pod's containers.

    Answered by one ``ContainersSignalled``. If the runtime crashes over it there may be none: who asked asks
    again, so a signal is sent at least once, and may be sent twice.
    """

    uid: PodUid
    signal: str
    """Such as ``SIGHUP``."""
    instances: Mapping[str, str]
    """Ids of instances, by name of the container. Another instance of the name gets no signal."""
    reply_to: Port[ContainersSignalled]
    ref: Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainersSignalled:
    """Answers one ``SignalContainers``: each instance has got the signal, but for those that failed."""

    uid: PodUid
    ref: Hashable
    failures: Mapping[str, str] = field(default_factory=dict)
    """Why an instance did not get it, for people, by name of the container: it had ended by then, say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimePod:
    """A pod that the runtime has something of."""

    uid: PodUid
    namespace: str
    name: str
    source: str
    """Value of ``kubernetes.io/config.source`` when it was started; empty if that is not known."""
    is_running: bool
    started_at: Timestamp | None = None
    """When its first sandbox was made."""
    running_containers: int = 0
    is_foreign: bool = False
    """It is a static pod that another node agent started, a kubelet: its UID is none of this agent's."""
    instances: tuple[ContainerObserved, ...] = ()
    """The newest one of each container, of a pod that is foreign."""
    grace: Seconds | None = None
    """What its containers say that it has to stop; None if they say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRuntimePods:
    """Asks what pods the runtime has. Answered by one ``PodsObserved``, as soon as that is known.

    While the runtime is away there is no answer: an empty one would say that nothing runs. Each later life
    of the runtime tells it again, unasked: a command may have been lost with the life before.
    """

    reply_to: Port[PodsObserved]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsObserved:
    """All pods that the runtime has something of, commanded or not."""

    pods: tuple[RuntimePod, ...]
    life: int = 0
    """Which life of the runtime tells it. Commands that were given to an earlier one have to be repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeRuntime:
    """Asks how the runtime is. Answered by one ``RuntimeDescribed``."""

    reply_to: Port[RuntimeDescribed]


RUNTIME_SAYS: Final = "RuntimeSays"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeNode:
    """What a runtime says of the Node. What is empty is as it is on this machine."""

    capacity: Mapping[str, str] = field(default_factory=dict)
    """Quantities by resource."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[JsonObject, ...] = ()
    """With which the Node is created, unless the configuration names others."""
    has_own_machines: bool = False
    """Its pods use neither the storage nor the huge pages of this machine: the Node has what is told."""
    addresses: tuple[str, ...] = ()
    """IP addresses, the most important one first."""
    troubles: Mapping[str, str] = field(default_factory=dict)
    """By type of the Node's condition that is bad because of it: ``Ready``, ``MemoryPressure``, ..."""
    trouble_reason: str = RUNTIME_SAYS
    """The reason of these conditions, in one word."""
    version: str | None = None
    """``containerd://1.6.20``; empty while it is not known. None if the agent itself is the runtime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeDescribed:
    """How the runtime is, for health, metrics and the Node."""

    name: str
    """``hollow``, ``containerd``, ... or the class that was named."""
    version: str = ""
    trouble: str = ""
    """Why it cannot be used at present, for people; empty if it can."""
    pods: tuple[RuntimePod, ...] = ()
    containers: Mapping[ContainerState, int] = field(default_factory=dict)
    """How many there are in each state."""
    starts: Mapping[str, int] = field(default_factory=dict)
    """Attempts to start a container since the process began, by its type: ``container``, ``init_container``
    or ``ephemeral_container``."""
    start_errors: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Of these, those that failed, by type and reason."""
    sandbox_errors: int = 0
    """Failed attempts to make a sandbox."""
    node: RuntimeNode | None = None
    """None while it says nothing of the Node."""


PodRuntimeMessage: TypeAlias = (
    RunPod | StopPod | ForgetPod | SignalContainers | ListRuntimePods | DescribeRuntime
)
"""What a runtime of pods hears from others."""

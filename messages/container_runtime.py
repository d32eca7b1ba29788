"""The seam below pods: what a runtime of containers hears and tells. Shaped as the CRI, and internal.

A runtime of containers is an actor that hears ``ContainerRuntimeMessage``. It knows sandboxes, containers and
images, and nothing of restart policies, back-offs or orders: ``runtimes.containers`` decides those.

- ``CallRuntime`` is answered exactly once, by a ``RuntimeAnswered`` with the same ``ref``, within its
  deadline or a little later. No request is sent while another one changes the same thing. A runtime that
  crashed answers UNCERTAIN to each call that it had begun and cannot go on with. Only the message that was
  lost in the crash itself has no answer: who made the call gives it up a while after its deadline.
- ``LookAtPod`` is how certainty comes back: it is answered when no other request about the pod is in
  progress any more. So what it shows includes whatever became of every call that was made before it.
- ``FollowContainers`` subscribes to what changes. First comes a complete ``ContainersAre``; so it does each
  time that changes may have been missed (a new connection, say). After it ``PodContainersAre`` for each pod
  of which anything changed, complete for this pod.
- What a request changed is in its answer already, and need not be told again to a follower. A fact that is
  told after an answer includes what that answer says.
- ``RuntimeIsAway`` says that nothing can be seen. It ends with the next ``ContainersAre``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from messages.cluster import ClusterServices
from messages.objects import ObjectId, ObjectValue
from messages.pod_runtime import ContainerObserved, DescribeRuntime, SandboxObserved
from messages.pods import JsonObject, Pod, PodUid
from messages.port import Port
from messages.units import Seconds, Timestamp
from messages.volumes import PodVolume

NEVER_RAN: Final = frozenset({"ContainerCannotRun", "StartError"})
"""Reasons of containers whose program never began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodIdentity:
    """Whose a sandbox is, as its labels say."""

    uid: PodUid
    namespace: str
    name: str
    source: str
    """Value of ``kubernetes.io/config.source``."""
    is_foreign: bool = False
    """It is a static pod that another node agent started, a kubelet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxContents:
    """One sandbox, with all its containers that were not removed."""

    pod: PodIdentity
    sandbox: SandboxObserved
    containers: tuple[ContainerObserved, ...]


# Requests.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSandbox:
    """Make and start a sandbox. Answered by the ``SandboxObserved``."""

    pod: Pod
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSandbox:
    """Stop a sandbox; what still runs in it is killed. May repeat; an unknown one is stopped."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveSandbox:
    """Remove a sandbox and all its containers. May repeat; an unknown one is removed."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAtPod:
    """Asks what there is of a pod, as soon as no other request about it is in progress.

    Answered by its ``PodContainersAre``.
    """

    uid: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class FindImage:
    """Asks whether an image is there, and the pod may have it. Answered by its ``ImageFound``."""

    image: str
    pod: Pod
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    """Where its pull secrets are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullImage:
    """Pull an image. Answered by its ``ImageFound``."""

    image: str
    pod: Pod
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    """Where its pull secrets are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateContainer:
    """Create a container in a sandbox. Answered by the ``ContainerObserved``."""

    pod: Pod
    container: JsonObject = field(repr=False)
    """The container of the pod's specification. Its environment may be confidential."""
    sandbox: SandboxObserved
    attempt: int
    spec_hash: str
    image_id: str
    """As it was found. Empty where nobody asked: see ``ContainersAre.assumes_images``."""
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    services: ClusterServices = ()
    """What its variables tell of Services."""
    volumes: Mapping[str, PodVolume] = field(default_factory=dict)
    """By name: the volumes that the pod has on the node."""
    volume_images: Mapping[str, str] = field(default_factory=dict)
    """By name: the volumes that are images, with the ids of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartContainer:
    """Start a container that was created. Answered by the ``ContainerObserved``, which may have exited."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopContainer:
    """Stop a container: SIGTERM, and SIGKILL after ``grace``.

    Answered by the ``ContainerObserved``, or by None if there is no such container. A second one with a
    shorter grace shortens the first one's.
    """

    id: str
    grace: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveContainer:
    """Remove a container; a running one is killed. May repeat; an unknown one is removed."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeContainer:
    """Give a running container other limits. Answered by the ``ContainerObserved``, or refused."""

    pod: Pod
    id: str
    resources: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenLog:
    """Have a running container's log written to a new file under its name: the old one was renamed.

    Answered by None. Refused for a container that does not run.
    """

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalContainer:
    """Send a signal to the main process of a running container. No other process ever gets it.

    Answered by None once it was sent. NOT_FOUND if the container does not run any more.
    """

    id: str
    signal: str
    """Such as ``SIGHUP``."""


RuntimeRequest: TypeAlias = (
    RunSandbox
    | StopSandbox
    | RemoveSandbox
    | LookAtPod
    | FindImage
    | PullImage
    | CreateContainer
    | StartContainer
    | StopContainer
    | RemoveContainer
    | ResizeContainer
    | ReopenLog
    | SignalContainer
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFound:
    """An image, or that it is not there."""

    image_id: str
    """Empty if it is not there, or if the pod has to show that it may have it, by pulling it."""
    size: int = 0
    """In bytes."""
    is_withheld: bool = False
    """It is there, and the pod has to show that it may have it."""
    pulled_in: Seconds | None = None
    """How long its pull took, without waiting for its turn. None from a runtime that does not tell."""


class RuntimeFailureKind(StrEnum):
    """What went wrong with a request, as far as it changes what to do next."""

    REFUSED = "refused"
    """The runtime said no. It may say yes another time."""
    UNSUPPORTED = "unsupported"
    """The runtime cannot do that, whoever asks again."""
    NOT_FOUND = "not_found"
    IMAGE_MISSING = "image_missing"
    """A container cannot be created, since its image is not there. It is to be pulled first."""
    IMAGE_PULL = "image_pull"
    """The image could not be pulled."""
    CONFIG = "config"
    """The container's configuration cannot be used: ``CreateContainerConfigError``."""
    UNCERTAIN = "uncertain"
    """No answer in time, or the connection broke: the request may have had its effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeFailure:
    """Why a request was not carried out."""

    kind: RuntimeFailureKind
    message: str
    """For people, one line. Never contains values of Secrets."""
    reason: str = ""
    """A word of the kubelet's, if the runtime has one: ``InvalidImageName``, ``RegistryUnavailable``, ..."""
    is_away: bool = False
    """Nobody could be asked. That is said of the runtime, and not of each pod."""


# What is told.


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainersAre:
    """Everything that the runtime has."""

    sandboxes: tuple[SandboxContents, ...]
    name: str = ""
    """Of the runtime: ``containerd``, ``hollow``, ..."""
    version: str = ""
    assumes_images: bool = False
    """Images need not be asked for nor pulled before a container is created, as long as its creation does
    not fail with IMAGE_MISSING. After that they are found and pulled. An image that is pulled always is."""
    mounts_images: bool = False
    """Volumes that are images can be mounted, once these are there. Else their images are not pulled, and
    containers with such a volume are refused."""
    network_trouble: str = ""
    """Why no sandbox with a network of its own can be made at present; empty if that is possible. Whenever it
    changes, everything is told once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodContainersAre:
    """Everything that the runtime has of one pod; its sandboxes with the newest first."""

    uid: PodUid
    sandboxes: tuple[SandboxContents, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeIsAway:
    """The runtime cannot be asked. What was told last stands, and nothing is known to have changed."""

    message: str


RuntimeOutcome: TypeAlias = (
    SandboxObserved | ContainerObserved | ImageFound | PodContainersAre | RuntimeFailure | None
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeAnswered:
    """Answers one ``CallRuntime``."""

    ref: Hashable
    outcome: RuntimeOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRuntime:
    """Carries one request to the runtime."""

    request: RuntimeRequest
    reply_to: Port[RuntimeAnswered]
    ref: Hashable
    deadline: Seconds = Seconds(240.0)
    """Minutes for what changes something: a start that is cut off can never be completed."""


RuntimeFact: TypeAlias = ContainersAre | PodContainersAre | RuntimeIsAway


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowContainers:
    """Subscribes to every ``RuntimeFact``. Outlives crashes on both sides; may repeat."""

    subscriber: Port[RuntimeFact]


# Questions: what is asked of a container that runs. None of them changes anything.


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecInContainer:
    """Run a command in a running container. Answered by its ``ExecEnded``."""

    id: str
    command: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadContainerLog:
    """Asks for the log of a container. Answered by its ``ContainerLog``."""

    id: str
    since: Timestamp | None = None
    """Lines from that moment on; None for all."""
    tail: int | None = None
    """So many of the last lines; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """Which streams of a process somebody wants to have."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenExec:
    """Begin a command in a running container, which somebody talks to. Answered by its ``StreamPlace``."""

    id: str
    command: tuple[str, ...] = field(repr=False)
    streams: Streams


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAttach:
    """Talk to the main process of a running container. Answered by its ``StreamPlace``."""

    id: str
    streams: Streams


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPortForward:
    """Reach ports of a running pod. Answered by its ``StreamPlace``."""

    uid: PodUid
    ports: tuple[int, ...] = ()
    """Empty if whoever connects names them in the stream."""


OpenStream: TypeAlias = OpenExec | OpenAttach | OpenPortForward
ContainerQuestion: TypeAlias = (
    ExecInContainer | ReadContainerLog | OpenExec | OpenAttach | OpenPortForward
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecEnded:
    """How a command in a container ended."""

    exit_code: int
    output: str = field(default="", repr=False)
    """What it wrote to its standard output."""
    note: str = ""
    """What people should know of it, beside that: one line, or empty."""


class LogLine(NamedTuple):
    """One line of a log."""

    at: Timestamp
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLog:
    """The log of one container, the oldest line first."""

    lines: tuple[LogLine, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlace:
    """Where the runtime gives a stream: once, and to whoever knows the address."""

    url: str = field(repr=False)


ContainerAnswer: TypeAlias = ExecEnded | ContainerLog | StreamPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerAnswered:
    """Answers one ``AskContainer``."""

    ref: Hashable
    answer: ContainerAnswer | RuntimeFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class AskContainer:
    """Carries one question. Answered once, as ``CallRuntime`` is."""

    question: ContainerQuestion
    reply_to: Port[ContainerAnswered]
    ref: Hashable
    deadline: Seconds = Seconds(30.0)
    """A command that still runs then is killed, and the answer is a failure."""


ContainerRuntimeMessage: TypeAlias = CallRuntime | AskContainer | FollowContainers | DescribeRuntime

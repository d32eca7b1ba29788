"""Every reason of an event that the agent posts: about what it is, and when it is posted.

Reasons are a kubelet's where it has the same. Other programs look for them, so none is renamed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from messages.events import EventType

NORMAL: Final = EventType.NORMAL
WARNING: Final = EventType.WARNING
ANY_RESOURCE: Final = "OutOf"
"""What the reasons begin with that end with the name of a resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReason:
    """One reason."""

    name: str
    """One word in CamelCase, for programs."""
    when: str
    """What has happened, for people."""
    types: tuple[EventType, ...] = (WARNING,)
    about: str = "Pod"
    """The kind of object that such an event is about; a container is a part of its Pod."""


def _normal(name: str, when: str) -> EventReason:
    return EventReason(name=name, when=when, types=(NORMAL,))


def _warning(name: str, when: str, about: str = "Pod") -> EventReason:
    return EventReason(name=name, when=when, about=about)


def _both(name: str, when: str) -> EventReason:
    return EventReason(name=name, when=when, types=(NORMAL, WARNING))


EVENT_REASONS: Final = (
    # What becomes of containers.
    _normal("Pulling", "an image is being pulled"),
    _normal("Pulled", "an image was pulled, or was there already"),
    _normal("Created", "a container was made"),
    _normal("Started", "a container was started"),
    _normal("Killing", "a container is being stopped"),
    _normal("SandboxChanged", "the sandbox of a pod is made anew"),
    _both("BackOff", "a container, or the pull of its image, waits after failures"),
    _warning("Failed", "an image could not be pulled, or a container not be made or started"),
    _warning(
        "InspectFailed",
        "the name of an image is wrong, or the runtime cannot say whether it is there",
    ),
    _warning("ErrImageNeverPull", "an image is not there, and may not be pulled"),
    _warning("FailedCreatePodSandBox", "no sandbox could be made"),
    _warning("FailedKillPod", "a container or a sandbox could not be stopped or removed"),
    _warning("FailedPostStartHook", "a postStart hook failed"),
    _warning("FailedPreStopHook", "a preStop hook failed"),
    _warning(
        "LifecycleHTTPFallback",
        "a hook that wants HTTPS was called by HTTP, which is what answers there",
    ),
    _warning("NetworkNotReady", "pods cannot have networks of their own"),
    _warning("FailedSync", "a call to a runtime that is a Python class failed"),
    _warning("WrongStatus", "a runtime that is a Python class reports what cannot be"),
    _warning("NotSupported", "a runtime that is a Python class cannot do what a pod demands"),
    _warning("ContainerStatusUnknown", "nobody knows what became of a container"),
    # What a pod cannot have.
    _warning("AppArmor", "a pod demands a profile that the node does not have"),
    _warning("SysctlForbidden", "a pod demands a sysctl that is not allowed"),
    _warning("InvalidPort", "a container demands a port that there cannot be"),
    _warning("MissingClusterDNS", "a pod wants the cluster's name servers, and none are known"),
    _warning("DNSConfigForming", "name servers or search domains of a pod are more than can be"),
    _warning("InvalidEnvironmentVariableNames", "variables are left out for their names"),
    _warning("CgroupTrouble", "the cgroup of a pod is not as it should be"),
    # Admission, and what follows it.
    _warning("OutOf*", "a pod does not fit: `OutOfcpu`, `OutOfpods`, `OutOfexample.com/gpu`"),
    _warning("NodeAffinity", "a pod does not want this node"),
    _warning("NodeName", "a pod is for another node"),
    _warning("NodePorts", "a port of the node is taken"),
    _warning("TaintToleration", "a pod does not tolerate a taint of the node"),
    _warning(
        "PodOSSelectorNodeLabelDoesNotMatch",
        "a pod is for another operating system, by its selector",
    ),
    _warning("PodOSNotSupported", "a pod is for another operating system"),
    _warning("TooManyContainers", "a pod has more containers than can be looked after"),
    _warning("Preempting", "a pod makes room for a critical one"),
    _warning("ResizeDeferred", "a resize has to wait: the node is too full"),
    _warning("ResizeInfeasible", "a resize can never be"),
    _normal("DeadlineExceeded", "a pod was active for longer than its deadline"),
    # Probes.
    _warning("Unhealthy", "a probe failed"),
    _warning("ProbeWarning", "a probe succeeded with a warning"),
    _warning("ProbesLate", "commands of probes wait for their turn", "Node"),
    # Volumes, Secrets and ConfigMaps.
    _warning("FailedMount", "a volume cannot be made, or the object that it shows cannot be had"),
    _warning("FailedUnmount", "volumes of a pod that has ended cannot be taken away"),
    _warning(
        "EditUnknown",
        "a container does not tell whether it was made before an edit of its manifest",
    ),
    _warning("UnsupportedVolume", "a volume is of a kind that is not supported"),
    _warning("FailedToRetrieveImagePullSecret", "a Secret for pulls cannot be had"),
    _normal("ReferenceResolved", "an object can be used again"),
    _normal("ReferenceChanged", "an object changed while the agent was not running"),
    _normal("ObjectChanged", "a change of an object is acted upon: a signal, or a restart"),
    _warning(
        "ObjectNotShown",
        "a change is not in the files of a container in time, so it gets no signal",
    ),
    _warning("FailedSignal", "a container could not be sent a signal"),
    _warning("FailedRestart", "a container could not be started again"),
    _warning(
        "RolloutTakesTooLong",
        "a container of a rollout group is not ready in time, and the next one goes on",
    ),
    # What the API server, and the node as a whole, have to do with it.
    _warning("FailedStatusUpdate", "the API server refuses the status of a pod"),
    _warning("FailedMirrorPod", "there is no right mirror of a static pod", "Node"),
    _warning("FailedToListServices", "containers start without the variables of Services", "Node"),
    _warning("ImageGCFailed", "images could not be looked through several times", "Node"),
    _warning("FreeDiskSpaceFailed", "removing images does not free as much as it should", "Node"),
    _warning("InvalidDiskCapacity", "the size of the disk of images is not known", "Node"),
)
"""All of them, by subject."""

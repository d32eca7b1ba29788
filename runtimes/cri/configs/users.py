"""Users and groups that a container's processes have. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from manifests.places import MAX_ID
from messages.pods import JsonObject, Pod
from runtimes.cri.configs.documents import effective, security_of, spec_of
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.refusals import ConfigRefusedError, not_now
from runtimes.cri.wire import cri_pb2 as cri

_AnyContext: TypeAlias = cri.LinuxSandboxSecurityContext | cri.LinuxContainerSecurityContext

STRICT = "Strict"


@dataclass(frozen=True, slots=True)
class ImageUser:
    """The user that an image names for its processes: by number, or by name."""

    uid: int | None = None
    name: str = ""


ROOT_USER = ImageUser(0)


def image_user(image: cri.Image) -> ImageUser:
    """Return the user of ``image``: root, if it names none."""
    if image.HasField("uid"):
        return ImageUser(image.uid.value)
    return ImageUser(None, image.username) if image.username else ROOT_USER


def set_user(
    context: cri.LinuxContainerSecurityContext, pod: Pod, container: JsonObject, user: ImageUser
) -> None:
    """Set user and group of a container. Refuses root where the pod does."""
    uid, group = effective(pod, container, "runAsUser"), effective(pod, container, "runAsGroup")
    if effective(pod, container, "runAsNonRoot"):
        _refuse_root(uid, user, f'(pod: "{_told(pod)}", container: {container.get("name")})')
    if uid is not None:
        context.run_as_user.value = plain_id(uid, "runAsUser")
    elif user.uid is not None:
        context.run_as_user.value = user.uid
    else:
        context.run_as_username = user.name
    if group is not None:
        context.run_as_group.value = plain_id(group, "runAsGroup")


def plain_id(given: object, field: str) -> int:
    """Return the id of a user or a group that ``field`` of a security context has, or refuse it."""
    if isinstance(given, int) and 0 <= given <= MAX_ID:
        return given
    raise ConfigRefusedError(f"securityContext.{field} should be a number from 0 to {MAX_ID}")


def pod_groups(pod: Pod) -> tuple[int, ...]:
    """Return the groups that all of a pod's processes have besides their own."""
    given = security_of(spec_of(pod))
    told = given.get("supplementalGroups") or ()
    groups = tuple(plain_id(each, "supplementalGroups") for each in told)
    of_files = given.get("fsGroup")
    return groups if of_files is None else (plain_id(of_files, "fsGroup"), *groups)


def set_group_policy(context: _AnyContext, pod: Pod, node: CriNode) -> None:
    """Set whether the groups that the image's ``/etc/group`` gives a user count too."""
    if security_of(spec_of(pod)).get("supplementalGroupsPolicy") != STRICT:
        return
    if not node.runtime.supplemental_groups_policy:
        raise not_now(
            "the container runtime does not know supplementalGroupsPolicy: Strict, and would give "
            "processes the groups of the image too"
        )
    context.supplemental_groups_policy = cri.Strict


def _refuse_root(uid: int | None, user: ImageUser, whose: str) -> None:
    if uid is not None:
        if uid == 0:
            raise ConfigRefusedError(f"container's runAsUser breaks non-root policy {whose}")
    elif user.uid == 0:
        raise ConfigRefusedError(f"container has runAsNonRoot and image will run as root {whose}")
    elif user.uid is None and user.name:
        raise ConfigRefusedError(
            f"container has runAsNonRoot and image has non-numeric user ({user.name}), cannot "
            f"verify user is non-root {whose}"
        )


def _told(pod: Pod) -> str:
    return f"{pod.name}_{pod.namespace}({pod.uid})"

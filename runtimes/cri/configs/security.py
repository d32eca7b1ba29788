"""The security context of a container: capabilities, users, groups and profiles. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from manifests.findings import MAX_ID
from manifests.names import relative_path
from messages.pods import JsonObject, Pod
from runtimes.cri.configs.documents import (
    ConfigRefusedError,
    all_containers,
    effective,
    never_possible,
    not_now,
    security_of,
    spec_of,
)
from runtimes.cri.configs.node import CriNode
from runtimes.cri.wire import cri_pb2 as cri

MASKED_PATHS: Final = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
)
"""What containers cannot read of the node, unless ``procMount`` is Unmasked."""
READONLY_PATHS: Final = (
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
)
UNMASKED: Final = "Unmasked"
_PREFIX: Final = "CAP_"

_AnyContext: TypeAlias = cri.LinuxSandboxSecurityContext | cri.LinuxContainerSecurityContext

STRICT = "Strict"

APPARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
"""And the container's name: how profiles were named before there was a field. Seccomp's are not read any
more, by kubelets since 1.27."""
RUNTIME_DEFAULT, UNCONFINED, LOCALHOST = "RuntimeDefault", "Unconfined", "Localhost"


def container_security(
    pod: Pod,
    container: JsonObject,
    user: ImageUser,
    node: CriNode,
    namespaces: cri.NamespaceOption,
) -> cri.LinuxContainerSecurityContext:
    """Return the security context of a container."""
    own = security_of(container)
    is_masked = own.get("procMount") != UNMASKED
    context = cri.LinuxContainerSecurityContext(
        capabilities=_capabilities(own.get("capabilities") or {}),
        privileged=bool(own.get("privileged")),
        namespace_options=namespaces,
        selinux_options=selinux_options(effective(pod, container, "seLinuxOptions")),
        readonly_rootfs=bool(own.get("readOnlyRootFilesystem")),
        supplemental_groups=pod_groups(pod),
        no_new_privs=own.get("allowPrivilegeEscalation") is False,
        masked_paths=MASKED_PATHS if is_masked else (),
        readonly_paths=READONLY_PATHS if is_masked else (),
        seccomp=seccomp_profile(pod, container, node),
    )
    set_user(context, pod, container, user)
    set_group_policy(context, pod, node)
    if (profile := apparmor_profile(pod, container)) is not None:
        context.apparmor.CopyFrom(profile)
        context.apparmor_profile = old_apparmor_name(profile)
    return context


def demand_linux(pod: Pod) -> None:
    """Refuse, for good, a pod with security options of Windows."""
    spec = spec_of(pod)
    for holder in (spec, *all_containers(spec)):
        if security_of(holder).get("windowsOptions"):
            text = "securityContext.windowsOptions cannot be obeyed: this node runs Linux"
            raise never_possible(text, "PodOSNotSupported")


def _capabilities(given: JsonObject) -> cri.Capability | None:
    if not given.get("add") and not given.get("drop"):
        return None
    return cri.Capability(
        add_capabilities=[_capability(name) for name in given.get("add") or ()],
        drop_capabilities=[_capability(name) for name in given.get("drop") or ()],
    )


def _capability(name: str) -> str:
    """Return a capability as every runtime knows it: containerd puts the prefix before each name."""
    return name.upper().removeprefix(_PREFIX)


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


def seccomp_profile(pod: Pod, container: JsonObject, node: CriNode) -> cri.SecurityProfile:
    """Return what filters a container's system calls."""
    given = effective(pod, container, "seccompProfile")
    if given is None:
        kind = cri.RuntimeDefault if node.seccomp_default else cri.Unconfined
        return cri.SecurityProfile(profile_type=kind)
    match given.get("type"):
        case "RuntimeDefault":
            return cri.SecurityProfile(profile_type=cri.RuntimeDefault)
        case "Unconfined":
            return cri.SecurityProfile(profile_type=cri.Unconfined)
        case "Localhost":
            name = given.get("localhostProfile") or ""
            if complaint := relative_path(name) if name else "must be set for the type Localhost":
                raise ConfigRefusedError(f"seccompProfile.localhostProfile {complaint}")
            return cri.SecurityProfile(
                profile_type=cri.Localhost, localhost_ref=f"{node.root_dir}/seccomp/{name}"
            )
        case other:
            raise ConfigRefusedError(f"seccompProfile.type {other!r} is not known")


def apparmor_profile(pod: Pod, container: JsonObject) -> cri.SecurityProfile | None:
    """Return the AppArmor profile of a container; None if neither pod nor container names one.

    The container's own field counts before the annotation, and that before the pod's field.
    """
    given = security_of(container).get("appArmorProfile")
    if given is None:
        given = _by_annotation(pod, container.get("name") or "")
    if given is None:
        given = security_of(spec_of(pod)).get("appArmorProfile")
    if given is None:
        return None
    match given.get("type"):
        case "RuntimeDefault":
            return cri.SecurityProfile(profile_type=cri.RuntimeDefault)
        case "Unconfined":
            return cri.SecurityProfile(profile_type=cri.Unconfined)
        case "Localhost" if name := (given.get("localhostProfile") or "").strip():
            return cri.SecurityProfile(profile_type=cri.Localhost, localhost_ref=name)
        case "Localhost":
            raise ConfigRefusedError(
                "appArmorProfile.localhostProfile must be set for the type Localhost"
            )
        case other:
            raise ConfigRefusedError(f"appArmorProfile.type {other!r} is not known")


def old_apparmor_name(profile: cri.SecurityProfile) -> str:
    """Return the profile as runtimes before 2021 are told it."""
    if profile.profile_type == cri.Localhost:
        return f"localhost/{profile.localhost_ref}"
    return "unconfined" if profile.profile_type == cri.Unconfined else "runtime/default"


def demand_apparmor(pod: Pod, node: CriNode) -> None:
    """Refuse a pod that needs AppArmor, for good, where the node has none."""
    if not node.has_apparmor and any(_confined(pod)):
        text = "Cannot enforce AppArmor: AppArmor is not enabled on the host"
        raise never_possible(text, "AppArmor")


def _confined(pod: Pod) -> Iterator[bool]:
    for container in all_containers(spec_of(pod)):
        profile = apparmor_profile(pod, container)
        yield profile is not None and profile.profile_type != cri.Unconfined


def _by_annotation(pod: Pod, container: str) -> JsonObject | None:
    value = pod.annotations.get(f"{APPARMOR_ANNOTATION}{container}")
    match value:
        case None | "":
            return None
        case "runtime/default":
            return {"type": RUNTIME_DEFAULT}
        case "unconfined":
            return {"type": UNCONFINED}
        case _ if value.startswith("localhost/"):
            return {"type": LOCALHOST, "localhostProfile": value.removeprefix("localhost/")}
        case _:
            raise ConfigRefusedError(
                f"annotation {APPARMOR_ANNOTATION}{container} names no profile"
            )


def selinux_options(given: JsonObject | None) -> cri.SELinuxOption | None:
    """Return the label's parts as ``seLinuxOptions`` gives them; None where it gives none."""
    if not given:
        return None
    return cri.SELinuxOption(
        user=given.get("user") or "",
        role=given.get("role") or "",
        type=given.get("type") or "",
        level=given.get("level") or "",
    )

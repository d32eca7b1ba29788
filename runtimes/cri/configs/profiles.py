"""The seccomp and AppArmor profiles of containers. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from manifests.names import relative_path
from messages.pods import JsonObject, Pod
from runtimes.cri.configs.documents import all_containers, effective, security_of, spec_of
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.refusals import ConfigRefusedError, never_possible
from runtimes.cri.wire import cri_pb2 as cri

APPARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
"""And the container's name: how profiles were named before there was a field. Seccomp's are not read any
more, by kubelets since 1.27."""
RUNTIME_DEFAULT, UNCONFINED, LOCALHOST = "RuntimeDefault", "Unconfined", "Localhost"


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
    """Return the AppArmor profile of a container; None where nobody names one.

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

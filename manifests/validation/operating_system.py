"""Fields that a pod for one operating system must not have, since they are for another one."""

from __future__ import annotations

from manifests.places import Place

_LINUX_POD_CONTEXT = (
    "appArmorProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "sysctls",
)
_LINUX_CONTAINER_CONTEXT = (
    "allowPrivilegeEscalation",
    "appArmorProfile",
    "capabilities",
    "privileged",
    "procMount",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
)
_LINUX_SPEC = ("hostIPC", "hostPID", "hostUsers", "shareProcessNamespace")


def validate_os(spec: Place) -> None:
    """Tell which fields do not fit ``spec.os``, if that is set."""
    system = spec.child("os")
    if system is None:
        return
    if system.required("name"):
        system.one_of("name", ("linux", "windows"))
    windows = system.get("name") == "windows"
    if windows:
        _refuse(spec, _LINUX_SPEC, "windows")
    _refuse_foreign(spec, _LINUX_POD_CONTEXT, windows=windows)
    for name in ("containers", "initContainers"):
        for container in spec.each(name):
            _refuse_foreign(container, _LINUX_CONTAINER_CONTEXT, windows=windows)


def _refuse_foreign(holder: Place, linux_only: tuple[str, ...], *, windows: bool) -> None:
    context = holder.child("securityContext")
    if context is None:
        return
    if windows:
        _refuse(context, linux_only, "windows")
    else:
        _refuse(context, ("windowsOptions",), "linux")


def _refuse(place: Place, names: tuple[str, ...], system: str) -> None:
    for name in names:
        if place.has(name):
            place.wrong(f"cannot be set when os.name is {system}", name)

"""What the API server would refuse in security contexts, of the pod and of its containers."""

from __future__ import annotations

import re

from manifests.findings import MAX_ID, Place, told_twice
from manifests.names import relative_path

_SYSCTL = re.compile(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")
_SYSCTL_LEN = 253
_PROFILE_TYPES = ("RuntimeDefault", "Unconfined", "Localhost")
_SYS_ADMIN = ("SYS_ADMIN", "CAP_SYS_ADMIN")
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def validate_pod_security(spec: Place) -> None:
    """Tell what is wrong with the security context of a pod."""
    context = Place(spec.get("securityContext"), (*spec.path, "securityContext"), spec.findings)
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        context.within(name, 0, MAX_ID)
    for index, group in enumerate(context.get("supplementalGroups", ())):
        if not 0 <= group <= MAX_ID:
            context.wrong(f"must be between 0 and {MAX_ID}", "supplementalGroups", index)
    context.one_of("fsGroupChangePolicy", ("OnRootMismatch", "Always"))
    context.one_of("supplementalGroupsPolicy", ("Merge", "Strict"))
    context.one_of("seLinuxChangePolicy", ("MountOption", "Recursive"))
    _validate_profiles(context)
    _validate_host_process(context)
    _validate_sysctls(context, spec)


def validate_container_security(context: Place, spec: Place) -> None:
    """Tell what is wrong with the security context of a container of ``spec``."""
    for name in ("runAsUser", "runAsGroup"):
        context.within(name, 0, MAX_ID)
    context.one_of("procMount", ("Default", "Unmasked"))
    if context.get("procMount") == "Unmasked" and spec.get("hostUsers", True):
        context.wrong("can be Unmasked only with hostUsers: false", "procMount")
    _validate_profiles(context)
    _validate_host_process(context)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            text = "cannot be false for a privileged container"
            context.wrong(text, "allowPrivilegeEscalation")
        added = context.get("capabilities", {}).get("add", ())
        # API servers know the capability by this spelling only, which not every runtime knows.
        if "CAP_SYS_ADMIN" in added:
            text = "cannot be false with the capability CAP_SYS_ADMIN"
            context.wrong(text, "allowPrivilegeEscalation")
        elif any(name.upper() in _SYS_ADMIN for name in added):
            text = "holds little back beside the capability SYS_ADMIN"
            context.warn(text, "allowPrivilegeEscalation")


def _validate_profiles(context: Place) -> None:
    for name in ("seccompProfile", "appArmorProfile"):
        profile = context.child(name)
        if profile is None:
            continue
        if profile.required("type"):
            profile.one_of("type", _PROFILE_TYPES)
        local = profile.get("type") == "Localhost"
        if local and profile.required("localhostProfile") and name == "seccompProfile":
            profile.obeys("localhostProfile", relative_path)
        if not local and profile.has("localhostProfile"):
            profile.wrong("can be set only for the type Localhost", "localhostProfile")


def _validate_host_process(context: Place) -> None:
    windows = context.child("windowsOptions")
    if windows is None:
        return
    for name in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"):
        if windows.get(name) == "":
            windows.wrong("must not be empty", name)


def _validate_sysctls(context: Place, spec: Place) -> None:
    sysctls = list(context.each("sysctls"))
    for sysctl in sysctls:
        if not sysctl.required("name"):
            continue
        name: str = sysctl.get("name")
        if len(name) > _SYSCTL_LEN or not _SYSCTL.fullmatch(name):
            sysctl.wrong("must be the name of a kernel parameter, as net.core.somaxconn", "name")
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            sysctl.wrong("cannot be set on the host's network", "name")
        if spec.get("hostIPC") and dotted.startswith(_IPC_SYSCTLS):
            sysctl.wrong("cannot be set with hostIPC", "name")
    told_twice(sysctls, "name", "is set more than once")

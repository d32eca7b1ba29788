"""Rule S15: security contexts and operating systems."""

from __future__ import annotations

from tests.support.manifests.validation.rows import C, Refused, Taken

BAD: list[Refused] = [
    (f"{C}.securityContext.runAsUser", -1, "must be between 0 and 2147483647"),
    (f"{C}.securityContext.procMount", "None", "procMount"),
    (f"{C}.securityContext.procMount", "Unmasked", "only with hostUsers: false"),
    (f"{C}.securityContext.seccompProfile", {}, "seccompProfile.type (line 1): is required"),
    (f"{C}.securityContext.seccompProfile", {"type": "Mine"}, "must be one of RuntimeDefault,"),
    (f"{C}.securityContext.seccompProfile", {"type": "Localhost"}, "localhostProfile"),
    (
        f"{C}.securityContext.seccompProfile",
        {"type": "Localhost", "localhostProfile": "/a"},
        "must be a relative path",
    ),
    (
        f"{C}.securityContext.appArmorProfile",
        {"type": "Unconfined", "localhostProfile": "a"},
        "can be set only for the type Localhost",
    ),
    (
        f"{C}.securityContext",
        {"privileged": True, "allowPrivilegeEscalation": False},
        "cannot be false for a privileged container",
    ),
    (
        f"{C}.securityContext",
        {"capabilities": {"add": ["CAP_SYS_ADMIN"]}, "allowPrivilegeEscalation": False},
        "cannot be false with the capability CAP_SYS_ADMIN",
    ),
    (f"{C}.securityContext.windowsOptions", {"runAsUserName": ""}, "must not be empty"),
    ("spec.securityContext.fsGroup", -1, "spec.securityContext.fsGroup"),
    ("spec.securityContext.supplementalGroups", [1, -1], "supplementalGroups[1]"),
    ("spec.securityContext.supplementalGroupsPolicy", "Join", "supplementalGroupsPolicy"),
    ("spec.securityContext.seLinuxChangePolicy", "Never", "seLinuxChangePolicy"),
    ("spec.securityContext.seccompProfile", {}, "spec.securityContext.seccompProfile.type"),
    ("spec.securityContext.windowsOptions", {"runAsUserName": ""}, "must not be empty"),
    ("spec.securityContext.fsGroupChangePolicy", "Never", "fsGroupChangePolicy"),
    ("spec.securityContext.sysctls", [{"value": "1"}], "sysctls[0].name (line 1): is required"),
    ("spec.securityContext.sysctls", [{"name": "A"}], "must be the name of a kernel parameter"),
    ("spec.securityContext.sysctls", [{"name": "a.b"}] * 2, "is set more than once"),
    ("spec.os", {}, "spec.os.name (line 1): is required"),
    ("spec.os", {"name": "plan9"}, "must be one of linux, windows"),
]

FINE: list[Taken] = [
    (f"{C}.securityContext.seccompProfile", {"type": "Localhost", "localhostProfile": "a/b.json"}),
    (f"{C}.securityContext.appArmorProfile", {"type": "Localhost", "localhostProfile": "/a"}),
    (
        f"{C}.securityContext",
        {"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False},
    ),
    (f"{C}.securityContext.windowsOptions", {"hostProcess": True}),
    ("spec.securityContext.sysctls", [{"name": "net.ipv4/a-b_c", "value": "1"}]),
    ("spec.os", {"name": "linux"}),
]

DOUBTFUL: list[Refused] = [
    *(
        (
            f"{C}.securityContext",
            {"capabilities": {"add": [name]}, "allowPrivilegeEscalation": False},
            "securityContext.allowPrivilegeEscalation (line 1): holds little back beside",
        )
        for name in ("SYS_ADMIN", "cap_sys_admin")
    ),
]

"""Rule S15: containers and their ports."""

from __future__ import annotations

from tests.support.manifests.validation.rows import CONTAINER, HTTP, C, Refused, Taken

BAD: list[Refused] = [
    ("spec.containers", [], "spec.containers (line 1): is required"),
    ("spec.ephemeralContainers", [CONTAINER], "spec.ephemeralContainers[0]"),
    (f"{C}.name", "", "spec.containers[0].name (line 1): is required"),
    (f"{C}.name", "a.b", "spec.containers[0].name (line 1): must be a DNS label"),
    (f"{C}.image", None, "spec.containers[0].image (line 1): is required"),
    (f"{C}.image", " server", "must not begin or end with a space"),
    (f"{C}.imagePullPolicy", "Often", "must be one of Always, Never, IfNotPresent"),
    (f"{C}.terminationMessagePolicy", "Logs", "terminationMessagePolicy"),
    (f"{C}.restartPolicy", "Maybe", "spec.containers[0].restartPolicy"),
    (f"{C}.restartPolicyRules", [{"action": "Restart"}], "needs a restartPolicy beside it"),
    (f"{C}.restartPolicyRules", [{"action": "Stop"}], "restartPolicyRules[0].action"),
    (f"{C}.restartPolicyRules", [{}] * 21, "must be no more than 20"),
    (
        f"{C}.restartPolicyRules",
        [{"action": "Restart", "exitCodes": {"operator": "Is", "values": [1]}}],
        "must be one of In, NotIn",
    ),
    ("spec.containers", [CONTAINER, CONTAINER], "[1].name (line 1): is the name of more than one"),
    ("spec.initContainers", [CONTAINER], "spec.initContainers[0].name (line 1): is the name of"),
    ("spec.initContainers", [{"name": "a"}], "spec.initContainers[0].image"),
    (
        "spec.initContainers",
        [CONTAINER | {"name": "a", "readinessProbe": HTTP}],
        "init containers have this only with restartPolicy: Always",
    ),
    (
        "spec.initContainers",
        [CONTAINER | {"name": "a", "lifecycle": {"preStop": HTTP}}],
        "spec.initContainers[0].lifecycle",
    ),
    (
        "spec.initContainers",
        [
            CONTAINER
            | {"name": "a", "ports": [{"containerPort": n, "hostPort": 9} for n in (1, 2)]},
        ],
        "spec.initContainers[0].ports[1].hostPort (line 1): is taken by another",
    ),
    (
        f"{C}.restartPolicyRules",
        [{"action": "Restart", "exitCodes": {"operator": "In"}}],
        "restartPolicyRules[0].exitCodes.values (line 1): is required",
    ),
    (f"{C}.ports", [{}], "spec.containers[0].ports[0].containerPort (line 1): is required"),
    (f"{C}.ports", [{"containerPort": 0}], "must be between 1 and 65535, not 0"),
    (f"{C}.ports", [{"containerPort": 65536}], "must be between 1 and 65535, not 65536"),
    (f"{C}.ports", [{"containerPort": 1, "hostPort": -1}], "ports[0].hostPort"),
    (f"{C}.ports", [{"containerPort": 1, "protocol": "tcp"}], "must be one of TCP, UDP, SCTP"),
    (f"{C}.ports", [{"containerPort": 1, "name": "HTTP"}], "ports[0].name"),
    (f"{C}.ports", [{"containerPort": 1, "name": "80"}], "with at least one letter"),
    (f"{C}.ports", [{"containerPort": 1, "name": "a--b"}], "ports[0].name"),
    (f"{C}.ports", [{"containerPort": 1, "name": "a" * 16}], "no longer than 15 characters"),
    (f"{C}.ports", [{"containerPort": n, "name": "a"} for n in (1, 2)], "more than one port"),
    (f"{C}.ports", [{"containerPort": n, "hostPort": 9} for n in (1, 2)], "is taken by another"),
]

FINE: list[Taken] = [
    (f"{C}.ports", [{"containerPort": 65535, "name": "a-1", "hostIP": "::"}]),
    (f"{C}.ports", [{"containerPort": 53, "hostPort": 53, "protocol": p} for p in ("TCP", "UDP")]),
    (
        "spec.initContainers",
        [CONTAINER | {"name": "a", "restartPolicy": "Always", "readinessProbe": HTTP}],
    ),
]

DOUBTFUL: list[Refused] = [
    *(
        (
            f"{C}.ports",
            [{"containerPort": 1, "hostIP": address}],
            "ports[0].hostIP (line 1): is no IP address",
        )
        for address in ("a", "::1%lo")
    ),
]

"""Rule S15: environment variables."""

from __future__ import annotations

from tests.support.manifests.validation.rows import C, Refused, Taken

BAD: list[Refused] = [
    (f"{C}.env", [{"value": "a"}], "spec.containers[0].env[0].name (line 1): is required"),
    (f"{C}.env", [{"name": "A=B"}], "must consist of printable ASCII characters other than '='"),
    (f"{C}.env", [{"name": "Ä"}], "env[0].name"),
    (f"{C}.env", [{"name": "A", "valueFrom": {}}], "one of fieldRef, resourceFieldRef,"),
    (
        f"{C}.env",
        [{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "env[0].valueFrom (line 1): cannot stand beside value",
    ),
    (
        f"{C}.env",
        [{"name": "A", "valueFrom": {"fieldRef": {}, "secretKeyRef": {"key": "a"}}}],
        "secretKeyRef (line 1): cannot stand beside fieldRef",
    ),
    *(
        (f"{C}.env", [{"name": "A", "valueFrom": source}], sentence)
        for source, sentence in [
            ({"fieldRef": {}}, "fieldRef.fieldPath (line 1): is required"),
            ({"fieldRef": {"fieldPath": "spec.hostname"}}, "must be one of metadata.name"),
            ({"fieldRef": {"fieldPath": "metadata.labels"}}, "fieldRef.fieldPath"),
            ({"fieldRef": {"fieldPath": "metadata.labels['a b']"}}, "the key must consist"),
            (
                {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}},
                "fieldRef.apiVersion (line 1): must be v1",
            ),
            ({"resourceFieldRef": {}}, "resourceFieldRef.resource (line 1): is required"),
            ({"resourceFieldRef": {"resource": "limits.gold"}}, "must be a limit or request"),
            (
                {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1Ki"}},
                "resourceFieldRef.divisor (line 1): must be 1 or a unit that fits",
            ),
            ({"secretKeyRef": {"name": "a"}}, "secretKeyRef.key (line 1): is required"),
            ({"secretKeyRef": {"name": "A", "key": "a"}}, "secretKeyRef.name (line 1): must be a"),
            ({"fileKeyRef": {"path": "a", "volumeName": "scratch"}}, "fileKeyRef.key (line 1)"),
            (
                {"fileKeyRef": {"key": "A", "path": "a", "volumeName": "x"}},
                "must be the name of a volume that is an emptyDir",
            ),
            ({"configMapKeyRef": {"key": "a/b"}}, "configMapKeyRef.key"),
            ({"configMapKeyRef": {"key": "..a"}}, "nor begin with '..'"),
            ({"fileKeyRef": {"key": "A", "path": "a"}}, "fileKeyRef.volumeName"),
            (
                {"fileKeyRef": {"key": "A", "path": "../a", "volumeName": "x"}},
                "fileKeyRef.path (line 1): must not contain '..'",
            ),
        ]
    ),
    (f"{C}.envFrom", [{}], "one of configMapRef, secretRef is required"),
    (f"{C}.envFrom", [{"secretRef": {}}], "envFrom[0].secretRef.name (line 1): is required"),
    (f"{C}.envFrom", [{"secretRef": {"name": "A"}}], "envFrom[0].secretRef.name"),
    (f"{C}.envFrom", [{"prefix": "=", "secretRef": {"name": "a"}}], "envFrom[0].prefix"),
]

FINE: list[Taken] = [
    (f"{C}.env", [{"name": "my.own-Name 1", "value": ""}]),
    (
        f"{C}.env",
        [
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}
            for path in (
                "spec.host",
                "status.podIPs",
                "metadata.labels['a/b']",
                "metadata.annotations['A.b/c']",
            )
        ],
    ),
    (
        f"{C}.env",
        [
            {"name": "A", "valueFrom": {"resourceFieldRef": reference}}
            for reference in (
                {"resource": "limits.cpu", "divisor": "1m"},
                {"resource": "requests.memory", "divisor": "1Mi", "containerName": "server"},
                {"resource": "limits.hugepages-2Mi"},
            )
        ],
    ),
    (
        f"{C}.env",
        [
            {
                "name": "A",
                "valueFrom": {"fileKeyRef": {"key": "A", "path": "a", "volumeName": "scratch"}},
            }
        ],
    ),
]

DOUBTFUL: list[Refused] = [
    *(
        (
            f"{C}.env",
            [
                {
                    "name": "A",
                    "valueFrom": {
                        "resourceFieldRef": {"resource": "limits.cpu", "containerName": name},
                    },
                },
            ],
            "resourceFieldRef.containerName (line 1): is the name of no container of the pod",
        )
        for name in ("A", "client")
    ),
]

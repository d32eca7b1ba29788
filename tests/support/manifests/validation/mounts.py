"""Rule S15: mounts and devices."""

from __future__ import annotations

from tests.support.manifests.validation.rows import C, Refused, Taken, rows

BAD: list[Refused] = [
    (f"{C}.volumeMounts", [{"mountPath": "/a"}], "volumeMounts[0].name (line 1): is required"),
    (f"{C}.volumeMounts", [{"name": "scratch"}], "volumeMounts[0].mountPath"),
    (f"{C}.volumeMounts", [{"name": "x", "mountPath": "/a"}], "must be the name of one of spec.v"),
    (
        f"{C}.volumeMounts",
        [{"name": "scratch", "mountPath": "/a"}] * 2,
        "volumeMounts[1].mountPath (line 1): is mounted more than once",
    ),
    *(
        (f"{C}.volumeMounts", [{"name": "scratch", "mountPath": "/a"} | more], sentence)
        for more, sentence in rows(
            [
                ({"subPath": "/b"}, "subPath (line 1): must be a relative path"),
                ({"subPath": "b/../c"}, "must not contain '..'"),
                ({"subPathExpr": "../c"}, "must not contain '..'"),
                ({"subPath": "b", "subPathExpr": "c"}, "subPathExpr (line 1): cannot stand beside"),
                ({"mountPropagation": "Both"}, "mountPropagation"),
                ({"mountPropagation": "Bidirectional"}, "only in a privileged container"),
                ({"recursiveReadOnly": "Yes"}, "recursiveReadOnly"),
                ({"recursiveReadOnly": "Enabled"}, "needs readOnly: true"),
                (
                    {
                        "recursiveReadOnly": "Enabled",
                        "readOnly": True,
                        "mountPropagation": "HostToContainer",
                    },
                    "cannot be set with a mountPropagation",
                ),
            ]
        )
    ),
    (f"{C}.volumeDevices", [{"name": "scratch"}], "volumeDevices[0].devicePath"),
    (f"{C}.volumeDevices", [{"name": "scratch", "devicePath": "/d"}], "a persistent volume claim"),
    (f"{C}.volumeDevices", [{"name": "x", "devicePath": "/../d"}], "must not contain '..'"),
    (f"{C}.volumeDevices", [{"name": "x", "devicePath": "/d"}], "the name of one of spec.volumes"),
    (
        f"{C}.volumeDevices",
        [{"name": name, "devicePath": "/d"} for name in "ab"],
        "volumeDevices[1].devicePath (line 1): is the path of more than one device",
    ),
    (
        f"{C}.volumeDevices",
        [{"name": "a", "devicePath": path} for path in ("/d", "/e")],
        "volumeDevices[1].name (line 1): is the volume of more than one device",
    ),
]

FINE: list[Taken] = [
    (
        f"{C}.volumeMounts",
        [{"name": "scratch", "mountPath": p, "subPath": "a"} for p in ("/a", "/b")],
    ),
    (
        f"{C}.volumeMounts",
        [{"name": "scratch", "mountPath": "/a", "readOnly": True, "recursiveReadOnly": "Enabled"}],
    ),
]

DOUBTFUL: list[Refused] = []

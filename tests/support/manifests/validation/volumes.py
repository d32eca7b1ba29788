"""Rule S15: volumes."""

from __future__ import annotations

from typing import Any

from tests.support.manifests.validation.rows import Refused, Taken, maps, rows

CLIENT_LIMIT: dict[str, Any] = {
    "items": [
        {
            "path": "a",
            "resourceFieldRef": {"resource": "limits.cpu", "containerName": "client"},
        },
    ],
}
"""Tells of a container that the pod does not have."""
ISCSI: dict[str, Any] = {"targetPortal": "a", "iqn": "iqn.2001-04.com.example:disk1", "lun": 0}
ISCSI_NAMES = (
    "iqn.2001-04.com.example:storage.disk2:a/b^c",
    "iqn.1999-99.-:(ü)",
    "eui.02004567A425678D",
    "naa.62004567BA64678D0123456789ABCDEF",
)
NO_ISCSI_NAMES = (
    "b",
    "iqn.b",
    "IQN.2001-04.com.example:disk1",
    "iqn.2001-4.com.example:disk1",
    "iqn.2001-04.com.example",
    "iqn.2001-04.com.example:",
    "iqn.2001-04.com_example:disk1",
    *(f"iqn.2001-04.com.example:disk{sign}1" for sign in " ,;&|*$\n"),
    "eui.02004567A425678",
    "naa.52004567BA64678D",
)

BAD: list[Refused] = [
    ("spec.volumes", [{"emptyDir": {}}], "spec.volumes[0].name (line 1): is required"),
    ("spec.volumes", [{"name": "_INVALID_"}], "spec.volumes[0].name (line 1): must be a DNS label"),
    ("spec.volumes", [{"name": "a"}, {"name": "a"}], "is the name of more than one volume"),
    *(
        ("spec.volumes", [{"name": "a", **volume}], sentence)
        for volume, sentence in rows(
            [
                ({"emptyDir": {}, "hostPath": {"path": "/a"}}, "cannot stand beside emptyDir"),
                (
                    {"hostpath": {"path": "/a"}},
                    "no kind of volume: unknown field, did you mean hostPath",
                ),
                ({"hostPath": {}}, "hostPath.path (line 1): is required"),
                ({"hostPath": {"path": "/a/../b"}}, "must not contain '..'"),
                ({"hostPath": {"path": "/a", "type": "Dir"}}, "hostPath.type"),
                ({"emptyDir": {"sizeLimit": "-1"}}, "must not be negative"),
                ({"secret": {}}, "secret.secretName (line 1): is required"),
                (
                    {"secret": {"secretName": "a", "defaultMode": 512}},
                    "must be a file mode between",
                ),
                ({"secret": {"secretName": "a", "items": [{}]}}, "secret.items[0].key"),
                (
                    {"secret": {"secretName": "a", "items": [{"key": "a", "path": "/b"}]}},
                    "items[0].path (line 1): must be a relative path",
                ),
                (
                    {"secret": {"secretName": "a", "items": [{"key": "a", "path": "..b"}]}},
                    "must not begin with '..'",
                ),
                ({"configMap": {}}, "configMap.name (line 1): is required"),
                ({"nfs": {"server": "a", "path": "b"}}, "must be an absolute path"),
                ({"nfs": {"path": "/b"}}, "nfs.server"),
                *(
                    (
                        {"iscsi": ISCSI | {"iqn": name}},
                        "iscsi.iqn (line 1): must be an iSCSI name",
                    )
                    for name in NO_ISCSI_NAMES
                ),
                ({"iscsi": ISCSI | {"iqn": ""}}, "iscsi.iqn (line 1): is required"),
                ({"iscsi": ISCSI | {"initiatorName": "b"}}, "iscsi.initiatorName (line 1): must"),
                ({"iscsi": ISCSI | {"initiatorName": ""}}, "iscsi.initiatorName (line 1): must be"),
                ({"iscsi": ISCSI | {"lun": 256}}, "must be between 0 and 255"),
                (
                    {"iscsi": ISCSI | {"chapAuthSession": True}},
                    "iscsi.secretRef (line 1): is required",
                ),
                ({"fc": {"targetWWNs": ["a"]}}, "fc.lun (line 1): is required"),
                ({"fc": {}}, "one of targetWWNs, wwids is required"),
                ({"flocker": {}}, "one of datasetName, datasetUUID is required"),
                ({"gitRepo": {"repository": "a", "directory": "../b"}}, "gitRepo.directory"),
                ({"image": {}}, "image.reference (line 1): is required"),
                ({"image": {"reference": "a", "pullPolicy": "b"}}, "image.pullPolicy"),
                ({"persistentVolumeClaim": {}}, "persistentVolumeClaim.claimName (line 1): is req"),
                ({"azureDisk": {"diskName": "a", "diskURI": "b", "kind": "c"}}, "azureDisk.kind"),
                ({"ephemeral": {}}, "ephemeral.volumeClaimTemplate (line 1): is required"),
                (
                    {"ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "a"}}}},
                    "Template.spec",
                ),
                ({"downwardAPI": {"items": [{"path": "a"}]}}, "one of fieldRef, resourceFieldRef"),
                *(
                    (
                        {
                            "downwardAPI": {
                                "items": [{"path": "a", "fieldRef": {"fieldPath": name}}]
                            }
                        },
                        "must be one of metadata.annotations",
                    )
                    for name in ("spec.a", "spec.host")
                ),
                (
                    {
                        "downwardAPI": {
                            "items": [
                                {"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}
                            ],
                        },
                    },
                    "resourceFieldRef.containerName (line 1): is required",
                ),
                (
                    {
                        "secret": {
                            "secretName": "a",
                            "items": [{"key": "a", "path": "b", "mode": -1}],
                        }
                    },
                    "secret.items[0].mode (line 1): must be a file mode",
                ),
                (
                    {"downwardAPI": {"items": [{"mode": 512}]}},
                    "downwardAPI.items[0].path (line 1): is",
                ),
                (
                    {"downwardAPI": {"items": [{"path": "a", "mode": 512}]}},
                    "downwardAPI.items[0].mode (line 1): must be a file mode",
                ),
                (
                    {"downwardAPI": {"defaultMode": 512}},
                    "downwardAPI.defaultMode (line 1): must be a",
                ),
                (
                    {"projected": {"defaultMode": 512}},
                    "projected.defaultMode (line 1): must be a file",
                ),
                (
                    {
                        "projected": {
                            "sources": [{"configMap": {"name": "a", "items": [{"path": "a"}]}}]
                        }
                    },
                    "configMap.items[0].key (line 1): is required",
                ),
                (
                    {"projected": {"sources": [{"downwardAPI": {"items": [{"path": "a"}]}}]}},
                    "downwardAPI.items[0] (line 1): one of fieldRef, resourceFieldRef is required",
                ),
                (
                    {"projected": {"sources": [{"serviceAccountToken": {}}]}},
                    "serviceAccountToken.path (line 1): is required",
                ),
                (
                    {"projected": {"sources": [{"clusterTrustBundle": {"name": "a"}}]}},
                    "clusterTrustBundle.path (line 1): is required",
                ),
                (
                    {
                        "projected": {
                            "sources": [
                                {
                                    "clusterTrustBundle": {
                                        "path": "a",
                                        "signerName": "a",
                                        "labelSelector": {"matchLabels": {"a": "b c"}},
                                    },
                                },
                            ],
                        },
                    },
                    "clusterTrustBundle.labelSelector.matchLabels.a",
                ),
                *(
                    (
                        {
                            "projected": {
                                "sources": [
                                    {"podCertificate": {"signerName": "a", "keyType": "b", **more}},
                                ],
                            },
                        },
                        sentence,
                    )
                    for more, sentence in rows(
                        [
                            ({"maxExpirationSeconds": 5}, "must be between 3600 and 7862400"),
                            (
                                {"keyPath": "/a"},
                                "podCertificate.keyPath (line 1): must be a relative",
                            ),
                        ]
                    )
                ),
                (
                    {"projected": {"sources": [{"secret": {"name": "a"}, "downwardAPI": {}}]}},
                    "cannot stand beside secret",
                ),
                ({"projected": {"sources": [{"secret": {}}]}}, "sources[0].secret.name"),
                (
                    {
                        "projected": {
                            "sources": [
                                {"serviceAccountToken": {"path": "a", "expirationSeconds": 1}}
                            ]
                        }
                    },
                    "must be between 600 and",
                ),
                (
                    {"projected": {"sources": [{"serviceAccountToken": {"path": "a"}}] * 2}},
                    "is the path of more than one file of the volume",
                ),
                (
                    {"projected": {"sources": [{"clusterTrustBundle": {"path": "a"}}]}},
                    "one of name, signerName is required",
                ),
                (
                    {"projected": {"sources": [{"podCertificate": {"keyType": "ED25519"}}]}},
                    "podCertificate.signerName (line 1): is required",
                ),
            ]
        )
    ),
]

FINE: list[Taken] = [
    *(
        ("spec.volumes", [{"name": "a", **volume}])
        for volume in maps(
            [
                {},
                {"emptyDir": None},
                {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
                {"hostPath": {"path": "/a", "type": "DirectoryOrCreate"}},
                {"nfs": {"server": "a", "path": "/b"}},
                {"image": {"reference": "a"}},
                {"fc": {"wwids": ["a"]}},
                {"fc": {"targetWWNs": ["a"], "lun": 0}},
                *({"iscsi": ISCSI | {"iqn": name}} for name in ISCSI_NAMES),
                {"iscsi": ISCSI | {"initiatorName": "iqn.2001-04.com.example:node1"}},
                {"iscsi": ISCSI | {"chapAuthSession": True, "secretRef": {}}},
                {"gitRepo": {"repository": "a", "directory": "."}},
                {
                    "downwardAPI": {
                        "items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}}]
                    }
                },
                {
                    "projected": {
                        "sources": [
                            {
                                "downwardAPI": {
                                    "items": [
                                        {
                                            "path": "a/b",
                                            "mode": 0o400,
                                            "resourceFieldRef": {
                                                "containerName": "server",
                                                "resource": "limits.memory",
                                                "divisor": "1Mi",
                                            },
                                        },
                                    ],
                                },
                            },
                        ],
                    },
                },
            ]
        )
    ),
]

DOUBTFUL: list[Refused] = [
    *(
        ("spec.volumes", [{"name": "a", **volume}], sentence)
        for volume, sentence in rows(
            [
                (
                    {"projected": {"sources": [{}]}},
                    "projected.sources[0] (line 1): projects nothing: it has none of secret, conf",
                ),
                *(
                    (volume, "resourceFieldRef.containerName (line 1): is the name of no container")
                    for volume in maps(
                        [
                            {"downwardAPI": CLIENT_LIMIT},
                            {"projected": {"sources": [{"downwardAPI": CLIENT_LIMIT}]}},
                        ]
                    )
                ),
            ]
        )
    ),
]

"""What the API server would refuse, one field at a time: rule S15.

Each case edits one field of a good manifest. ``BAD`` is refused with a sentence about a path,
``FINE`` is accepted; together they stand on both sides of each border. ``DOUBTFUL`` is accepted
too, since API servers do, with a warning.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from messages.sources import RejectReason
from tests.support.manifests.manifest_text import GOOD, decoded, document_of, edited, refused

C = "spec.containers.0"
CONTAINER: dict[str, Any] = {"name": "server", "image": "server"}
TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
WISHES = "preferredDuringSchedulingIgnoredDuringExecution"
CLIENT_LIMIT: dict[str, Any] = {
    "items": [
        {
            "path": "a",
            "resourceFieldRef": {"resource": "limits.cpu", "containerName": "client"},
        },
    ],
}
"""Tells of a container that the pod does not have."""
HTTP: dict[str, Any] = {"httpGet": {"port": 80}}
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
SPREAD: dict[str, Any] = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


def rows(table: list[tuple[dict[str, Any], str]]) -> list[tuple[dict[str, Any], str]]:
    """Return ``table``: only says its type."""
    return table


def maps(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return ``table``: only says its type."""
    return table


BAD: list[tuple[str, Any, str]] = [
    # Names, labels, annotations.
    ("metadata.name", None, "metadata.name (line 1): is required"),
    ("metadata.name", "", "metadata.name (line 1): is required"),
    ("metadata.name", "Web", "metadata.name (line 1): must be a DNS name"),
    ("metadata.name", "web_1", "metadata.name"),
    ("metadata.name", "-web", "metadata.name"),
    ("metadata.name", "web..x", "metadata.name"),
    ("metadata.name", "x" * 248, "must be no longer than 253 characters, not 254"),
    ("metadata.namespace", "a.b", "metadata.namespace (line 1): must be a DNS label"),
    ("metadata.namespace", "x" * 64, "must be no longer than 63 characters"),
    ("metadata.generateName", "Web-", "metadata.generateName"),
    ("metadata.generation", -1, "metadata.generation (line 1): must be 0 or more, not -1"),
    ("metadata.deletionGracePeriodSeconds", -1, "metadata.deletionGracePeriodSeconds"),
    ("metadata.finalizers", ["a b"], "metadata.finalizers[0]"),
    ("metadata.ownerReferences", [{"kind": "X"}], "metadata.ownerReferences[0].apiVersion"),
    ("metadata.labels", {"a b": "c"}, 'metadata.labels["a b"] (line 1): the key must consist'),
    ("metadata.labels", {"a/b/c": "c"}, "the key its prefix must be a DNS name"),
    ("metadata.labels", {"/b": "c"}, "the key its prefix must be a DNS name"),
    ("metadata.labels", {"a": "b c"}, "metadata.labels.a (line 1): must consist of letters"),
    ("metadata.labels", {"a": "x" * 64}, "metadata.labels.a (line 1): must be no longer than 63"),
    ("metadata.annotations", {"a b": "c"}, 'metadata.annotations["a b"]'),
    ("metadata.annotations", {"a": "x" * 262_144}, "no more than 262144 bytes in all"),
    ("metadata.uid", "a/b", "metadata.uid (line 1): must have no '/'"),
    ("metadata.uid", "..", "metadata.uid"),
    ("metadata.uid", "x" * 256, "metadata.uid (line 1): must be no longer than 255 bytes"),
    # The pod as a whole.
    ("spec", None, "spec.containers (line 1): is required"),
    ("spec.containers", [], "spec.containers (line 1): is required"),
    ("spec.ephemeralContainers", [CONTAINER], "spec.ephemeralContainers[0]"),
    ("spec.restartPolicy", "Sometimes", "must be one of Always, OnFailure, Never, not"),
    ("spec.dnsPolicy", "clusterfirst", "spec.dnsPolicy"),
    ("spec.dnsPolicy", "None", "spec.dnsConfig (line 1): needs at least one nameserver"),
    ("spec.dnsConfig", {"nameservers": ["a"]}, "spec.dnsConfig.nameservers[0]"),
    ("spec.dnsConfig", {"nameservers": ["::1%lo"]}, "an IP address without a zone"),
    ("spec.dnsConfig", {"nameservers": ["1.1.1.1"] * 4}, "must be no more than 3"),
    ("spec.dnsConfig", {"searches": ["A"]}, "spec.dnsConfig.searches[0]"),
    ("spec.dnsConfig", {"searches": ["a"] * 33}, "must be no more than 32"),
    ("spec.dnsConfig", {"searches": ["a" * 99] * 32}, "2048 characters in all"),
    ("spec.dnsConfig", {"options": [{"value": "1"}]}, "spec.dnsConfig.options[0].name"),
    ("spec.preemptionPolicy", "Maybe", "spec.preemptionPolicy"),
    ("spec.activeDeadlineSeconds", 0, "must be between 1 and 2147483647, not 0"),
    ("spec.hostname", "a.b", "spec.hostname"),
    ("spec.subdomain", "A", "spec.subdomain"),
    ("spec.hostnameOverride", "a_b", "spec.hostnameOverride"),
    ("spec.hostnameOverride", "a" * 60 + ".bcdef", "must be no longer than 64 characters"),
    ("spec.hostAliases", [{"ip": "1.2.3"}], "spec.hostAliases[0].ip"),
    ("spec.hostAliases", [{"hostnames": ["a"]}], "spec.hostAliases[0].ip (line 1): is required"),
    ("spec.hostAliases", [{"ip": "::1", "hostnames": ["A"]}], "hostAliases[0].hostnames[0]"),
    ("spec.priorityClassName", "High", "spec.priorityClassName"),
    ("spec.runtimeClassName", "A", "spec.runtimeClassName"),
    ("spec.readinessGates", [{"conditionType": "a b"}], "spec.readinessGates[0].conditionType"),
    ("spec.schedulingGates", [{"name": "a"}], "nothing can gate its scheduling"),
    ("spec.resourceClaims", [{"name": "a"}], "one of resourceClaimName, resourceClaimTemplate"),
    (
        "spec.resourceClaims",
        [{"resourceClaimName": "b"}],
        "spec.resourceClaims[0].name (line 1): i",
    ),
    (
        "spec.resourceClaims",
        [{"name": "a", "resourceClaimName": "b"}] * 2,
        "spec.resourceClaims[1].name (line 1): is the name of more than one claim",
    ),
    ("spec.overhead", {"gold": 1}, "spec.overhead.gold"),
    ("spec.overhead", {"cpu": -1}, "must not be negative"),
    ("spec.nodeSelector", {"a": "b c"}, "spec.nodeSelector.a"),
    # Tolerations.
    ("spec.tolerations", [{"key": "a b", "operator": "Exists"}], "spec.tolerations[0].key"),
    ("spec.tolerations", [{"value": "a"}], "must be Exists when there is no key"),
    ("spec.tolerations", [{"key": "a", "operator": "Likes"}], "must be Equal or Exists, not"),
    ("spec.tolerations", [{"key": "a", "operator": "Exists", "value": "b"}], "must be empty when"),
    ("spec.tolerations", [{"key": "a", "value": "b c"}], "spec.tolerations[0].value"),
    ("spec.tolerations", [{"key": "a", "operator": "Gt", "value": "b"}], "a whole number"),
    ("spec.tolerations", [{"key": "a", "effect": "Never"}], "spec.tolerations[0].effect"),
    ("spec.tolerations", [{"key": "a", "tolerationSeconds": 5}], "must be NoExecute when"),
    # Affinity and spread.
    (f"spec.affinity.nodeAffinity.{TERMS}", {}, "nodeSelectorTerms (line 1): is required"),
    *(
        (
            f"spec.affinity.nodeAffinity.{TERMS}.nodeSelectorTerms",
            [{"matchExpressions": [expression]}],
            sentence,
        )
        for expression, sentence in [
            ({"operator": "Exists"}, "matchExpressions[0].key (line 1): is required"),
            ({"key": "a", "operator": "In"}, "values (line 1): is required"),
            ({"key": "a", "operator": "Exists", "values": ["x"]}, "must be empty for Exists"),
            ({"key": "a", "operator": "Gt"}, "a single whole number for Gt"),
            ({"key": "a", "operator": "Gt", "values": ["x y"]}, "a single whole number for Gt"),
            ({"key": "a", "operator": "Gt", "values": ["1", "2"]}, "a single whole number for Gt"),
            ({"key": "a", "operator": "is"}, "must be one of DoesNotExist, Exists, Gt, In, Lt,"),
        ]
    ),
    (
        f"spec.affinity.nodeAffinity.{TERMS}.nodeSelectorTerms",
        [{"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["A"]}]}],
        "matchFields[0].key (line 1): must be metadata.name",
    ),
    (
        f"spec.affinity.nodeAffinity.{TERMS}.nodeSelectorTerms",
        [{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}],
        "must be In or NotIn, with exactly one value",
    ),
    (
        f"spec.affinity.nodeAffinity.{WISHES}",
        [{"weight": 101, "preference": {}}],
        "must be between 1 and 100",
    ),
    (f"spec.affinity.podAffinity.{TERMS}", [{}], "topologyKey (line 1): is required"),
    (f"spec.affinity.podAntiAffinity.{WISHES}", [{"weight": 0}], "must be between 1 and 100"),
    (f"spec.affinity.podAntiAffinity.{WISHES}", [{"weight": 1}], "podAffinityTerm (line 1): is"),
    (
        f"spec.affinity.podAffinity.{TERMS}",
        [{"topologyKey": "a", "labelSelector": {"matchLabels": {"a": "b c"}}}],
        "labelSelector.matchLabels.a",
    ),
    (
        f"spec.affinity.podAffinity.{TERMS}",
        [{"topologyKey": "a", "namespaceSelector": {"matchExpressions": [{"key": "a"}]}}],
        "must be one of DoesNotExist, Exists, In, NotIn, not",
    ),
    (
        f"spec.affinity.podAffinity.{TERMS}",
        [{"topologyKey": "a", "namespaces": ["A"]}],
        "namespaces[0]",
    ),
    ("spec.topologySpreadConstraints", [SPREAD | {"maxSkew": 0}], "must be greater than 0"),
    ("spec.topologySpreadConstraints", [SPREAD | {"topologyKey": ""}], "topologyKey"),
    ("spec.topologySpreadConstraints", [SPREAD | {"whenUnsatisfiable": ""}], "is required"),
    ("spec.topologySpreadConstraints", [SPREAD | {"whenUnsatisfiable": "a"}], "must be one of"),
    ("spec.topologySpreadConstraints", [SPREAD | {"minDomains": 0}], "must be 1 or more"),
    (
        "spec.topologySpreadConstraints",
        [SPREAD | {"minDomains": 1, "whenUnsatisfiable": "ScheduleAnyway"}],
        "needs whenUnsatisfiable to be DoNotSchedule",
    ),
    ("spec.topologySpreadConstraints", [SPREAD | {"nodeTaintsPolicy": "a"}], "nodeTaintsPolicy"),
    ("spec.topologySpreadConstraints", [SPREAD | {"matchLabelKeys": ["a"]}], "a labelSelector"),
    ("spec.topologySpreadConstraints", [SPREAD, SPREAD], "constraint of the same kind already"),
    # Containers.
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
        f"{C}.resizePolicy",
        [{"resourceName": "cpu", "restartPolicy": "Later"}],
        "must be one of NotRequired, RestartContainer",
    ),
    (
        f"{C}.restartPolicyRules",
        [{"action": "Restart", "exitCodes": {"operator": "In"}}],
        "restartPolicyRules[0].exitCodes.values (line 1): is required",
    ),
    (f"{C}.resizePolicy", [{"resourceName": "gold"}], "resizePolicy[0].resourceName"),
    (f"{C}.resizePolicy", [{"resourceName": "cpu"}], "resizePolicy[0].restartPolicy"),
    (
        f"{C}.resizePolicy",
        [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2,
        "has more than one policy",
    ),
    # Ports.
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
    # Environment.
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
    # Mounts and devices.
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
    # Probes and hooks.
    (f"{C}.livenessProbe", {}, "one of exec, httpGet, tcpSocket, grpc is required"),
    (f"{C}.livenessProbe", HTTP | {"exec": {}}, "httpGet (line 1): cannot stand beside exec"),
    (f"{C}.livenessProbe", {"exec": {}}, "livenessProbe.exec.command (line 1): is required"),
    (f"{C}.livenessProbe", {"httpGet": {}}, "livenessProbe.httpGet.port (line 1): is required"),
    (f"{C}.livenessProbe", {"httpGet": {"port": 0}}, "must be between 1 and 65535"),
    (f"{C}.livenessProbe", {"httpGet": {"port": "A"}}, "httpGet.port"),
    (f"{C}.livenessProbe", {"httpGet": {"port": 1, "scheme": "ftp"}}, "must be HTTP or HTTPS"),
    (
        f"{C}.livenessProbe",
        {"httpGet": {"port": 1, "httpHeaders": [{"name": "a b"}]}},
        "httpHeaders[0].name",
    ),
    (f"{C}.startupProbe", {"tcpSocket": {}}, "startupProbe.tcpSocket.port (line 1): is required"),
    (f"{C}.startupProbe", {"grpc": {}}, "startupProbe.grpc.port (line 1): is required"),
    (f"{C}.startupProbe", {"grpc": {"port": 70000}}, "must be between 1 and 65535"),
    (f"{C}.livenessProbe", HTTP | {"initialDelaySeconds": -1}, "must be 0 or more, not -1"),
    (f"{C}.livenessProbe", HTTP | {"periodSeconds": -1}, "must be 1 or more, not -1"),
    (f"{C}.livenessProbe", HTTP | {"successThreshold": 2}, "must be 1 for liveness and startup"),
    (f"{C}.livenessProbe", HTTP | {"terminationGracePeriodSeconds": 0}, "must be 1 or more"),
    (f"{C}.readinessProbe", HTTP | {"terminationGracePeriodSeconds": 5}, "for readiness"),
    (f"{C}.lifecycle", {"preStop": {}}, "one of exec, httpGet, tcpSocket, sleep is required"),
    (f"{C}.lifecycle", {"preStop": {"sleep": {"seconds": 31}}}, "must be between 0 and 30"),
    (f"{C}.lifecycle", {"stopSignal": "SIGTERM"}, "needs spec.os.name"),
    (f"{C}.lifecycle", {"stopSignal": "15"}, "must be the name of a signal"),
    # Resources.
    *(
        (f"{C}.resources", resources, sentence)
        for resources, sentence in [
            ({"limits": {"gold": 1}}, "must be cpu, memory, ephemeral-storage, hugepages-SIZE, or"),
            ({"limits": {"a b": 1}}, "the name must consist of"),
            ({"limits": {"requests.example.com/a": 1}}, "must not begin with 'requests.'"),
            ({"limits": {"cpu": -1}}, "resources.limits.cpu (line 1): must not be negative"),
            ({"limits": {"cpu": "1"}, "requests": {"cpu": "1001m"}}, "no more than its limit of 1"),
            ({"requests": {"example.com/a": 1}}, "needs a limit, which must be equal to it"),
            (
                {"limits": {"example.com/a": 2}, "requests": {"example.com/a": 1}},
                "must be equal to its limit",
            ),
            ({"limits": {"example.com/a": 0.5}}, "must be a whole number"),
            ({"limits": {"hugepages-2Mi": "2Mi"}}, "huge pages need cpu or memory beside them"),
            ({"limits": {"hugepages-2Mi": "3Mi", "cpu": 1}}, "must be a whole number of pages"),
            ({"limits": {"hugepages-big": "2Mi", "cpu": 1}}, "the size of a page must be"),
            ({"claims": [{"name": "a"}]}, "must be the name of one of spec.resourceClaims"),
        ]
    ),
    ("spec.resources", {"limits": {"ephemeral-storage": 1}}, "pods as a whole have cpu, memory"),
    ("spec.resources", {"limits": {"cpu": -1}}, "spec.resources.limits.cpu (line 1): must not be"),
    (
        "spec.resources",
        {"limits": {"cpu": 1}, "requests": {"cpu": 2}},
        "spec.resources.requests.cpu (line 1): must be no more than its limit of 1",
    ),
    ("spec.resources", {"claims": [{"name": "a"}]}, "pods as a whole cannot have claims"),
    # Security.
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
    # Operating systems.
    ("spec.os", {}, "spec.os.name (line 1): is required"),
    ("spec.os", {"name": "plan9"}, "must be one of linux, windows"),
    # Volumes.
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


@pytest.mark.parametrize(("path", "value", "sentence"), BAD, ids=lambda part: str(part)[:60])
def test_what_the_api_server_would_refuse_is_refused(path: str, value: Any, sentence: str) -> None:
    answer = refused(edited(path, value))
    assert answer.code == RejectReason.INVALID
    assert sentence in answer.reason


FINE: list[tuple[str, Any]] = [
    ("metadata.name", "web.example.com"),
    ("metadata.name", "x" * 247),
    ("metadata.namespace", "x" * 63),
    ("metadata.generateName", "web-"),
    ("metadata.labels", {"a": "", "example.com/A_b.c": "A_b.c"}),
    ("metadata.annotations", {"Example.COM/a": "anything\nat all"}),
    ("metadata.annotations", {"a": "x" * 260_000}),
    ("metadata.uid", "any text, 3: ü"),
    ("spec.dnsPolicy", "Default"),
    (
        "spec.dnsConfig",
        {"nameservers": ["::1"], "searches": ["a_b.c.", "."], "options": [{"name": "a"}]},
    ),
    ("spec.hostAliases", [{"ip": "10.0.0.1", "hostnames": ["a.b"]}]),
    ("spec.hostnameOverride", "a.b"),
    ("spec.terminationGracePeriodSeconds", 0),
    ("spec.activeDeadlineSeconds", 1),
    ("spec.overhead", {"cpu": "250m"}),
    ("spec.readinessGates", [{"conditionType": "example.com/ready"}]),
    ("spec.automountServiceAccountToken", False),
    ("spec.tolerations", [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}]),
    ("spec.tolerations", [{"key": "a", "operator": "Lt", "value": "-3"}]),
    ("spec.tolerations", [{"operator": "Exists", "effect": ""}]),
    (
        f"spec.affinity.nodeAffinity.{TERMS}.nodeSelectorTerms",
        [
            {
                "matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["b"]},
                    {"key": "a", "operator": "DoesNotExist"},
                    {"key": "a", "operator": "Lt", "values": ["5"]},
                ],
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node1"]}],
            },
        ],
    ),
    (f"spec.affinity.nodeAffinity.{WISHES}", [{"weight": 100, "preference": {}}]),
    (f"spec.affinity.nodeAffinity.{WISHES}", [{"weight": 1}]),
    (
        f"spec.affinity.podAntiAffinity.{WISHES}",
        [{"weight": 1, "podAffinityTerm": {"topologyKey": "a", "labelSelector": {}}}],
    ),
    ("spec.topologySpreadConstraints", [SPREAD | {"labelSelector": {}, "matchLabelKeys": ["a"]}]),
    ("spec.topologySpreadConstraints", [SPREAD | {"minDomains": 1}]),
    (f"{C}.ports", [{"containerPort": 65535, "name": "a-1", "hostIP": "::"}]),
    (f"{C}.ports", [{"containerPort": 53, "hostPort": 53, "protocol": p} for p in ("TCP", "UDP")]),
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
    (
        f"{C}.volumeMounts",
        [{"name": "scratch", "mountPath": p, "subPath": "a"} for p in ("/a", "/b")],
    ),
    (
        f"{C}.volumeMounts",
        [{"name": "scratch", "mountPath": "/a", "readOnly": True, "recursiveReadOnly": "Enabled"}],
    ),
    (f"{C}.livenessProbe", {"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 5}),
    (f"{C}.readinessProbe", {"tcpSocket": {"port": "http"}, "successThreshold": 3}),
    (f"{C}.startupProbe", {"grpc": {"port": 1}}),
    (
        f"{C}.livenessProbe",
        {"httpGet": {"port": 1, "httpHeaders": [{"name": "X-A", "value": "b"}]}},
    ),
    (
        f"{C}.lifecycle",
        {"preStop": {"sleep": {"seconds": 30}}, "postStart": {"exec": {"command": ["a"]}}},
    ),
    (
        "spec.initContainers",
        [CONTAINER | {"name": "a", "restartPolicy": "Always", "readinessProbe": HTTP}],
    ),
    (f"{C}.resizePolicy", [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]),
    (f"{C}.resources", {"limits": {"cpu": 1, "hugepages-2Mi": "4Mi", "example.com/a": 2}}),
    (f"{C}.resources", {"requests": {"ephemeral-storage": ".5Gi", "cpu": "1e-1"}}),
    ("spec.resources", {"limits": {"cpu": 1}, "requests": {"memory": "1Gi"}}),
    (f"{C}.securityContext.seccompProfile", {"type": "Localhost", "localhostProfile": "a/b.json"}),
    (f"{C}.securityContext.appArmorProfile", {"type": "Localhost", "localhostProfile": "/a"}),
    (
        f"{C}.securityContext",
        {"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False},
    ),
    (f"{C}.securityContext.windowsOptions", {"hostProcess": True}),
    ("spec.securityContext.sysctls", [{"name": "net.ipv4/a-b_c", "value": "1"}]),
    ("spec.os", {"name": "linux"}),
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


@pytest.mark.parametrize(("path", "value"), FINE, ids=lambda part: str(part)[:60])
def test_what_the_api_server_would_take_is_taken(path: str, value: Any) -> None:
    assert decoded(edited(path, value)).warnings == ()


DOUBTFUL: list[tuple[str, Any, str]] = [
    ("spec.terminationGracePeriodSeconds", -1, "(line 1): counts as 1, not -1"),
    ("spec.imagePullSecrets", [{}], "imagePullSecrets[0].name (line 1): can be the name of no"),
    *(
        (
            f"spec.affinity.nodeAffinity.{TERMS}.nodeSelectorTerms",
            [{"matchExpressions": [{"key": "a", "operator": operator, "values": [value]}]}],
            "matchExpressions[0].values[0] (line 1): is no whole number, so no node matches",
        )
        for operator, value in [("Gt", "x"), ("Lt", "1.5"), ("Lt", "")]
    ),
    (
        f"spec.affinity.nodeAffinity.{WISHES}",
        [
            {
                "weight": 1,
                "preference": {
                    "matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}],
                },
            },
        ],
        "[0].preference.matchExpressions[0].values[0] (line 1): is no whole number",
    ),
    *(
        (
            f"{C}.ports",
            [{"containerPort": 1, "hostIP": address}],
            "ports[0].hostIP (line 1): is no IP address",
        )
        for address in ("a", "::1%lo")
    ),
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
    *(
        (
            f"{C}.securityContext",
            {"capabilities": {"add": [name]}, "allowPrivilegeEscalation": False},
            "securityContext.allowPrivilegeEscalation (line 1): holds little back beside",
        )
        for name in ("SYS_ADMIN", "cap_sys_admin")
    ),
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


@pytest.mark.parametrize(("path", "value", "sentence"), DOUBTFUL, ids=lambda part: str(part)[:60])
def test_what_the_api_server_puts_up_with_is_taken_with_a_warning(
    path: str, value: Any, sentence: str
) -> None:
    (warning,) = decoded(edited(path, value)).warnings
    assert sentence in warning


def test_a_misspelt_source_of_a_projected_volume_is_told_twice_and_left_out() -> None:
    volume = {"name": "a", "projected": {"sources": [{"downwardApi": {}}]}}
    misspelt, nothing = decoded(edited("spec.volumes", [volume])).warnings
    assert "did you mean downwardAPI?" in misspelt
    assert "projects nothing" in nothing


def test_a_negative_grace_period_is_one_second() -> None:
    spec = document_of(edited("spec.terminationGracePeriodSeconds", -(2**63)))["spec"]
    assert spec["terminationGracePeriodSeconds"] == 1


def test_a_hook_may_sleep_for_the_one_second_of_a_negative_grace_period() -> None:
    def hook(seconds: int) -> str:
        sleeping = {"preStop": {"sleep": {"seconds": seconds}}}
        return _with({"terminationGracePeriodSeconds": -5}, lifecycle=sleeping)

    assert len(decoded(hook(1)).warnings) == 1
    assert "must be between 0 and 1, not 2" in refused(hook(2)).reason


def test_init_containers_and_containers_can_tell_of_each_other() -> None:
    def limit_of(name: str) -> list[dict[str, Any]]:
        reference = {"resource": "limits.cpu", "containerName": name}
        return [{"name": "A", "valueFrom": {"resourceFieldRef": reference}}]

    first = CONTAINER | {"name": "first", "env": limit_of("server")}
    assert decoded(_with({"initContainers": [first]}, env=limit_of("first"))).warnings == ()
    strange = first | {"env": limit_of("second")}
    (warning,) = decoded(_with({"initContainers": [strange]})).warnings
    assert warning.startswith("spec.initContainers[0].env[0].valueFrom.resourceFieldRef.")


def _with(spec: dict[str, Any], **container: Any) -> str:
    containers = [GOOD["spec"]["containers"][0] | container]
    return json.dumps(GOOD | {"spec": GOOD["spec"] | {"containers": containers} | spec})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (_with({"hostPID": True, "shareProcessNamespace": True}), "cannot be true beside hostPID"),
        (_with({"hostIPC": True, "hostUsers": False}), "cannot be true with hostUsers: false"),
        (_with({"hostnameOverride": "a", "setHostnameAsFQDN": True}), "beside setHostnameAsFQDN"),
        (
            _with({"hostNetwork": True}, ports=[{"containerPort": 1, "hostPort": 2}]),
            "must be the containerPort on the host's network",
        ),
        (
            _with({"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net.a"}]}}),
            "cannot be set on the host's network",
        ),
        (
            _with({"hostIPC": True, "securityContext": {"sysctls": [{"name": "kernel/shmmax"}]}}),
            "cannot be set with hostIPC",
        ),
        (
            _with({"os": {"name": "windows"}, "hostPID": True}),
            "spec.hostPID (line 1): cannot be set when os.name is windows",
        ),
        (
            _with({"os": {"name": "windows"}, "securityContext": {"runAsUser": 1}}),
            "spec.securityContext.runAsUser",
        ),
        (
            _with({"os": {"name": "windows"}}, securityContext={"privileged": True}),
            "spec.containers[0].securityContext.privileged",
        ),
        (
            _with({"os": {"name": "linux"}}, securityContext={"windowsOptions": {}}),
            "cannot be set when os.name is linux",
        ),
        (
            _with(
                {"restartPolicy": "Never"},
                resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
            ),
            "must be NotRequired when the pod never restarts",
        ),
        (
            _with(
                {},
                volumeMounts=[{"name": "scratch", "mountPath": "/a"}],
                volumeDevices=[{"name": "scratch", "devicePath": "/a"}],
            ),
            "is the path of a volume mount too",
        ),
        (
            _with(
                {},
                volumeMounts=[{"name": "x", "mountPath": "/a"}],
                volumeDevices=[{"name": "x", "devicePath": "/b"}],
            ),
            "volumeDevices[0].name (line 1): is the volume of a volume mount too",
        ),
    ],
)
def test_fields_that_do_not_go_together_are_refused(text: str, sentence: str) -> None:
    answer = refused(text)
    assert answer.code == RejectReason.INVALID
    assert sentence in answer.reason


@pytest.mark.parametrize(
    "text",
    [
        _with({"hostUsers": False}, securityContext={"procMount": "Unmasked"}),
        _with(
            {},
            securityContext={"privileged": True},
            volumeMounts=[
                {"name": "scratch", "mountPath": "/a", "mountPropagation": "Bidirectional"},
            ],
        ),
        _with({"os": {"name": "linux"}}, lifecycle={"stopSignal": "SIGRTMIN+1"}),
        _with({"os": {"name": "windows"}}, securityContext={"windowsOptions": {}}),
        _with({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}}),
        _with({"setHostnameAsFQDN": True, "hostPID": True}),
        _with(
            {},
            restartPolicy="OnFailure",
            restartPolicyRules=[
                {"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}},
            ],
        ),
    ],
)
def test_fields_that_go_together_are_taken(text: str) -> None:
    assert decoded(text).warnings == ()


def test_the_first_few_problems_are_told_and_the_others_counted() -> None:
    ports = [{"containerPort": 0}] * 70
    reason = refused(edited(f"{C}.ports", ports)).reason
    assert reason.count("must be between 1 and 65535, not 0") == 3
    assert reason.endswith("; and 67 more")


def test_a_problem_is_told_with_its_line_in_the_file() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: server
    image: server
    ports:
    - name: http
      containerPort: 0
"""
    answer = refused(text)
    assert answer.reason == (
        "spec.containers[0].ports[0].containerPort (line 11): must be between 1 and 65535, not 0"
    )
    assert answer.pod == "default/web-node1"


def test_what_is_missing_is_told_with_the_line_of_what_it_is_missing_in() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - image: server
"""
    assert refused(text).reason == "spec.containers[0].name (line 6): is required"


def test_the_values_of_variables_are_never_shown() -> None:
    variable = {"name": "A", "value": "s3cret", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}
    answer = refused(edited(f"{C}.env", [variable]))
    assert "s3cret" not in repr(answer)
    assert "s3cret" not in repr(decoded(edited(f"{C}.env", [{"name": "A", "value": "s3cret"}])))

"""Rule S15: tolerations, affinity and spread."""

from __future__ import annotations

from typing import Any

from tests.support.manifests.validation.rows import Refused, Taken

TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
WISHES = "preferredDuringSchedulingIgnoredDuringExecution"
SPREAD: dict[str, Any] = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}

BAD: list[Refused] = [
    ("spec.tolerations", [{"key": "a b", "operator": "Exists"}], "spec.tolerations[0].key"),
    ("spec.tolerations", [{"value": "a"}], "must be Exists when there is no key"),
    ("spec.tolerations", [{"key": "a", "operator": "Likes"}], "must be Equal or Exists, not"),
    ("spec.tolerations", [{"key": "a", "operator": "Exists", "value": "b"}], "must be empty when"),
    ("spec.tolerations", [{"key": "a", "value": "b c"}], "spec.tolerations[0].value"),
    ("spec.tolerations", [{"key": "a", "operator": "Gt", "value": "b"}], "a whole number"),
    ("spec.tolerations", [{"key": "a", "effect": "Never"}], "spec.tolerations[0].effect"),
    ("spec.tolerations", [{"key": "a", "tolerationSeconds": 5}], "must be NoExecute when"),
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
]

FINE: list[Taken] = [
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
]

DOUBTFUL: list[Refused] = [
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
]

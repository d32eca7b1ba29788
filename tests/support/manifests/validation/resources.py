"""Rule S15: requests and limits."""

from __future__ import annotations

from tests.support.manifests.validation.rows import C, Refused, Taken

BAD: list[Refused] = [
    ("spec.overhead", {"gold": 1}, "spec.overhead.gold"),
    ("spec.overhead", {"cpu": -1}, "must not be negative"),
    (
        f"{C}.resizePolicy",
        [{"resourceName": "cpu", "restartPolicy": "Later"}],
        "must be one of NotRequired, RestartContainer",
    ),
    (f"{C}.resizePolicy", [{"resourceName": "gold"}], "resizePolicy[0].resourceName"),
    (f"{C}.resizePolicy", [{"resourceName": "cpu"}], "resizePolicy[0].restartPolicy"),
    (
        f"{C}.resizePolicy",
        [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2,
        "has more than one policy",
    ),
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
]

FINE: list[Taken] = [
    ("spec.overhead", {"cpu": "250m"}),
    (f"{C}.resizePolicy", [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]),
    (f"{C}.resources", {"limits": {"cpu": 1, "hugepages-2Mi": "4Mi", "example.com/a": 2}}),
    (f"{C}.resources", {"requests": {"ephemeral-storage": ".5Gi", "cpu": "1e-1"}}),
    ("spec.resources", {"limits": {"cpu": 1}, "requests": {"memory": "1Gi"}}),
]

DOUBTFUL: list[Refused] = []

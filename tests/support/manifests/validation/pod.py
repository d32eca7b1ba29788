"""Rule S15: the pod as a whole."""

from __future__ import annotations

from tests.support.manifests.validation.rows import Refused, Taken

BAD: list[Refused] = [
    ("spec", None, "spec.containers (line 1): is required"),
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
    ("spec.nodeSelector", {"a": "b c"}, "spec.nodeSelector.a"),
]

FINE: list[Taken] = [
    ("spec.dnsPolicy", "Default"),
    (
        "spec.dnsConfig",
        {"nameservers": ["::1"], "searches": ["a_b.c.", "."], "options": [{"name": "a"}]},
    ),
    ("spec.hostAliases", [{"ip": "10.0.0.1", "hostnames": ["a.b"]}]),
    ("spec.hostnameOverride", "a.b"),
    ("spec.terminationGracePeriodSeconds", 0),
    ("spec.activeDeadlineSeconds", 1),
    ("spec.readinessGates", [{"conditionType": "example.com/ready"}]),
    ("spec.automountServiceAccountToken", False),
]

DOUBTFUL: list[Refused] = [
    ("spec.terminationGracePeriodSeconds", -1, "(line 1): counts as 1, not -1"),
    ("spec.imagePullSecrets", [{}], "imagePullSecrets[0].name (line 1): can be the name of no"),
]

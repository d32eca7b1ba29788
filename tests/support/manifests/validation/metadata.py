"""Rule S15: a pod's metadata."""

from __future__ import annotations

from tests.support.manifests.validation.rows import Refused, Taken

BAD: list[Refused] = [
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
]

FINE: list[Taken] = [
    ("metadata.name", "web.example.com"),
    ("metadata.name", "x" * 247),
    ("metadata.namespace", "x" * 63),
    ("metadata.generateName", "web-"),
    ("metadata.labels", {"a": "", "example.com/A_b.c": "A_b.c"}),
    ("metadata.annotations", {"Example.COM/a": "anything\nat all"}),
    ("metadata.annotations", {"a": "x" * 260_000}),
    ("metadata.uid", "any text, 3: ü"),
]

DOUBTFUL: list[Refused] = []

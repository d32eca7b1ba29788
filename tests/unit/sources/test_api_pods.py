"""The set of pods that the API server source keeps: objects that are no pods."""

from __future__ import annotations

from typing import Any

import pytest

from messages.watches import ObjectOp
from sources.apiserver import ApiPods
from tests.support.builders import make_pod

WEB = make_pod("web", source="")

NO_PODS = [
    ({}, "an object without metadata or spec"),
    ({"metadata": {}, "spec": None}, "an object without metadata or spec"),
    ({"metadata": {"namespace": "a", "uid": "u"}, "spec": {}}, "a pod without metadata.name"),
    ({"metadata": {"name": "", "uid": "u"}, "spec": {}}, "a pod without metadata.name"),
    ({"metadata": {"name": "a", "namespace": "b"}, "spec": {}}, "a pod without metadata.uid"),
]


@pytest.mark.parametrize(("document", "complaint"), NO_PODS)
def test_an_object_that_is_no_pod_changes_nothing(document: dict[str, Any], complaint: str) -> None:
    pods = ApiPods()
    pods.replace([WEB.document])
    before = pods.snapshot()
    assert pods.change(ObjectOp.ADDED, document) == (complaint,)
    assert pods.snapshot() is before


@pytest.mark.parametrize(("document", "complaint"), NO_PODS)
def test_a_listing_leaves_out_what_is_no_pod(document: dict[str, Any], complaint: str) -> None:
    pods = ApiPods()
    assert pods.replace([document, WEB.document]) == (complaint,)
    assert [pod.name for pod in pods.snapshot()] == ["web"]

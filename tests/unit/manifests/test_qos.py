"""The quality-of-service class follows from requests and limits of cpu and memory."""

from __future__ import annotations

from typing import Any

import pytest

from manifests.qos import QosClass, qos_class

BOTH = {"cpu": "1", "memory": "1Gi"}


def spec(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"containers": [{"resources": each} for each in resources], **more}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (spec({}), QosClass.BEST_EFFORT),
        (spec({"requests": {"cpu": "0"}}), QosClass.BEST_EFFORT),
        (spec({"requests": {"ephemeral-storage": "1Gi"}}), QosClass.BEST_EFFORT),
        (spec({"requests": {"cpu": "1"}}), QosClass.BURSTABLE),
        (spec({"requests": BOTH, "limits": BOTH}), QosClass.GUARANTEED),
        (
            spec({"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": BOTH}),
            QosClass.GUARANTEED,
        ),
        (
            spec({"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": BOTH}),
            QosClass.BURSTABLE,
        ),
        (spec({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}), QosClass.BURSTABLE),
        (spec({"requests": BOTH, "limits": BOTH}, {}), QosClass.BURSTABLE),
        (
            spec({"requests": BOTH, "limits": BOTH}, initContainers=[{"resources": {}}]),
            QosClass.BURSTABLE,
        ),
        (spec({}, resources={"requests": BOTH, "limits": BOTH}), QosClass.GUARANTEED),
        (
            spec({"requests": BOTH, "limits": BOTH}, resources={"requests": {"cpu": "9"}}),
            QosClass.BURSTABLE,
        ),
    ],
)
def test_the_class_of_a_pod(spec: dict[str, Any], expected: QosClass) -> None:
    assert qos_class(spec) is expected

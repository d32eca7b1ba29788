"""What is taken from the cluster's Services, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.cluster.known_services import KnownServices, service_of
from messages.cluster import ClusterPort, ClusterService
from messages.watches import ObjectOp
from tests.support.services.service_stage import service


def test_a_service_is_as_much_as_variables_need() -> None:
    ports = [
        {"port": 53, "protocol": "UDP", "name": "dns"},
        {"port": 80, "targetPort": "http", "nodePort": 30080},
    ]
    assert service_of(service("a", "fd00::1", ports=ports, clusterIPs=["fd00::1"])) == (
        ClusterService(
            namespace="shop",
            name="a",
            address="fd00::1",
            ports=(ClusterPort(53, "UDP", "dns"), ClusterPort(80)),
        )
    )


@pytest.mark.parametrize(
    "document",
    [
        service("a", None),
        service("a", ""),
        service("a", "None"),
        service("a", ports=[]),
        service("a", ports=None),
        service("a", ports=["x", {"port": "80"}, {}]),
        {"metadata": {"name": "a", "namespace": "shop"}},
        {"metadata": {"name": 1, "namespace": "shop"}, "spec": service("a")["spec"]},
        {"metadata": [], "spec": []},
        {},
    ],
)
def test_what_has_no_address_or_no_port_is_left_out(document: dict[str, Any]) -> None:
    assert service_of(document) is None
    known = KnownServices()
    known.replace([document, service("b")])
    assert [each.name for each in known.of("shop")] == ["b"]
    assert not known.change(ObjectOp.ADDED, document)


def test_a_service_that_loses_its_address_is_gone() -> None:
    known = KnownServices()
    known.replace([service("a")])
    assert known.change(ObjectOp.MODIFIED, service("a", "None"))
    assert known.of("shop") == ()
    assert not known.change(ObjectOp.DELETED, service("a", "None"))


def test_what_does_not_change_stays_the_identical_object() -> None:
    known = KnownServices()
    known.replace([service("a"), service("b")])
    before = known.of("shop")
    known.replace([service("b", "10.0.0.9"), service("a")])
    assert known.of("shop")[0] is before[0]
    assert known.of("shop")[1] is not before[1]


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(list(ObjectOp)),
        st.sampled_from(["a", "b", "kubernetes"]),
        st.sampled_from(["shop", "default"]),
        st.sampled_from(["10.0.0.1", "10.0.0.2", "None"]),
    )
)


@given(CHANGES)
def test_events_lead_to_what_a_list_would_tell(
    changes: list[tuple[ObjectOp, str, str, str]],
) -> None:
    known, there = KnownServices(), dict[tuple[str, str], Any]()
    for op, name, namespace, address in changes:
        document = service(name, address, namespace)
        before = known.of("shop"), known.of("default")
        if op is ObjectOp.DELETED:
            there.pop((namespace, name), None)
        else:
            there[namespace, name] = document
        is_changed = known.change(op, document)
        assert is_changed or (known.of("shop"), known.of("default")) == before
    listed = KnownServices()
    listed.replace(there.values())
    assert len(known) == len(listed)
    for namespace in ("shop", "default", "other"):
        assert known.of(namespace) == listed.of(namespace)

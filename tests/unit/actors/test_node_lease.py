"""The Lease as the API writes it."""

from __future__ import annotations

from typing import Any

import pytest

from actors.node.lease import History, creation, look, other_holder, owners, renewal
from messages.api import Verb
from messages.node import NodeUid
from messages.units import Seconds, Timestamp

UID = NodeUid("u1")
NOW = Timestamp(1_700_000_000.25)
PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
EARLIER, OURS, LATER = (f"2023-11-14T22:13:{second}.000000Z" for second in (10, 20, 30))
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1"}
SPEC = {
    "holderIdentity": "n1",
    "leaseDurationSeconds": 40,
    "renewTime": "2023-11-14T22:13:20.250000Z",
}


def test_rule_n5_a_lease_belongs_to_its_node() -> None:
    request = creation("n1", UID, Seconds(40.0), NOW)
    assert (request.verb, request.path) == (Verb.CREATE, PATH)
    assert request.body == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "n1", "namespace": "kube-node-lease", "ownerReferences": [OWNER]},
        "spec": SPEC,
    }


def test_a_look_names_the_lease() -> None:
    assert (look("n1").verb, look("n1").path) == (Verb.GET, f"{PATH}/n1")


def test_a_renewal_keeps_what_it_does_not_know() -> None:
    known: dict[str, Any] = {
        "metadata": {"name": "n1", "resourceVersion": "7", "ownerReferences": [OWNER]},
        "spec": {"leaseTransitions": 3, "renewTime": "old"},
    }
    request = renewal(known, "n1", None, Seconds(40.0), NOW)
    assert (request.verb, request.path) == (Verb.UPDATE, f"{PATH}/n1")
    assert request.body == {"metadata": known["metadata"], "spec": {"leaseTransitions": 3, **SPEC}}
    assert known["spec"]["renewTime"] == "old"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2023-11-14T22:13:20.249999Z", "2023-11-14T22:13:20.250000Z"),
        ("2023-11-14T22:13:20.250000Z", "2023-11-14T22:13:20.250001Z"),
        ("2023-11-14T23:59:59.999999Z", "2023-11-15T00:00:00.000000Z"),
        ("2023-11-15T00:30:00.000000+02:00", "2023-11-14T22:30:00.000001Z"),
        ("9999-12-31T23:59:59.999999Z", "2023-11-14T22:13:20.250000Z"),
        ("never", "2023-11-14T22:13:20.250000Z"),
        (None, "2023-11-14T22:13:20.250000Z"),
    ],
)
def test_a_renewal_is_later_than_the_one_before_whatever_the_clock_says(
    before: str | None, after: str
) -> None:
    known = {"metadata": {"name": "n1"}, "spec": {"renewTime": before}}
    request = renewal(known, "n1", None, Seconds(40.0), NOW)
    assert request.body is not None
    assert request.body["spec"]["renewTime"] == after


@pytest.mark.parametrize(
    ("spec", "ours", "expected"),
    [
        ({"holderIdentity": "n2"}, "", "n2 holds it"),
        ({"holderIdentity": "n2", "renewTime": OURS}, OURS, "n2 holds it"),
        ({"holderIdentity": "n" * 300}, "", f"{'n' * 64} holds it"),
        ({"holderIdentity": "n1", "renewTime": LATER}, OURS, "it was renewed in our name"),
        ({"holderIdentity": "n1", "renewTime": OURS}, OURS, ""),
        ({"holderIdentity": "n1", "renewTime": EARLIER}, OURS, ""),
        ({"holderIdentity": "n1", "renewTime": LATER}, "", ""),
        ({"holderIdentity": "n1", "renewTime": None}, OURS, ""),
        ({"holderIdentity": None}, "", ""),
        ({}, "", ""),
        (None, OURS, ""),
    ],
    ids=[
        "another holder",
        "another holder of ours",
        "a long name",
        "renewed by another",
        "as we left it",
        "restored from a backup",
        "of an earlier life of ours perhaps",
        "without a time",
        "nobody's",
        "blank",
        "without a spec",
    ],
)
def test_somebody_else_is_told_by_the_holder_or_by_a_renewal_that_is_not_ours(
    spec: dict[str, Any] | None, ours: str, expected: str
) -> None:
    assert other_holder({"metadata": {}, "spec": spec}, "n1", ours) == expected


def test_a_lease_without_a_spec_is_renewed() -> None:
    request = renewal({"metadata": {"name": "n1"}}, "n1", UID, Seconds(40.0), NOW)
    assert request.body == {
        "metadata": {"name": "n1", "ownerReferences": [OWNER]},
        "spec": SPEC,
    }


def test_an_earlier_node_is_replaced_as_owner_and_others_stay() -> None:
    earlier = {**OWNER, "uid": "u0"}
    other: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "name": "n1", "uid": "c1"}
    assert owners([other, earlier], "n1", UID) == [OWNER, other]


def falls(*versions: Any) -> list[bool]:
    """Return after each renewal, by its version, whether it shows that the past was put back."""
    history, found = History(), []
    for version in versions:
        history = history.after({"metadata": {"resourceVersion": version}})
        found.append(history.fell_from is not None)
    return found


def test_a_revision_that_is_lower_than_the_last_one_shows_that_the_past_was_put_back() -> None:
    assert falls("9", "10", "200", "1000", "999", "1001") == [False] * 4 + [True, False]


def test_a_backup_after_a_backup_is_noticed_once_the_revisions_have_risen_again() -> None:
    assert falls(*"12345", "3", *"456", "9", "2") == [False] * 5 + [True] + [False] * 4 + [True]


@pytest.mark.parametrize(
    "versions",
    [
        ["5", "5", "5", "5", "5"],
        ["1", "2", "3", "2"],
        ["b", "a", "9", "8"],
        ["1", "2", "3", "4", "x", "3"],
        ["1", "2", "3", "4", None, "3"],
        ["1", "2", "3", "4", "٣"],
        ["5", "1", "7", "2", "6", "3", "8", "1"],
    ],
    ids=["same", "few", "text", "text-between", "none", "other-digits", "random"],
)
def test_revisions_that_are_no_count_show_nothing(versions: list[str | None]) -> None:
    assert not any(falls(*versions))

"""How the agent and its cluster get on, as people and scrapers read it."""

from __future__ import annotations

from dataclasses import replace

from prometheus_client.core import Metric

from messages.api import CallsDescribed
from messages.events import EventsDescribed
from messages.pods import FullName
from messages.sources import MirrorsDescribed
from messages.units import Timestamp
from messages.watches import WatchDescribed, WatchesDescribed, WatchTarget
from server.cluster_metrics import cluster_metrics
from server.health import HealthCheck, api_server
from server.questions import ClusterState, Unanswered

SERVER = "https://127.0.0.1:6443"
REFUSED = f"cannot list pods at {SERVER} as n1: connection refused"
CALLS = CallsDescribed(
    server=SERVER,
    user="n1",
    troubles=(),
    requests={("200", "127.0.0.1:6443", "GET"): 2, ("409", "127.0.0.1:6443", "POST"): 1},
    waiting=3,
    in_flight=1,
)
PODS = WatchDescribed(
    target=WatchTarget(path="/api/v1/pods", field_selector="spec.nodeName=n1"),
    state="watching",
    resource_version="7",
    since=Timestamp(0.0),
    reconnects=1,
    error="",
)
WELL = ClusterState(
    calls=CALLS,
    watches=WatchesDescribed(
        watches=(PODS,),
        connections=1,
        streams=1,
        reconnects={"timeout": 4},
        requests={("200", "127.0.0.1:6443", "GET"): 5},
    ),
    mirrors=MirrorsDescribed(
        wanted=2, present=1, troubles={FullName("a_b"): "no"}, create_errors={"forbidden": 6}
    ),
    events=EventsDescribed(posted=7, dropped={"spam": 8}),
)


def values(state: ClusterState) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the samples of each family by their labels."""
    return {family.name: _samples(family) for family in cluster_metrics(state)}


def _samples(family: Metric) -> dict[tuple[str, ...], float]:
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


def test_requests_of_calls_and_watches_are_counted_together() -> None:
    assert values(WELL)["rest_client_requests"] == {
        ("200", "127.0.0.1:6443", "GET"): 7,
        ("409", "127.0.0.1:6443", "POST"): 1,
    }


def test_everybody_s_numbers_have_their_names() -> None:
    shown = values(WELL)
    del shown["rest_client_requests"]
    assert shown == {
        "actorlet_api_calls": {("waiting",): 3, ("in_flight",): 1},
        "actorlet_credentials_readable": {(): 1},
        "actorlet_watch_streams": {(): 1},
        "actorlet_watch_connections": {(): 1},
        "actorlet_watch_reconnects": {("timeout",): 4},
        "actorlet_mirrors": {("wanted",): 2, ("present",): 1},
        "actorlet_mirror_create_errors": {("forbidden",): 6},
        "actorlet_events_posted": {(): 7},
        "actorlet_events_dropped": {("spam",): 8},
    }


def test_who_does_not_answer_has_no_numbers() -> None:
    silent = Unanswered(name="x", reason="did not answer")
    nobody = ClusterState(calls=silent, watches=silent, mirrors=silent, events=silent)
    assert values(nobody) == {"rest_client_requests": {}}


def test_a_good_connection_is_shown_with_the_server_and_the_user() -> None:
    assert api_server(WELL) == HealthCheck(name="api-server", ok=True, text=f"{SERVER} as n1")


def test_before_a_kubeconfig_could_be_read_there_is_no_server_to_show() -> None:
    unread = replace(WELL, calls=replace(CALLS, server="", user=""))
    assert api_server(unread) == HealthCheck(name="api-server", ok=True)


def test_what_is_wrong_is_said_once() -> None:
    failing = replace(PODS, state="waiting", error=REFUSED)
    assert isinstance(WELL.watches, WatchesDescribed)
    state = replace(
        WELL,
        calls=replace(CALLS, troubles=("cannot renew lease n1", REFUSED)),
        watches=replace(WELL.watches, watches=(failing, failing, PODS)),
    )
    assert api_server(state) == HealthCheck(
        name="api-server", ok=False, text=f"cannot renew lease n1; {REFUSED} (and 2 more)"
    )


def failing_secret(name: str, namespace: str = "shop", verb: str = "list") -> WatchDescribed:
    """Return how the watch of a Secret is that its node may not read."""
    path = f"/api/v1/namespaces/{namespace}/secrets"
    error = (
        f"cannot {verb} {path} (metadata.name={name}) at {SERVER} as n1: forbidden: secrets "
        f'"{name}" is forbidden: User "n1" cannot {verb} resource "secrets" in the namespace '
        f'"{namespace}": no relationship found'
    )
    target = WatchTarget(path=path, field_selector=f"metadata.name={name}")
    return replace(PODS, target=target, state="waiting", error=error)


def test_thousands_of_objects_that_fail_for_one_reason_are_one_sentence_and_a_count() -> None:
    assert isinstance(WELL.watches, WatchesDescribed)
    failing = tuple(failing_secret(f"s{number}") for number in range(4_998))
    other = failing_secret("db", "other")
    state = replace(WELL, watches=replace(WELL.watches, watches=(*failing, PODS, other)))
    assert api_server(state).text == f"{failing[0].error} (and 4,997 more); {other.error}"


def test_a_server_that_is_away_is_one_reason_in_all_namespaces() -> None:
    assert isinstance(WELL.watches, WatchesDescribed)
    secrets = (failing_secret("a", "shop"), failing_secret("b", "other"))
    text = "cannot watch {} ({}) at somewhere: connection refused"
    failing = tuple(
        replace(each, error=text.format(each.target.path, each.target.field_selector))
        for each in secrets
    )
    state = replace(WELL, watches=replace(WELL.watches, watches=failing))
    assert api_server(state).text == f"{failing[0].error} (and 1 more)"


def test_all_that_is_wrong_with_calls_is_said() -> None:
    troubles = ("cannot create event a: forbidden", "cannot get node n1: forbidden")
    state = replace(WELL, calls=replace(CALLS, troubles=troubles))
    assert api_server(state) == HealthCheck(
        name="api-server",
        ok=False,
        text="cannot create event a: forbidden; cannot get node n1: forbidden",
    )


def test_of_many_reasons_the_first_few_are_shown() -> None:
    assert isinstance(WELL.watches, WatchesDescribed)
    failing = tuple(replace(PODS, error=f"reason {number}") for number in range(1_000))
    state = replace(WELL, watches=replace(WELL.watches, watches=failing))
    shown = api_server(state).text.split("; ")
    assert shown == [*(f"reason {number}" for number in range(5)), "and 995 more reasons"]


def test_who_does_not_answer_is_wrong_too() -> None:
    silent = Unanswered(name="api-calls", reason="api-calls did not answer within 2 s")
    assert api_server(replace(WELL, calls=silent)) == HealthCheck(
        name="api-server", ok=False, text="api-calls did not answer within 2 s"
    )


# Credentials that cannot be read again.

UNREADABLE = "kubeconfig /k is not YAML (line 1)"


def test_credentials_that_cannot_be_read_again_are_said_while_calls_go_on_with_the_last() -> None:
    state = replace(WELL, calls=replace(CALLS, credentials_trouble=UNREADABLE))
    assert api_server(state) == HealthCheck(
        name="api-server",
        ok=True,
        text=f"{SERVER} as n1; credentials cannot be read again: {UNREADABLE}",
    )
    assert values(state)["actorlet_credentials_readable"] == {(): 0}


def test_credentials_that_cannot_be_read_again_are_said_beside_what_goes_wrong() -> None:
    refused = f"cannot renew lease n1 at {SERVER} as n1: unauthorized (HTTP 401)"
    calls = replace(CALLS, troubles=(refused,), credentials_trouble=UNREADABLE)
    assert api_server(replace(WELL, calls=calls)) == HealthCheck(
        name="api-server",
        ok=False,
        text=f"{refused}; credentials cannot be read again: {UNREADABLE}",
    )


def test_one_reason_of_calls_and_of_watches_is_said_once() -> None:
    calls = replace(
        CALLS,
        server="",
        troubles=(f"cannot get lease n1: {UNREADABLE}", f"cannot get node n1: {UNREADABLE}"),
        credentials_trouble=UNREADABLE,
    )
    failing = replace(PODS, state="waiting", error=f"cannot list /api/v1/pods: {UNREADABLE}")
    assert isinstance(WELL.watches, WatchesDescribed)
    watches = replace(WELL.watches, watches=(failing,))
    assert api_server(replace(WELL, calls=calls, watches=watches)) == HealthCheck(
        name="api-server", ok=False, text=f"cannot get lease n1: {UNREADABLE} (and 2 more)"
    )

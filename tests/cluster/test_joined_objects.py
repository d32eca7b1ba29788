"""Secrets and ConfigMaps of pods that a real API server binds, read as a node may: one by one.

What the agent holds of them is seen at ``/watchz``, what becomes of them at ``/events``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.agent.event_stream import EventLog
from tests.support.agent.joined_agent import OWN_STREAMS, JoinedAgent, Onlooker
from tests.support.agent.joined_objects import (
    add_all,
    config_map,
    eavesdropping,
    edit,
    eventually_gone,
    is_synced,
    make_anew,
    remove,
    row,
    secret,
    state,
    using,
    value,
    watchers,
)
from tests.support.agent.joined_pods import add_ephemeral_container, runs, status
from tests.support.agent.process import eventually
from tests.support.apiserver.subjects import pod
from tests.support.apiserver.users import NODE

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

NO_OBJECT = "a pod requires an object that does not exist"
RIGHTS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"

EVERY_REFERENCE: dict[str, Any] = {
    "imagePullSecrets": [{"name": "pull"}],
    "initContainers": [
        {
            "name": "init",
            "image": "registry.example/init:1",
            "envFrom": [{"secretRef": {"name": "init-all"}}],
            "env": [
                {
                    "name": "INIT",
                    "valueFrom": {"configMapKeyRef": {"name": "init-one", "key": "settings"}},
                }
            ],
        }
    ],
    "containers": [
        {
            "name": "main",
            "image": "registry.example/web:1",
            "envFrom": [
                {"secretRef": {"name": "all"}},
                {"configMapRef": {"name": "all"}},
            ],
            "env": [
                {
                    "name": "SECRET",
                    "valueFrom": {"secretKeyRef": {"name": "one", "key": "password"}},
                },
                {
                    "name": "CONFIG",
                    "valueFrom": {"configMapKeyRef": {"name": "one", "key": "settings"}},
                },
            ],
        }
    ],
    "volumes": [
        {"name": "secret", "secret": {"secretName": "files"}},
        {"name": "config", "configMap": {"name": "files"}},
        {
            "name": "projected",
            "projected": {
                "sources": [
                    {"secret": {"name": "projected"}},
                    {"configMap": {"name": "projected"}},
                ]
            },
        },
    ],
}
NAMED = {
    "Secret": ("pull", "init-all", "all", "one", "files", "projected"),
    "ConfigMap": ("init-one", "all", "one", "files", "projected"),
}


@pytest.fixture
def told(shared: JoinedAgent, onlooker: Onlooker, tidy: None) -> Iterator[EventLog]:  # noqa: ARG001  # ends later
    """Return what the module's agent tells at ``/events``. It holds nothing then, nor afterwards."""
    with eavesdropping(shared) as told:
        yield told
    onlooker.wipe("pods")
    eventually_gone(shared)


@pytest.fixture
def may_read_secrets(onlooker: Onlooker) -> Iterator[None]:
    """Give the node a right to all Secrets that does not depend on its pods' references."""
    named = {"metadata": {"name": "debugging"}}
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}
    role = {"kind": "Role", "name": "debugging"}
    user = {"kind": "User", "name": NODE}
    onlooker.create(f"{RIGHTS}/roles", {**named, "rules": [rule]})
    onlooker.create(f"{RIGHTS}/rolebindings", {**named, "roleRef": role, "subjects": [user]})
    yield
    onlooker.delete(f"{RIGHTS}/rolebindings/debugging")
    onlooker.delete(f"{RIGHTS}/roles/debugging")


def test_a_secret_is_followed_through_all_that_happens_to_it(
    shared: JoinedAgent, onlooker: Onlooker, told: EventLog
) -> None:
    first = onlooker.admin.add(secret("db"))
    onlooker.admin.add(using("web", secrets=["db"]))
    eventually(lambda: told.story("Secret", "db") == [("added", ("password",))])

    edited = edit(onlooker, "db", "second")
    eventually(lambda: told.story("Secret", "db")[1:] == [("modified", ("password",))])
    onlooker.admin.change("secrets", "default", "db", stringData={"user": value("shop")})
    eventually(lambda: told.story("Secret", "db")[2:] == [("modified", ("user",))])
    remove(onlooker, "db")
    eventually(lambda: told.story("Secret", "db")[3:] == [("deleted", ("password", "user"))])
    assert row(shared, "db") | {"ageSeconds": 0.0, "uid": ""} == row(shared, "db")

    again = onlooker.admin.add(secret("db"))
    eventually(lambda: told.story("Secret", "db")[4:] == [("added", ("password",))])
    uids = [each["uid"] for each in told.of("Secret", "db")]
    assert uids == [first["metadata"]["uid"]] * 4 + [again["metadata"]["uid"]]
    assert told.of("Secret", "db")[1]["resourceVersion"] == edited["metadata"]["resourceVersion"]
    assert row(shared, "db")["resourceVersion"] == again["metadata"]["resourceVersion"]
    eventually(lambda: is_synced(shared, "db"))


def test_an_object_may_come_after_the_pod_that_references_it(
    shared: JoinedAgent, onlooker: Onlooker, told: EventLog
) -> None:
    onlooker.admin.add(using("web", secrets=["late"], config_maps=["late"]))
    eventually(lambda: state(shared, "late") == "absent")
    eventually(lambda: state(shared, "late", "ConfigMap") == "absent")
    eventually(lambda: shared.metric("actorlet_objects").get("Secret absent") == 1.0)
    assert row(shared, "late")["uid"] == ""
    assert told.changes() == []

    made = onlooker.admin.add(secret("late"))
    onlooker.admin.add(config_map("late"))
    eventually(lambda: told.story("Secret", "late") == [("added", ("password",))])
    eventually(lambda: told.story("ConfigMap", "late") == [("added", ("settings",))])
    assert row(shared, "late")["uid"] == made["metadata"]["uid"]
    eventually(lambda: is_synced(shared, "late"))


def test_an_immutable_object_is_listed_and_watched_no_longer(
    shared: JoinedAgent, onlooker: Onlooker, told: EventLog
) -> None:
    frozen = secret("frozen", immutable=True)
    add_all(onlooker, [frozen, secret("other")])
    onlooker.admin.add(using("web", secrets=["frozen", "other"]))
    eventually(lambda: state(shared, "frozen") == "immutable")
    eventually(lambda: is_synced(shared, "other"))
    eventually(lambda: shared.streams() == OWN_STREAMS + 1)
    eventually(lambda: watchers(onlooker) == 1)

    # What becomes of it is no news, until a pod references it anew.
    again = make_anew(onlooker, frozen)
    edit(onlooker, "other", "second")
    eventually(lambda: told.story("Secret", "other")[1:] == [("modified", ("password",))])
    assert told.story("Secret", "frozen") == [("added", ("password",))]
    onlooker.admin.add(using("second", secrets=["frozen"]))
    eventually(lambda: row(shared, "frozen")["uid"] == again["metadata"]["uid"])
    twice = [("added", ("password",)), ("modified", ())]
    eventually(lambda: told.story("Secret", "frozen") == twice)
    eventually(lambda: state(shared, "frozen") == "immutable")
    eventually(lambda: shared.streams() == OWN_STREAMS + 1)


def test_what_no_pod_needs_any_more_is_let_go(
    shared: JoinedAgent, onlooker: Onlooker, told: EventLog
) -> None:
    onlooker.admin.add(secret("common"))
    onlooker.admin.add(using("first", secrets=["common", "of-first"]))
    onlooker.admin.add(using("second", secrets=["common"], config_maps=["of-second"]))
    eventually(lambda: is_synced(shared, "common") and state(shared, "of-first") == "absent")
    eventually(lambda: row(shared, "common")["references"] == 2)
    # One watch for both.
    eventually(lambda: shared.streams() == OWN_STREAMS + 3)

    onlooker.admin.remove("pods", "default", "first")
    eventually(lambda: {*shared.objects()} == {("Secret", "common"), ("ConfigMap", "of-second")})
    eventually(lambda: row(shared, "common")["references"] == 1)
    eventually(lambda: is_synced(shared, "common"))

    onlooker.admin.remove("pods", "default", "second")
    eventually_gone(shared)
    eventually(lambda: shared.streams() == OWN_STREAMS)
    eventually(lambda: watchers(onlooker) == 0)
    eventually(lambda: told.story("Secret", "common") == [("added", ("password",))])


def test_every_way_to_reference_an_object_is_seen(
    shared: JoinedAgent, onlooker: Onlooker, told: EventLog
) -> None:
    made = [secret(name) for name in NAMED["Secret"]]
    made += [config_map(name) for name in NAMED["ConfigMap"]]
    names = {(each["kind"], each["metadata"]["name"]) for each in made}
    add_all(onlooker, made)
    onlooker.admin.add(pod("web", **EVERY_REFERENCE))
    eventually(lambda: {(each["kind"], each["name"]) for each in told.changes()} == names)
    assert {*shared.objects()} == names
    eventually(lambda: {row["state"] for row in shared.objects().values()} == {"synced"})


# The Node authorizer of 1.20 passes over the references of such a container.
@pytest.mark.usefixtures("may_read_secrets")
def test_a_container_that_comes_later_may_reference_more(
    shared: JoinedAgent, onlooker: Onlooker, told: EventLog
) -> None:
    onlooker.admin.add(secret("debug"))
    onlooker.admin.add(pod("web"))
    eventually(lambda: runs(onlooker, "web"))  # nobody writes its status any more
    source = [{"secretRef": {"name": "debug"}}]
    container = {"name": "debug", "image": "registry.example/debug:1", "envFrom": source}
    add_ephemeral_container(onlooker, "web", container)
    eventually(lambda: told.story("Secret", "debug") == [("added", ("password",))])
    eventually(lambda: is_synced(shared, "debug"))


@pytest.mark.usefixtures("told")
def test_a_pod_whose_secret_is_missing_has_an_event_and_one_when_that_is_over(
    onlooker: Onlooker,
) -> None:
    onlooker.admin.add(using("web", secrets=["db"]))
    missing = ("Warning", "FailedMount", 'Secret "db" not found')
    eventually(lambda: _events_of(onlooker, "web") == [missing])

    onlooker.admin.add(secret("db"))
    over = ("Normal", "ReferenceResolved", 'Secret "db" can be used now')
    started = {("Normal", "Pulled"), ("Normal", "Created"), ("Normal", "Started")}

    def others() -> set[tuple[str, str]]:
        events = _events_of(onlooker, "web")
        return {each[:2] for each in events if each not in {missing, over}}

    # It starts at once, and nobody else has said anything about what it waited for.
    eventually(lambda: over in _events_of(onlooker, "web") and others() == started)
    assert len(_events_of(onlooker, "web")) == 5


@pytest.mark.usefixtures("told")
def test_a_container_whose_variables_need_a_missing_secret_has_one_event_for_that(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    source = {"secretKeyRef": {"name": "db", "key": "password"}}
    container = {
        "name": "main",
        "image": "registry.example/web:1",
        "env": [{"name": "PASSWORD", "valueFrom": source}],
    }
    before = shared.log().count(NO_OBJECT)
    onlooker.admin.add(pod("web", containers=[container]))

    def waits() -> bool:
        wanted = {"reason": "CreateContainerConfigError", "message": 'secret "db" not found'}
        shown = status(onlooker, "web").get("containerStatuses", ())
        return [each["state"].get("waiting") for each in shown] == [wanted]

    eventually(waits)
    missing = ("Warning", "Failed", 'Error: secret "db" not found')
    eventually(lambda: missing in _events_of(onlooker, "web"))
    # Who holds objects has noticed it as well by now, and has told it in the log alone.
    eventually(lambda: shared.log().count(NO_OBJECT) > before)
    onlooker.admin.add(secret("db"))
    eventually(lambda: runs(onlooker, "web"))
    warnings = [each for each in _events_of(onlooker, "web") if each[0] == "Warning"]
    assert warnings == [missing]


def _events_of(onlooker: Onlooker, pod: str) -> list[tuple[str, str, str]]:
    """Return the events about a pod, the first one first: type, reason and message."""
    events = onlooker.admin.events()
    about = [each for each in events if each["involvedObject"].get("name") == pod]
    about.sort(key=lambda each: each["metadata"]["name"])
    return [(each["type"], each["reason"], each["message"]) for each in about]

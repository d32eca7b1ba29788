"""Secrets and ConfigMaps of a real cluster, pods that use them, and who must never see their values.

Every value begins with one canary, and is looked for in all that people get to see of an agent.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from messages.pods import JsonObject
from tests.support.agent.event_stream import EventLog, event_log
from tests.support.agent.joined_agent import NODE_NAME, JoinedAgent, Onlooker
from tests.support.agent.process import eventually
from tests.support.apiserver.subjects import pod

CANARY: Final = "canary-5b19e7c0"
"""15 characters: as many as make base64 of their own, whatever follows them."""
CANARIES: Final = (CANARY, base64.b64encode(CANARY.encode()).decode())
PAGES: Final = (
    "/watchz",
    "/metrics",
    "/sourcez",
    "/actorz",
    "/configz",
    "/pods",
    "/readyz?verbose",
    "/healthz?verbose",
)
PLURALS: Final = {"Secret": "secrets", "ConfigMap": "configmaps"}

_WATCHERS: Final = ("apiserver_longrunning_gauge", "apiserver_longrunning_requests")
"""Up to 1.22, and since."""
_COUNTED: Final = re.compile(r"^(apiserver_\w+)\{(.*)\} (\S+)$", re.MULTILINE)


# --- objects ----------------------------------------------------------------------------------------


def secret(name: str, **fields: Any) -> JsonObject:
    """Return a Secret with one key."""
    metadata = {"name": name, "namespace": "default"}
    values = {"stringData": {"password": value(name)}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **values, **fields}


def config_map(name: str, **fields: Any) -> JsonObject:
    """Return a ConfigMap with one key."""
    metadata = {"name": name, "namespace": "default"}
    values = {"data": {"settings": value(name)}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **values, **fields}


def value(text: str) -> str:
    """Return a value that nobody may see."""
    return f"{CANARY} {text}"


def using(
    name: str,
    *,
    secrets: Iterable[str] = (),
    config_maps: Iterable[str] = (),
    node: str = NODE_NAME,
) -> JsonObject:
    """Return a pod that mounts these."""
    volumes = [
        *({"secret": {"secretName": each}} for each in secrets),
        *({"configMap": {"name": each}} for each in config_maps),
    ]
    named = [{"name": f"v{number}", **volume} for number, volume in enumerate(volumes)]
    return pod(name, node, volumes=named)


def add_all(onlooker: Onlooker, documents: Iterable[JsonObject]) -> None:
    """Create objects."""
    for document in documents:
        onlooker.admin.add(document)


def edit(onlooker: Onlooker, name: str, text: str) -> JsonObject:
    """Give a Secret another password; return it."""
    return onlooker.admin.change("secrets", "default", name, stringData={"password": value(text)})


def remove(onlooker: Onlooker, name: str) -> None:
    onlooker.admin.remove("secrets", "default", name)


def remove_all(onlooker: Onlooker, names: Iterable[str]) -> None:
    for name in names:
        remove(onlooker, name)


def make_anew(onlooker: Onlooker, document: JsonObject) -> JsonObject:
    """Delete an object and create it again; return it."""
    onlooker.admin.remove(PLURALS[document["kind"]], "default", document["metadata"]["name"])
    return onlooker.admin.add(document)


def wipe_objects(onlooker: Onlooker) -> None:
    """Remove all Secrets and ConfigMaps."""
    for plural in PLURALS.values():
        onlooker.delete(f"/api/v1/namespaces/default/{plural}")


def versions(onlooker: Onlooker) -> dict[tuple[str, str], tuple[str, str]]:
    """Return UID and version of what the API server has, by kind and name."""
    return {
        (item["kind"], metadata["name"]): (metadata["uid"], metadata["resourceVersion"])
        for plural in PLURALS.values()
        for item in onlooker.admin.all(plural)
        if (metadata := item["metadata"])["namespace"] == "default"
    }


# --- how the agent holds them -----------------------------------------------------------------------


def row(agent: JoinedAgent, name: str, kind: str = "Secret") -> dict[str, Any]:
    """Return how an object is held; empty when it is not."""
    return agent.objects().get((kind, name), {})


def state(agent: JoinedAgent, name: str, kind: str = "Secret") -> str:
    """Return the state in which an object is held, empty when it is not or is in trouble."""
    found = row(agent, name, kind)
    return found["state"] if found and not found["lastError"] else ""


def is_synced(agent: JoinedAgent, *names: str) -> bool:
    """Whether these Secrets are all watched."""
    return {state(agent, name) for name in names} == {"synced"}


# --- what the API server sees of it -----------------------------------------------------------------


def served(onlooker: Onlooker, verb: str, plural: str = "secrets") -> float:
    """Return how many requests of a verb for Secrets the API server has answered with a 200."""
    return _requests(onlooker, {f'verb="{verb}"', 'code="200"', f'resource="{plural}"'})


def asked(onlooker: Onlooker, verb: str, plural: str) -> float:
    """Return how many requests of a verb for objects of a kind the API server has answered somehow."""
    return _requests(onlooker, {f'verb="{verb}"', f'resource="{plural}"'})


def _requests(onlooker: Onlooker, wanted: set[str]) -> float:
    return sum(
        count
        for name, labels, count in _counters(onlooker)
        if name == "apiserver_request_total" and wanted <= labels
    )


def watchers(onlooker: Onlooker, plural: str = "secrets") -> int:
    """Return how many watches the API server has open within namespaces: its own are of all of them."""
    wanted = {'verb="WATCH"', f'resource="{plural}"'}
    return int(
        sum(
            count
            for name, labels, count in _counters(onlooker)
            if name in _WATCHERS and wanted <= labels and 'scope="cluster"' not in labels
        )
    )


def _counters(onlooker: Onlooker) -> Iterator[tuple[str, set[str], float]]:
    for name, labels, count in _COUNTED.findall(onlooker.admin.text("/metrics")):
        yield name, {*labels.split(",")}, float(count)


# --- who must not see them --------------------------------------------------------------------------


@contextmanager
def eavesdropping(agent: JoinedAgent) -> Iterator[EventLog]:
    """Give what the agent tells at ``/events``; at the end nobody must have got to see a value.

    The agent runs until then.
    """
    with event_log(agent.port) as told:
        yield told
    shown = {"/events": told.text, "the log": agent.dump()}
    shown |= {page: agent.get(page)[1] for page in PAGES}
    leaks = [where for where, text in shown.items() if is_seen_in(text)]
    assert not leaks, f"a value is shown by {leaks}"


def eventually_gone(agent: JoinedAgent) -> None:
    """Return once the agent holds nothing."""
    eventually(lambda: agent.objects() == {})


def is_seen_in(text: str) -> bool:
    """Whether a value is in a text, as it is or as the API has it."""
    return any(canary in text for canary in CANARIES)

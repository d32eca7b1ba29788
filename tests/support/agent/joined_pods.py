"""Hollow pods at a real API server, and what becomes of them there, version by version."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from messages.api import ApiRequest, Patch, Verb
from messages.pods import JsonObject
from tests.support.agent.joined_agent import Onlooker, condition
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.subjects import PODS, pod

RUN_FOR: Final = "hollow.actorlet/run-for"
EXITS: Final = "hollow.actorlet/exits"
STOPS_IN: Final = "hollow.actorlet/time-to-stop"
IGNORES_SIGTERM: Final = "hollow.actorlet/ignores-sigterm"
WATCHED_FOR: Final = 30
"""Seconds until events of a pod are missed."""


def annotated(name: str, annotations: dict[str, str], **spec: Any) -> JsonObject:
    """Return a pod whose hollow containers behave as ``annotations`` say."""
    plain = pod(name, **spec)
    return {**plain, "metadata": {**plain["metadata"], "annotations": annotations}}


class PodHistory:
    """What became of the pods in the namespace ``default`` since the test began, version by version."""

    def __init__(self, admin: ApiClient) -> None:
        self._admin = admin
        listed = admin.handle(ApiRequest(verb=Verb.GET, path=PODS))
        self._since = listed["metadata"]["resourceVersion"]

    def of(self, name: str) -> list[JsonObject]:
        """Return the events of a pod; the last one is its deletion if it is gone."""
        listed = self._admin.handle(ApiRequest(verb=Verb.GET, path=PODS))["items"]
        now = [_version(each) for each in listed if each["metadata"]["name"] == name]
        seen: list[JsonObject] = []
        # The API server remembers for minutes what happened.
        with self._admin.watch(PODS, since=self._since, seconds=WATCHED_FOR) as events:
            for each in events:
                if each["object"]["metadata"].get("name") == name:
                    seen.append(each)
                if _is_whole(seen, now):
                    return seen
        raise AssertionError(f"of {name} there is {now}, and nothing was told but {seen}")

    def phases(self, name: str) -> list[str]:
        """Return the phases that a pod went through."""
        seen = (each["object"]["status"].get("phase", "") for each in self.of(name))
        return [phase for phase, _ in groupby(seen)]

    def restarts(self, name: str) -> list[int]:
        """Return the restart counts that the only container of a pod went through."""
        seen = (each["object"]["status"].get("containerStatuses") or () for each in self.of(name))
        return [count for count, _ in groupby(one["restartCount"] for all_ in seen for one in all_)]

    def last_state(self, name: str) -> JsonObject:
        """Return the state of the only container when the pod was deleted for good."""
        last = self.of(name)[-1]
        assert last["type"] == "DELETED"
        (container,) = last["object"]["status"]["containerStatuses"]
        state: JsonObject = container["state"]
        return state


def _version(pod: JsonObject) -> int:
    return int(pod["metadata"]["resourceVersion"])


def _is_whole(seen: Sequence[JsonObject], now: Sequence[int]) -> bool:
    """Whether the last event of a pod is there: its version of ``now``, or its deletion if it has none."""
    if not seen:
        return False
    return _version(seen[-1]["object"]) >= now[0] if now else seen[-1]["type"] == "DELETED"


def add_ephemeral_container(onlooker: Onlooker, name: str, container: JsonObject) -> None:
    """Have a pod debugged, as API servers take it now and as they took it up to 1.21."""
    path = f"/api/v1/namespaces/default/pods/{name}/ephemeralcontainers"
    containers = {"ephemeralContainers": [container]}
    body = {"spec": containers, **containers}
    onlooker.admin.handle(ApiRequest(verb=Verb.PATCH, path=path, body=body, patch=Patch.STRATEGIC))


def is_gone(onlooker: Onlooker, name: str) -> bool:
    """Whether there is no such pod."""
    return not onlooker.admin.has("pods", "default", name)


def status(onlooker: Onlooker, name: str) -> JsonObject:
    """Return the status of a pod; empty if there is no such pod."""
    found = onlooker.pod(name)
    return found["status"] if found is not None else {}


def waiting(onlooker: Onlooker, name: str) -> JsonObject:
    """Return what the first container of a pod waits for; empty if it does not wait, or is not shown."""
    first, *_ = status(onlooker, name).get("containerStatuses") or [{}]
    state: JsonObject = first.get("state") or {}
    return state.get("waiting") or {}


def runs(onlooker: Onlooker, name: str) -> bool:
    """Whether a pod runs and is ready, as ``kubectl wait`` asks."""
    now = status(onlooker, name)
    return now.get("phase") == "Running" and condition({"status": now}, "Ready")["status"] == "True"

"""What an administrator does to an API server's objects, in memory or at a real one.

``add``, ``get``, ``change`` and ``remove`` read better than requests do, and are nothing but requests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from tests.support.apiserver.paths import POD, Place, kind_named, place_for
from tests.support.apiserver.status import StatusError


class AdminApi(ABC):
    """See the module."""

    @abstractmethod
    def handle(self, request: ApiRequest) -> JsonObject:
        """Return the API server's answer. Raises ``StatusError``."""

    def add(self, document: JsonObject) -> JsonObject:
        """Create an object with its status, and its namespace when there is none; return it."""
        place = place_for(document)
        if place.namespace and not self.has("namespaces", place.namespace):
            self.add({"kind": "Namespace", "metadata": {"name": place.namespace}})
        added = self.handle(ApiRequest(verb=Verb.CREATE, path=place.path, body=document))
        if place.kind is POD and "status" in document:
            where = (place.namespace, added["metadata"]["name"])
            return self.change("pods", *where, status=document["status"])
        return added

    def get(self, plural: str, *where: str) -> JsonObject:
        """Return an object: ``get("pods", "default", "web")``, ``get("nodes", "n1")``."""
        return self.handle(ApiRequest(verb=Verb.GET, path=_place(plural, where).path))

    def has(self, plural: str, *where: str) -> bool:
        """Return whether there is such an object."""
        try:
            self.get(plural, *where)
        except StatusError as error:
            if error.code == HTTPStatus.NOT_FOUND:
                return False
            raise
        return True

    def change(self, plural: str, *where: str, **patch: Any) -> JsonObject:
        """Merge ``patch`` into an object, its status included; return it."""
        place = _place(plural, where)
        parts = _halves(place, patch)
        return [self._patch(path, body) for path, body in parts][-1]

    def _patch(self, path: str, body: JsonObject) -> JsonObject:
        return self.handle(ApiRequest(verb=Verb.PATCH, path=path, body=body))

    def remove(self, plural: str, *where: str, grace: int | None = 0) -> None:
        """Delete an object: by force unless ``grace`` says how long pods have; None is their own wish."""
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        self.handle(ApiRequest(verb=Verb.DELETE, path=_place(plural, where).path, body=options))

    def all(self, plural: str) -> tuple[JsonObject, ...]:
        """Return all objects of a kind, by namespace and name."""
        kind = kind_named(plural)
        answer = self.handle(ApiRequest(verb=Verb.GET, path=Place(kind=kind).path))
        typed = {"apiVersion": kind.api_version, "kind": kind.name}
        return tuple({**typed, **item} for item in answer["items"])

    def pods(self) -> tuple[JsonObject, ...]:
        return self.all("pods")

    def events(self) -> tuple[JsonObject, ...]:
        return self.all("events")


def _place(plural: str, where: tuple[str, ...]) -> Place:
    *namespace, name = where
    return Place(kind=kind_named(plural), namespace="".join(namespace), name=name)


def _halves(place: Place, patch: dict[str, Any]) -> Iterator[tuple[str, JsonObject]]:
    """Give the path and the patch of the object, and of its status where that stands apart."""
    rest = {key: value for key, value in patch.items() if key != "status"}
    if rest or not place.kind.has_status:
        yield place.path, rest if place.kind.has_status else patch
    if "status" in patch and place.kind.has_status:
        yield f"{place.path}/status", {"status": patch["status"]}

"""The objects of an API server in memory, and what the real one does when it is asked about them.

``handle`` takes the requests that agents send, as an administrator or as a node; the contract suite
holds it to a real kube-apiserver. Documents that were handed out are never written to. Any thread may
call.

There are no controllers behind it: nothing schedules pods, and nothing collects what a deleted Node owned.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime

from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from tests.support.apiserver import node_rules, rules
from tests.support.apiserver.history import Change, History, Pages
from tests.support.apiserver.issuing import TokenWish, issued
from tests.support.apiserver.patches import Document, patched
from tests.support.apiserver.paths import (
    LEASE,
    NAMESPACE,
    NODE,
    POD,
    SERVICE,
    Kind,
    Place,
    is_selected,
    place_for,
    place_of,
    unsupported_field,
)
from tests.support.apiserver.reviewing import Reviews
from tests.support.apiserver.status import (
    StatusError,
    already_exists,
    bad_request,
    conflict,
    method_not_allowed,
    no_such_path,
    not_found,
)

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


@dataclass(slots=True, kw_only=True, eq=False)
class Refusal:
    """An admission webhook that refuses, until it is lifted."""

    when: Callable[[ApiRequest], bool]
    code: int
    reason: str
    message: str
    is_lifted: bool = False

    def lift(self) -> None:
        self.is_lifted = True


class ApiCore:
    """See the module. ``now`` is the wall clock; ``history`` how many changes can be watched later.

    ``strict_nodes`` shows nodes nothing but their own pods and Node, as API servers since 1.32 do.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float] = time.time,
        history: int = 1000,
        strict_nodes: bool = False,
        new_uid: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self._now = now
        self._new_uid = new_uid
        self._strict_nodes = strict_nodes
        self._objects: dict[tuple[Kind, str, str], Document] = {}
        self._tokens = 0
        self._pages = Pages()
        self._refusals: list[Refusal] = []
        self._lock = threading.RLock()
        self.history = History(history)
        self.reviews = Reviews()
        for name in NAMESPACES:
            path = Place(kind=NAMESPACE).path
            self.handle(ApiRequest(verb=Verb.CREATE, path=path, body={"metadata": {"name": name}}))

    # --- as a client ---------------------------------------------------------------------------------

    def handle(self, request: ApiRequest, *, as_node: str = "") -> JsonObject:
        """Return the API server's answer to an administrator, or to the node called ``as_node``.

        Raises ``StatusError``, which holds the Status that the API server would send.
        """
        review = self.reviews.answer(request)
        return self._handled(request, as_node) if review is None else review

    def _handled(self, request: ApiRequest, as_node: str) -> JsonObject:
        place = place_of(request.path)
        if place is None:
            raise no_such_path()
        with self._lock:
            selector = request.query.get("fieldSelector", "")
            if as_node:
                self.check_node_access(as_node, request.verb, place, selector)
            match request.verb, bool(place.name):
                case Verb.GET, True:
                    return self._found(place)
                case Verb.GET, False:
                    return self._listed(place, request)
                case Verb.CREATE, _:
                    return self._created(place, request, as_node)
                case Verb.UPDATE | Verb.PATCH, True:
                    return self._updated(place, request, as_node)
                case Verb.DELETE, True:
                    return self._deleted(place, request, as_node)
                case _:
                    raise method_not_allowed()

    def check_node_access(self, node: str, verb: Verb, place: Place, selector: str) -> None:
        """Raise ``StatusError`` unless the node may send such a request at all."""
        node_rules.check_access(
            node_rules.Asked(
                node=node,
                verb=verb,
                place=place,
                selector=selector,
                pods=tuple(self._in(Place(kind=POD))),
                strict=self._strict_nodes,
            )
        )

    def collection(self, path: str, selector: str) -> Place:
        """Return the collection at ``path``; raises ``StatusError`` for one that cannot be watched."""
        place = place_of(path)
        if place is None or place.name:
            raise no_such_path()
        wrong = unsupported_field(place.kind, selector)
        if wrong:
            raise bad_request(
                f'Unable to find "/v1, Resource={place.kind.plural}" that match label selector "", '
                f'field selector "{selector}": field label not supported: {wrong}'
            )
        return place

    def remembers(self, since: str) -> bool:
        """Return whether ``follow`` can begin at version ``since``."""
        return bool(since) and int(since) >= self.history.compacted

    def follow(self, since: str, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Have ``listener`` told every change after version ``since``; return what ends it.

        Called by whoever makes the change, in between, so it must not take long. Raises a 410 when
        ``since`` is forgotten.
        """
        with self._lock:
            return self.history.follow(int(since), listener)

    def refuse(
        self,
        when: Callable[[ApiRequest], bool],
        *,
        code: int = 403,
        reason: str = "Forbidden",
        message: str = "not here",
    ) -> Refusal:
        """Install an admission webhook that refuses the changes that ``when`` picks; return it."""
        refusal = Refusal(when=when, code=code, reason=reason, message=message)
        self._refusals.append(refusal)
        return refusal

    def compact(self) -> None:
        """Forget all changes up to here: whoever resumes from an earlier version gets a 410."""
        with self._lock:
            self.history.compact()
            self._pages.forget()

    def back_up(self) -> Callable[[], None]:
        """Return what puts everything back as it is now, versions too, as a backup of etcd does."""
        with self._lock:
            objects, version = dict(self._objects), self.history.version

        def put_back() -> None:
            with self._lock:
                self._objects = dict(objects)
                self.history.go_back(version)

        return put_back

    def bring_back(self, document: JsonObject) -> None:
        """Have an object as it was, under its old UID, as a backup that is restored does."""
        with self._lock:
            place = place_for(document)
            key = (place.kind, place.namespace, document["metadata"]["name"])
            self._put(place, self._objects.get(key), dict(document))

    # --- each verb -----------------------------------------------------------------------------------------

    def _found(self, place: Place) -> Document:
        found = self._objects.get((place.kind, place.namespace, place.name))
        if found is None:
            raise not_found(place.kind, place.name)
        return found

    def _listed(self, place: Place, request: ApiRequest) -> JsonObject:
        selector = request.query.get("fieldSelector", "")
        self.collection(request.path, selector)
        items = [item for item in self._in(place) if is_selected(item, selector)]
        limit = int(request.query.get("limit", "0"))
        page = self._pages.page(
            items, self.history.version, limit, request.query.get("continue", "")
        )
        return {
            "kind": f"{place.kind.name}List",
            "apiVersion": place.kind.api_version,
            "metadata": page.metadata,
            "items": [_without_type(item) for item in page.items],
        }

    def _created(self, place: Place, request: ApiRequest, node: str) -> JsonObject:
        if place.subresource == "token":
            return self._token(place, request, node)
        if place.name:
            raise method_not_allowed()
        wanted = rules.checked_for_create(place, deepcopy(request.body or {}))
        metadata = wanted["metadata"]
        if place.namespace:
            metadata["namespace"] = place.namespace
            self._found(Place(kind=NAMESPACE, name=place.namespace))
        if node:
            self._check_node_creates(node, place.kind, wanted)
        self._admit(request)
        if (place.kind, place.namespace, metadata["name"]) in self._objects:
            raise already_exists(place.kind, metadata["name"])
        if place.kind is SERVICE:
            others = self._in(Place(kind=SERVICE))
            wanted = rules.with_address(
                wanted, (each["spec"].get("clusterIP", "") for each in others)
            )
        metadata["uid"] = self._new_uid()
        metadata["creationTimestamp"] = self._time(0)
        return self._put(place, None, wanted)

    def _token(self, place: Place, request: ApiRequest, node: str) -> JsonObject:
        body = request.body or {}
        name = ((body.get("spec") or {}).get("boundObjectRef") or {}).get("name", "")
        self._tokens += 1
        return issued(
            TokenWish(
                place=place,
                body=body,
                account=self._objects.get((place.kind, place.namespace, place.name)),
                pod=self._objects.get((POD, place.namespace, name)),
                node=node,
                now=self._now(),
                number=self._tokens,
            )
        )

    def _updated(self, place: Place, request: ApiRequest, node: str) -> JsonObject:
        body = deepcopy(request.body or {})
        known = (place.kind, place.namespace, place.name) in self._objects
        if request.verb is Verb.UPDATE and place.kind.created_by_update and not known:
            if (body.get("metadata") or {}).get("uid"):
                raise conflict(place.kind, place.name, "it was another object of this name")
            return self._created(Place(kind=place.kind, namespace=place.namespace), request, node)
        old = self._found(place)
        wanted = body if request.verb is Verb.UPDATE else patched(old, body, request.patch)
        new = rules.checked_for_update(place, old, wanted, is_patch=request.verb is Verb.PATCH)
        if node and place.kind is POD:
            node_rules.check_pod_change(node, old, new)
        elif node and place.kind is NODE:
            node_rules.check_node(node, old, new)
        self._admit(request)
        if _without_version(new) == _without_version(old):
            return old
        if "deletionTimestamp" in old["metadata"] and _is_released(old, new):
            return self._put(place, old, None)
        return self._put(place, old, new)

    def _deleted(self, place: Place, request: ApiRequest, node: str) -> JsonObject:
        old = self._found(place)
        options = request.body or {}
        rules.check_preconditions(place, old, options)
        if node and place.kind is POD:
            node_rules.check_pod_change(node, old, None)
        self._admit(request)
        grace = rules.grace_period(place.kind, old, options.get("gracePeriodSeconds"))
        metadata = old["metadata"]
        stays = grace > 0 or "finalizers" in metadata
        if stays and metadata.get("deletionGracePeriodSeconds", grace + 1) <= grace:
            return old
        if stays or place.kind is POD:
            # A pod is marked even when it goes at once: those who watch are told of both.
            marks = {"deletionTimestamp": self._time(grace), "deletionGracePeriodSeconds": grace}
            old = self._put(place, old, {**old, "metadata": {**metadata, **marks}})
        return old if stays else self._put(place, old, None)

    def _check_node_creates(self, node: str, kind: Kind, wanted: JsonObject) -> None:
        if kind is POD:
            node_rules.check_pod_create(node, wanted, self._node_uid(node))
        elif kind is NODE:
            node_rules.check_node(node, None, wanted)
        elif kind is LEASE:
            node_rules.check_lease(node, wanted)

    def _put(self, place: Place, old: Document | None, new: Document | None) -> Document:
        """Store ``new`` or remove what it replaces, with the next version; return the last state."""
        version = str(self.history.version + 1)
        last: Document = dict(new or old or {})
        last["metadata"] = {**last["metadata"], "resourceVersion": version}
        key = (place.kind, place.namespace, last["metadata"]["name"])
        if new is None:
            del self._objects[key]
        else:
            self._objects[key] = last
        self.history.record(
            Change(
                kind=place.kind,
                namespace=place.namespace,
                before=old,
                after=last,
                is_gone=new is None,
            )
        )
        return last

    def _in(self, place: Place) -> Iterator[Document]:
        with self._lock:
            keys = sorted(
                (key for key in self._objects if key[0] is place.kind), key=lambda k: k[1:]
            )
            return iter([self._objects[key] for key in keys if place.namespace in {"", key[1]}])

    def _admit(self, request: ApiRequest) -> None:
        for refusal in self._refusals:
            if not refusal.is_lifted and refusal.when(request):
                raise StatusError(
                    refusal.code,
                    refusal.reason,
                    f'admission webhook "rules.example" denied the request: {refusal.message}',
                )

    def _node_uid(self, node: str) -> str | None:
        found = self._objects.get((NODE, "", node))
        return found["metadata"]["uid"] if found else None

    def _time(self, later: float) -> str:
        moment = datetime.fromtimestamp(self._now() + later, UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _without_type(document: JsonObject) -> JsonObject:
    return {key: value for key, value in document.items() if key not in {"kind", "apiVersion"}}


def _without_version(document: JsonObject) -> JsonObject:
    return {**document, "metadata": {**document["metadata"], "resourceVersion": ""}}


def _is_released(old: JsonObject, new: JsonObject) -> bool:
    """Return whether the last finalizer of an object that is being deleted was taken off."""
    grace = old["metadata"].get("deletionGracePeriodSeconds", 0)
    return not grace and not new["metadata"].get("finalizers")

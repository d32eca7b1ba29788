"""The handlers of the page, its files, and the headers that browsers get with them.

Each request asks the actors, as those of all other paths do. The files are read once. They are made by hand:
no build step, nothing from elsewhere. The browser is told to run and to show nothing but these, and to refuse
texts as markup.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import ETag, web

from manifests.times import rfc3339_milli
from messages.pods import JsonObject, Pod
from messages.probing import AnswersDescribed, ProbesDescribed
from messages.statuses import StatusesDescribed
from server import documents, questions
from server.backend import EndpointBackend
from server.health import runtime_shown
from server.health_pages import cluster_checks, healthiness, readiness
from server.json_answers import joined, json_answer
from server.object_pages import watchz
from server.pod_questions import background_of, count_of_old_variables, story_of
from server.pod_summary import is_well, pod_summary
from server.probe_pages import ProbeState, probez
from server.questions import Unanswered, answered
from server.ui import pod_table, tables
from server.ui.paging import PageAsked, WrongPageError
from stores.statuses.rendering import with_status

INDEX: Final = "index.html"
KINDS: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The Content-Security-Policy of every file. The last two make the browser refuse markup made of texts."""

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # asked for each time, so that files of two versions never mix
    "Vary": "Accept",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """One file of the page."""

    body: bytes
    kind: str
    tag: str
    """Another one for another content."""


def static_files() -> dict[str, StaticFile]:
    """Return the files of the page by name. Blocks for the time of reading them."""
    folder = Path(__file__).with_name("static")
    return {path.name: _read(path) for path in sorted(folder.iterdir()) if path.suffix in KINDS}


def tag_of(files: Mapping[str, StaticFile]) -> str:
    """Return what tells this page from that of another version."""
    tags = "".join(each.tag for each in files.values())
    return hashlib.sha256(tags.encode()).hexdigest()[:16]


def file_answer(request: web.Request, file: StaticFile) -> web.Response:
    """Return ``file``, or that the browser has it already."""
    tag = ETag(value=file.tag)
    known = request.if_none_match or ()
    if any(each.value in {file.tag, "*"} for each in known):
        response = web.Response(status=304, headers=HEADERS)
    else:
        response = web.Response(
            body=file.body, content_type=file.kind, charset="utf-8", headers=HEADERS
        )
    response.etag = tag
    return response


def wants_page(request: web.Request) -> bool:
    """Return whether the client is a browser that shows pages, not a program."""
    kinds = (
        each.partition(";")[0].strip().lower()
        for each in request.headers.get("Accept", "").split(",")
    )
    return "text/html" in kinds


def _read(path: Path) -> StaticFile:
    body = path.read_bytes()
    return StaticFile(body=body, kind=KINDS[path.suffix], tag=hashlib.sha256(body).hexdigest()[:32])


_PROCESS = Path("/proc/self")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_STARTED = 19
"""The place of the time of start in ``stat``, counted from the field behind the name."""

_NEVER_KEPT = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def process_usage() -> JsonObject:
    """Return its processor time, memory and age, as the kernel tells them."""
    behind_name = (_PROCESS / "stat").read_text().rpartition(")")[2].split()
    resident = int((_PROCESS / "statm").read_text().split()[1])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(behind_name[_STARTED]) / _TICKS
    return {
        "cpuSeconds": round(time.process_time(), 3),
        "residentBytes": resident * _PAGE,
        "ageSeconds": round(max(0.0, age), 2),
    }


class UiPages:
    """The page, and the documents that it shows."""

    def __init__(self, backend: EndpointBackend) -> None:
        self._backend = backend
        self._files = static_files()
        self._tag = tag_of(self._files)

    def routes(self) -> dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]:
        """Return the handlers by path."""
        return {
            "/ui": self.page,
            "/ui/": self.page,
            "/ui/agent": self.agent,
            "/ui/pods": self.pods,
            "/ui/pods/{uid}": self.pod,
            "/ui/manifests": self.manifests,
            "/ui/objects": self.objects,
            "/ui/events": self.events,
            "/ui/actors": self.actors,
            "/ui/{file}": self.file,
        }

    async def page(self, request: web.Request) -> web.Response:
        """Return the page."""
        return file_answer(request, self._files[INDEX])

    async def file(self, request: web.Request) -> web.Response:
        """Return one file of the page."""
        found = self._files.get(request.match_info["file"])
        if found is None:
            raise web.HTTPNotFound
        return file_answer(request, found)

    async def agent(self, request: web.Request) -> web.Response:
        """Return how the agent is: its node, its health, its sources, the API server."""
        backend = self._backend
        (health, ready, cluster), sources, pods, statuses, runtimes = await asyncio.gather(
            asyncio.gather(healthiness(backend), readiness(backend), cluster_checks(backend)),
            backend.all_sources(),
            backend.ask(questions.PODS),
            backend.ask(questions.STATUSES),
            asyncio.gather(
                backend.ask(questions.RUNTIME), backend.ask(questions.CONTAINER_RUNTIME)
            ),
        )
        now = backend.system.clock.wall()
        known = statuses.statuses if isinstance(statuses, StatusesDescribed) else {}
        counts = None
        if not isinstance(pods, Unanswered):
            old = await count_of_old_variables(backend, pods.pods, known)
            counts = {**pod_table.pod_counts(pods.pods, known, now), "oldVariables": old}
        document = {
            "node": backend.node_name,
            "version": documents.release(backend.releases()),
            "runtime": runtime_shown(backend.runtime_kind, *runtimes),
            "page": self._tag,
            "process": process_usage(),
            "pods": counts,
            "now": rfc3339_milli(now),
            "chaos": backend.chaos,
            "health": tables.report_shown(health),
            "readiness": tables.report_shown(ready),
            "cluster": list(tables.checks_shown(cluster)),
            "sources": tables.sources_shown(sources, now),
        }
        return await json_answer(request, document, headers=_NEVER_KEPT)

    async def pods(self, request: web.Request) -> web.Response:
        """Return a page of the pods that this node should have."""
        asked = _asked(request, pod_table.ORDERS)
        pods, statuses = await asyncio.gather(
            self._backend.ask(questions.PODS), self._backend.ask(questions.STATUSES)
        )
        known = statuses.statuses if isinstance(statuses, StatusesDescribed) else {}
        now = self._backend.system.clock.wall()
        chosen = pod_table.PodsChosen(
            phase=request.query.get("phase", ""),
            only_troubled="troubled" in request.query,
            uses=request.query.get("uses", ""),
        )
        found = pod_table.pods_found(answered(pods).pods, known, asked, now, chosen)
        troubled = [each for each in found.rows if not is_well(each, known.get(each.uid), now)]
        background = await background_of(self._backend, found.rows, troubled)

        def shown(pod: Pod) -> JsonObject:
            return pod_table.pod_row(pod, known.get(pod.uid), background, now)

        document = found.document("pods", pod_table.pod_key, shown)
        return await json_answer(request, document, headers=_NEVER_KEPT)

    async def pod(self, request: web.Request) -> web.Response:
        """Return one pod with its status, its probes, and what happened to it."""
        uid = request.match_info["uid"]
        pods, statuses, probes, answers = await asyncio.gather(
            self._backend.ask(questions.PODS),
            self._backend.ask(questions.STATUSES),
            self._backend.ask(questions.PROBES),
            self._backend.ask(questions.PROBE_ANSWERS),
        )
        pod = next((each for each in answered(pods).pods if each.uid == uid), None)
        if pod is None:
            raise web.HTTPNotFound(text="there is no such pod")
        known = statuses.statuses if isinstance(statuses, StatusesDescribed) else {}
        probed = probes.pods if isinstance(probes, ProbesDescribed) else ()
        state = ProbeState(
            probes=ProbesDescribed(pods=tuple(each for each in probed if each.pod.uid == uid)),
            answers=answers if isinstance(answers, AnswersDescribed) else None,
            statuses=known,
        )
        rows = json.loads("".join(probez(state)))["pods"]
        shown = with_status(pod, known.get(pod.uid))
        now = self._backend.system.clock.wall()
        document = {
            "pod": shown,
            "summary": pod_summary(pod, known.get(pod.uid), shown, now),
            "probes": rows[0]["probes"] if rows else [],
            **await story_of(self._backend, pod, shown, known.get(pod.uid), now),
        }
        return await json_answer(request, document, headers=_NEVER_KEPT)

    async def manifests(self, request: web.Request) -> web.Response:
        """Return a page of the verdicts on manifests."""
        asked = _asked(request, tables.MANIFEST_ORDERS)
        document = tables.manifests_page(
            await self._backend.all_sources(), asked, only_troubled="troubled" in request.query
        )
        return await json_answer(request, document, headers=_NEVER_KEPT)

    async def objects(self, request: web.Request) -> web.Response:
        """Return a page of the Secrets and ConfigMaps that the agent keeps."""
        asked = _asked(request, tables.OBJECT_ORDERS)
        kinds, watches = await asyncio.gather(
            self._backend.all_objects(in_detail=True), self._backend.ask(questions.WATCHES)
        )
        now = self._backend.system.clock.wall()
        text = await joined(watchz([answered(kind) for kind in kinds], watches, now))
        document = tables.objects_page(
            json.loads(text)["objects"], asked, only_troubled="troubled" in request.query
        )
        return await json_answer(request, document, headers=_NEVER_KEPT)

    async def events(self, request: web.Request) -> web.Response:
        """Return a page of what happened on the node since the agent started, the newest first."""
        asked = _asked(request, tables.EVENT_ORDERS)
        document = tables.events_page(
            answered(await self._backend.ask(questions.PAST_EVENTS)),
            asked,
            only_troubled="troubled" in request.query,
        )
        return await json_answer(request, document, headers=_NEVER_KEPT)

    async def actors(self, request: web.Request) -> web.Response:
        """Return the tree in short, or a page of the actors that are searched for."""
        asked = _asked(request, tables.ACTOR_ORDERS)
        if asked.search:
            document = tables.actors_page(answered(await self._backend.tree()), asked)
        else:
            document = tables.tree_document(answered(await self._backend.summary()))
        return await json_answer(request, document, headers=_NEVER_KEPT)


def _asked(request: web.Request, orders: Collection[str]) -> PageAsked:
    try:
        return PageAsked.of(request.query, orders)
    except WrongPageError as error:
        raise web.HTTPBadRequest(text=str(error)) from None

"""The page of endpoints, from the routes of the servers and the docstrings of their handlers."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, cast

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from kernel import SystemClock
from server.backend import EndpointBackend, EventStreamTimeouts
from server.control.console import ContainerConsole
from server.endpoints import Endpoints
from server.ui.paging import DEFAULT_LIMIT, MOST
from server.ui.pod_table import ORDERS as POD_ORDERS
from server.ui.tables import ACTOR_ORDERS, EVENT_ORDERS, MANIFEST_ORDERS, OBJECT_ORDERS
from tools.reference.markdown import code, codes, page, section, table

JSON: Final = "application/json"
TEXT: Final = "text/plain"
HTML: Final = "text/html"
STREAM: Final = "text/event-stream"
EXPOSITION: Final = CONTENT_TYPE_LATEST.partition("; charset")[0]

VERBOSE: Final = {"verbose": "each check, and not one word"}
PAGED: Final = dict.fromkeys(("search", "limit", "after", "skip"), "")
TROUBLED: Final = {"troubled": "only what somebody should look at"}


def _sorted_by(orders: Iterable[str]) -> Mapping[str, str]:
    return {"sort": codes(orders)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a path is asked, and what its answer is made of."""

    media: tuple[str, ...] = (JSON,)
    parameters: Mapping[str, str] = field(default_factory=dict)


ASKED: Final[Mapping[str, Asked]] = {
    "/": Asked(media=(HTML, JSON)),
    "/ui": Asked(media=(HTML,)),
    "/ui/": Asked(media=(HTML,)),
    "/ui/{file}": Asked(media=("that of the file",)),
    "/metrics": Asked(media=(EXPOSITION,)),
    "/metrics/probes": Asked(media=(EXPOSITION,)),
    "/healthz": Asked(media=(TEXT,), parameters=VERBOSE),
    "/livez": Asked(media=(TEXT,), parameters=VERBOSE),
    "/healthz/ping": Asked(media=(TEXT,)),
    "/readyz": Asked(media=(TEXT,), parameters=VERBOSE),
    "/readyz/{source}": Asked(media=(TEXT,), parameters=VERBOSE),
    "/events": Asked(
        media=(STREAM,),
        parameters={
            "since": "the `id` of an event: go on behind it, as with the header `Last-Event-ID`",
            "replay": "`false`: without the present state",
        },
    ),
    "/pods": Asked(
        parameters={
            "namespace": "only pods of this namespace",
            "name": "only those whose name, or `NAMESPACE/NAME`, begins so, or that have this UID",
            "troubled": "only those in trouble: whose `summary` says that they are not well",
            "brief": "what a table shows: by name, each with its `summary`, and with one of the list",
        }
    ),
    "/sourcez": Asked(
        parameters={
            "troubled": "only manifests that somebody should look at",
            "name": "only manifests whose path, pod or UID has this in it; may repeat",
        }
    ),
    "/volumez": Asked(
        parameters={
            "uid": "only volumes of the pod with this UID",
            "state": "only volumes in this state, such as `held`",
        }
    ),
    "/ui/pods": Asked(
        parameters={
            **PAGED,
            **_sorted_by(POD_ORDERS),
            "phase": "only pods of this phase",
            **TROUBLED,
            "uses": "only pods that refer to `KIND/NAMESPACE/NAME`",
        }
    ),
    "/ui/manifests": Asked(parameters={**PAGED, **_sorted_by(MANIFEST_ORDERS), **TROUBLED}),
    "/ui/objects": Asked(parameters={**PAGED, **_sorted_by(OBJECT_ORDERS), **TROUBLED}),
    "/ui/events": Asked(
        parameters={**PAGED, **_sorted_by(EVENT_ORDERS), "troubled": "only warnings"}
    ),
    "/ui/actors": Asked(parameters={**PAGED, **_sorted_by(ACTOR_ORDERS)}),
    "/control/pods/{uid}/log": Asked(
        media=(TEXT,),
        parameters={
            "container": "which one, where there are several",
            "tail": "the last lines, so many",
            "since": "seconds since 1970",
            "previous": "`true`: of the instance before",
            "timestamps": "`true`: with the time of each line",
            "follow": "`true`: goes on until the container ends",
        },
    ),
    "/control/pods/{uid}/exec": Asked(
        parameters={
            "container": "which one, where there are several",
        }
    ),
}
"""Of the paths that answer something else than JSON, or that can be asked in several ways."""

INTRODUCTION: Final = """\
All paths of the read-only port are answered on the [control socket](../endpoints.md#the-control-socket)
too. GET also answers HEAD. Who is answered, and what the documents say: [endpoints](../endpoints.md).

JSON is one line; with the parameter `pretty` it is indented. Errors are JSON too:
`{"error": "...", "code": 404}`."""

PAGES_OF_TABLES: Final = f"""\
Tables of the page have up to `limit` rows, {DEFAULT_LIMIT} unless that says otherwise and {MOST} at most.
`search` finds rows that have all its words, in upper or lower case. `next` of an answer is what `after`
has to be for the next page; `skip` leaves out so many rows, and `sort` sorts otherwise than by names, with
`-` before it the other way round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRoute:
    """A path that is served."""

    method: str
    path: str
    says: str
    """What it answers, in words."""
    asked: Asked


def endpoints_page() -> str:
    """Return the page."""
    served = served_routes()
    read_only = served["read-only port"]
    both = {route.path for route in served["healthz port"]}
    more = [route for route in served["control socket"] if route not in read_only]
    return page(
        "Endpoints",
        INTRODUCTION,
        _section(
            "On the read-only port and the healthz port", (r for r in read_only if r.path in both)
        ),
        _section("On the read-only port", (r for r in read_only if r.path not in both)),
        _section("On the control socket alone", more),
        section("Pages of tables", PAGES_OF_TABLES),
    )


def served_routes() -> dict[str, list[ServedRoute]]:
    """Return the paths that are served in each place."""
    backend = SimpleNamespace(
        system=SimpleNamespace(clock=SystemClock()),
        hosts=frozenset(),
        chaos=True,
        timeouts=EventStreamTimeouts(),
    )
    endpoints = Endpoints(cast(EndpointBackend, backend))
    console = cast(ContainerConsole, SimpleNamespace())
    return {
        "read-only port": list(_routes(endpoints.application())),
        "healthz port": list(_routes(endpoints.health_application())),
        "control socket": list(_routes(endpoints.control_application(console))),
    }


def _routes(application: web.Application) -> Iterator[ServedRoute]:
    for route in application.router.routes():
        if route.method != "HEAD" and route.resource is not None:
            path = route.resource.canonical
            yield ServedRoute(
                method=route.method,
                path=path,
                says=_first_sentence(route.handler),
                asked=ASKED.get(path, Asked()),
            )


def _first_sentence(handler: Any) -> str:
    text = (inspect.getdoc(handler) or "").partition("\n\n")[0].replace("\n", " ")
    words = text.replace("``", "`").removeprefix("Return ").removesuffix(".")
    return words[:1].upper() + words[1:]


def _section(title: str, routes: Iterable[ServedRoute]) -> str:
    columns = ("path", "answers", "as", "parameters")
    return section(title, table(columns, map(_row, sorted(routes, key=lambda each: each.path))))


def _row(route: ServedRoute) -> tuple[str, ...]:
    method = "" if route.method == "GET" else f"{route.method} "
    parameters = (
        f"`{name}`: {text}" if text else code(name) for name, text in route.asked.parameters.items()
    )
    return (
        code(f"{method}{route.path}"),
        route.says,
        codes(route.asked.media),
        "<br>".join(parameters),
    )

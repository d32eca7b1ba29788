"""The HTTP source on a stage: a URL that answers what the test wants, and a PodManager that listens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from typing_extensions import override

from kernel import OnExhausted, Port, Runtime
from manifests.pod_manifest import ManifestRules
from messages.pod_runtime import ListRuntimePods
from messages.pods import HTTP, Pod
from messages.sources import (
    ListPods,
    RejectReason,
    Rescan,
    SourceDescribed,
    SourceListed,
    Verdict,
)
from messages.units import Seconds
from sources.http.asking import Body, Fetcher, FetchError, Unmodified, Validators
from sources.http.source import (
    HTTP_SOURCE,
    HttpMemory,
    HttpSource,
    HttpSourceMessage,
    HttpSourceRules,
)
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage_of
from tests.support.sources.questions import described

POLL = Seconds(20.0)
URL = "https://me:hunter2@pods.example:8443/node1?token=hunter2"
SHOWN = "https://<masked>@pods.example:8443/node1?<masked>"
"""The URL, as people may see it."""

P = ParamSpec("P")
T = TypeVar("T")
Json = dict[str, Any]


def pod_item(name: str = "web", *, image: str = "registry.example/web:1", uid: str = "") -> Json:
    """Return a pod as it stands in a list: without kind and version."""
    fixed = {"uid": uid} if uid else {}
    return {
        "metadata": {"name": name, **fixed},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }


def bad_item(name: str = "bad") -> Json:
    """Return a pod without containers."""
    return {"metadata": {"name": name}, "spec": {"containers": []}}


def pod_body(name: str = "web", **fields: str) -> bytes:
    """Return a body with a single Pod."""
    return json.dumps({"apiVersion": "v1", "kind": "Pod", **pod_item(name, **fields)}).encode()


def list_body(*items: object) -> bytes:
    """Return a body with a PodList."""
    return json.dumps({"apiVersion": "v1", "kind": "PodList", "items": items}).encode()


class Website(Fetcher):
    """What there is at the URL. The test writes it; every life of the source asks it."""

    def __init__(self) -> None:
        self.answer: bytes | FetchError | Exception = list_body()
        self.etag = ""
        """Offered with the body; one who knows it is told that nothing changed."""
        self.asked: list[str] = []
        """The tag that each request knew, or nothing."""
        self.closed = 0

    def make(self, _url: str, _headers: Mapping[str, object], _ca_file: Path | None) -> Fetcher:
        """Return the fetcher of one life."""
        return self

    @override
    def fetch(self, known: Validators | None) -> Body | Unmodified:
        self.asked.append(known.etag if known is not None else "")
        if isinstance(self.answer, Exception):
            raise self.answer
        if known is not None and self.etag and known.etag == self.etag:
            return Unmodified()
        offered = Validators(url=URL, etag=self.etag, last_modified="")
        return Body(data=self.answer, validators=offered if self.etag else None)

    @override
    def close(self) -> None:
        self.closed += 1


class Helper(Executor):
    """The helper thread, without a thread: does at once what it is given, or later when told to wait."""

    def __init__(self) -> None:
        self.waits = False
        """Stays in the middle of what it is given until it is told to work."""
        self.is_late = False
        """Has not even begun with it."""
        self.shut_down = 0
        self._todo: list[tuple[Future[Any], Callable[[], object]]] = []

    @override
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        if not self.is_late:
            future.set_running_or_notify_cancel()
        self._todo.append((future, lambda: fn(*args, **kwargs)))
        if not (self.waits or self.is_late):
            self.works()
        return future

    @property
    def todo(self) -> int:
        """How many requests are under way."""
        return len(self._todo)

    def works(self) -> None:
        """Do what there is to do."""
        todo, self._todo = self._todo, []
        for future, work in todo:
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001  # as executors do
                future.set_exception(error)

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.shut_down += 1
        if cancel_futures:
            self._todo = [(future, work) for future, work in self._todo if not future.cancel()]


class HttpSourceStage:
    """What there is at the URL, and what comes of it."""

    def __init__(
        self,
        play: Stage,
        website: Website,
        helper: Helper,
        told: Probe[SourceListed],
        memory: HttpMemory,
    ) -> None:
        self.play = play
        self.memory = memory
        self.website = website
        self.helper = helper
        self.told = told

    def serves(self, answer: bytes | Exception, *, etag: str = "") -> None:
        """Have the URL answer this from here on, and let the next poll happen."""
        self.website.answer, self.website.etag = answer, etag
        self.polls()

    def fails(self, sentence: str = "answered with status 500") -> None:
        """Have the URL fail, and let the next poll happen."""
        self.serves(FetchError(sentence))

    def is_too_large(self) -> None:
        """Have the URL answer more than anybody reads, and let the next poll happen."""
        self.serves(FetchError("the body is 256 MB or more", RejectReason.TOO_LARGE))

    def polls(self) -> None:
        """Let time pass until the next poll."""
        self.play.advance(POLL)

    def tell(self, message: HttpSourceMessage) -> None:
        """Tell the source anything."""
        self.play.tell(HTTP_SOURCE, message)

    def rescans(self) -> None:
        """Have the source asked to look at once."""
        self.tell(Rescan())

    def asks_for_listing(self) -> None:
        """Ask for the present listing, as PodManager does."""
        self.tell(ListPods())

    def crashes(self) -> None:
        """Crash the source, and let time pass until its next life has asked."""
        self.goes_down()
        self.play.advance(1.0)

    def goes_down(self) -> None:
        """Crash the source; its next life begins when time passes."""
        self.play.system.crash(HTTP_SOURCE.path)
        self.play.settle()

    def listings(self) -> list[list[str]]:
        """Return the names of every listing since the last call."""
        return [
            [pod.name.removesuffix("-node1") for pod in listing.pods]
            for listing in self.told.drain()
        ]

    def pods(self) -> tuple[Pod, ...]:
        """Return the pods of the newest listing since the last call; there has to be one."""
        return self.told.drain()[-1].pods

    def described(self) -> SourceDescribed:
        """Return how the source says it is."""
        return described(self.play, HTTP_SOURCE)

    def verdicts(self) -> dict[str, tuple[Verdict, str]]:
        """Return verdict and pod by path, without the URL."""
        return {
            each.path.removeprefix(SHOWN): (each.verdict, each.pod.removesuffix("-node1"))
            for each in self.described().manifests
        }


def http_rules(url: str = URL, node_name: str = "node1") -> HttpSourceRules:
    """Return rules for ``url``."""
    return HttpSourceRules(
        url=url,
        headers={"Authorization": ("Bearer hunter2",)},
        check_frequency=POLL,
        ca_file=None,
        manifests=ManifestRules(node_name=node_name, source=HTTP),
    )


@contextmanager
def http_source_stage(
    runtime: Runtime | None = None,
    *,
    first: bytes | Exception | None = None,
    rules: HttpSourceRules | None = None,
    pods: Port[ListRuntimePods] | None = None,
) -> Iterator[HttpSourceStage]:
    """Start the source; ``first`` is what its first poll gets, an empty list unless given."""
    told: Probe[SourceListed] = Probe()
    website, helper, memory = Website(), Helper(), HttpMemory()
    website.answer = list_body() if first is None else first
    used = rules or http_rules()
    source = (
        HTTP_SOURCE,
        lambda _play: HttpSource(used, told, memory, website.make, lambda: helper, pods),
    )
    with stage_of(source, runtime=runtime, on_exhausted=OnExhausted.ISOLATE) as play:
        yield HttpSourceStage(play, website, helper, told, memory)

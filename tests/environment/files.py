"""Where static pods come from: a directory of manifests on disk, and a URL. Both outlive the agent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from typing_extensions import override

from agent.edges import UrlEdges
from messages.pods import JsonObject
from sources.http.asking import Body, Fetcher, FetchError, Unmodified, Validators
from tests.environment.outside import Outside
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.clock import EPOCH

PODS: Mapping[str, object] = {"apiVersion": "v1", "kind": "PodList"}


class Directory:
    """A directory, and the watches of it. Each change is noticed, unless ``loses_events``."""

    def __init__(
        self, path: Path, outside: Outside, watches: FakeDirectoryWatches | None = None
    ) -> None:
        """``watches`` are those of another one: an agent has one way to watch."""
        self.path = path
        self.watches = watches or FakeDirectoryWatches()
        self.loses_events = False
        self.files: dict[str, str] = {}
        """The names of files, by what they are about."""
        self._elsewhere = path.with_name(f"{path.name}-elsewhere")
        self._outside = outside
        path.mkdir(parents=True)

    def write(self, about: str, content: JsonObject | str) -> None:
        """Write a file in one piece."""
        text = content if isinstance(content, str) else json.dumps(content)
        made = self._where / ".made"
        made.write_text(text, encoding="utf-8")
        made.chmod(0o600)  # a Secret that others can read is refused
        moment = EPOCH + self._outside.now
        os.utime(made, (moment, moment))
        made.rename(self._where / self.files.setdefault(about, f"{about}.json"))
        self._tell()

    def rename(self, about: str) -> None:
        """Give a file another name."""
        name = self.files[about]
        self.files[about] = name.replace(".json", "-too.json")
        (self._where / name).rename(self._where / self.files[about])
        self._tell()

    def remove(self, about: str) -> None:
        """Take a file away."""
        (self._where / self.files.pop(about)).unlink()
        self._tell()

    def hide(self) -> None:
        """Have the directory be gone."""
        if self.path.exists():
            self.path.rename(self._elsewhere)
            self._tell()

    def show(self) -> None:
        """Have it be there again."""
        if not self.path.exists():
            self._elsewhere.rename(self.path)
            self._tell()

    @property
    def _where(self) -> Path:
        return self.path if self.path.exists() else self._elsewhere

    def _tell(self) -> None:
        if not self.loses_events:
            self.watches.notice()


class Url(Fetcher, Executor):
    """What there is at the manifest URL, and the thread that asks for it."""

    def __init__(self, outside: Outside) -> None:
        self.pods: dict[str, JsonObject] = {}
        """By what the URL names them."""
        self.garbage = b""
        """What it answers instead; empty if it answers with the pods."""
        self.trouble = ""
        """Why it does not answer; empty if it does."""
        self.slowness = 0.0
        """Seconds that an answer takes."""
        self.asked = 0
        self._outside = outside

    def edges(self) -> UrlEdges:
        """Return how a new life of the agent asks it."""
        return UrlEdges(fetcher=lambda *_: self, executor=lambda: self)

    @override
    def fetch(self, known: Validators | None) -> Body | Unmodified:
        self.asked += 1
        if self.trouble:
            raise FetchError(self.trouble)
        body = json.dumps({**PODS, "items": list(self.pods.values())}).encode()
        tag = f"{crc32(body)}"
        if known is not None and known.etag == tag and not self.garbage:
            return Unmodified()
        offered = Validators(url="http://nowhere", etag=tag, last_modified="")
        return Body(data=self.garbage or body, validators=None if self.garbage else offered)

    @override
    def close(self) -> None:
        """Nothing is open."""

    @override
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        work = partial(_do, future, partial(fn, *args, **kwargs))
        if self.slowness:
            self._outside.later(self.slowness, work)
        else:
            work()
        return future

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """What was asked is under way, whatever becomes of who asked."""


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    try:
        future.set_result(work())
    except Exception as error:  # noqa: BLE001  # as executors do
        future.set_exception(error)

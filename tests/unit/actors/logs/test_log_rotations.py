"""Rotations of several logs at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from typing_extensions import override

from actors.logs.housekeeping import LogHousekeeping
from actors.logs.layout import LogOptions
from actors.logs.upkeep import LoggedContainer
from tests.support.runtimes.log_files import POD, WrittenLog

NOW = datetime(2026, 1, 2, 15, 4, 5, tzinfo=UTC)


class AllAtOnce(Executor):
    """Begins nothing before it has been given so many jobs."""

    def __init__(self, jobs: int) -> None:
        self._wanted = jobs
        self._jobs: list[tuple[Future[Any], Callable[[], Any]]] = []

    @override
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._jobs.append((future, lambda: fn(*args, **kwargs)))
        if len(self._jobs) == self._wanted:
            for each, job in self._jobs:
                each.set_result(job())
        return future


def test_as_many_logs_are_rotated_at_the_same_time_as_are_given(tmp_path: Path) -> None:
    options = LogOptions(pods_directory=tmp_path, max_size=10)
    logs = [WrittenLog(tmp_path, POD, f"main-{number}", 0) for number in range(3)]
    for log in logs:
        log.write(b"a line that is longer than that")
        log.close()
    containers = [
        LoggedContainer(
            id=log.container,
            pod=POD,
            name=log.container,
            attempt=0,
            is_running=True,
            is_started=True,
        )
        for log in logs
    ]
    housekeeping = LogHousekeeping(options, lambda _work, _error: None)
    moved = housekeeping.rotate_all(containers, NOW, frozenset(), AllAtOnce(3))
    assert [each is not None and each.new for each in moved] == ["0.log.20260102-150405"] * 3

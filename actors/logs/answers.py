"""Whole answers from logs, and which logs there are. They block.

Whoever calls these has a thread of its own: an actor that may block, or a command.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from actors.logs.directories import opened
from actors.logs.layout import LoggedPod, log_name, logged_pod, owner_of, pod_log_name
from actors.logs.reading import LogQuery, LogReading
from actors.logs.records import LogRecord, log_lines
from messages.container_runtime import (
    ContainerLog,
    ReadContainerLog,
    RuntimeFailure,
    RuntimeFailureKind,
)

ANSWER_LIMIT: Final = 16 * 2**20
"""Bytes of text in one answer: the newest ones."""


@contextmanager
def log_reading(
    root: Path, pod: LoggedPod, container: str, attempt: int, query: LogQuery
) -> Iterator[LogReading]:
    """Read the log of one instance for the ``with`` block. Raises OSError."""
    with (
        opened(root, pod_log_name(pod), container) as directory,
        closing(LogReading(directory, log_name(attempt), query)) as reading,
    ):
        yield reading


def container_log(
    root: Path, pod: LoggedPod, container: str, attempt: int, question: ReadContainerLog
) -> ContainerLog | RuntimeFailure:
    """Return the answer to ``question``: of a very long log the newest part."""
    query = LogQuery(tail=question.tail, since=question.since)
    try:
        with log_reading(root, pod, container, attempt, query) as reading:
            return ContainerLog(lines=tuple(log_lines(_newest(reading.everything()))))
    except FileNotFoundError:
        return _failure(RuntimeFailureKind.NOT_FOUND, container, "there is none")
    except OSError as error:
        return _failure(RuntimeFailureKind.REFUSED, container, error.strerror or "it is unreadable")


def attempts(root: Path, pod: LoggedPod, container: str) -> list[int]:
    """Return the instances of a container that have a log, the oldest first.

    The last but one is what ``previous`` asks for.
    """
    try:
        with opened(root, pod_log_name(pod), container) as directory:
            found = set(map(owner_of, directory.names()))
            return sorted(each for each in found if each is not None)
    except OSError:
        return []


def logged_pods(root: Path, namespace: str, name: str) -> list[LoggedPod]:
    """Return the pods of that name that have logs, also earlier ones of the same name; the newest last."""
    try:
        with opened(root) as directory:
            names = [each for each in directory.names() if directory.is_directory(each)]
            found = [pod for pod in map(logged_pod, names) if pod is not None]
    except OSError:
        return []
    named = [pod for pod in found if (pod.namespace, pod.name) == (namespace, name)]
    return sorted(named, key=lambda pod: (root / pod_log_name(pod)).lstat().st_mtime)


def containers(root: Path, pod: LoggedPod) -> list[str]:
    """Return the containers of a pod that have logs."""
    try:
        with opened(root, pod_log_name(pod)) as directory:
            return sorted(each for each in directory.names() if directory.is_directory(each))
    except OSError:
        return []


def _newest(records: Iterator[LogRecord]) -> deque[LogRecord]:
    kept, size = deque[LogRecord](), 0
    for record in records:
        kept.append(record)
        size += len(record.text)
        while size > ANSWER_LIMIT:
            size -= len(kept.popleft().text)
    return kept


def _failure(kind: RuntimeFailureKind, container: str, reason: str) -> RuntimeFailure:
    return RuntimeFailure(kind=kind, message=f"log of container {container}: {reason}")

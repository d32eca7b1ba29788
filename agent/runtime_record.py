"""Which runtime the pods of a root directory have: what is recorded there means nothing to another kind.

The record is a file. Earlier versions wrote none: then the records of pods show whether containers ran.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import structlog

from actors.pods.records import RECORD_LIMIT, shows_containers
from files.records import MOST_RECORDS, read_file, sync_directory, write_file
from runtimes.cri.runtime_socket import PLACES
from settings.errors import StartError
from settings.situation import RuntimeKind

RECORD: Final = "runtime.json"
LIMIT: Final = 8192
"""Bytes of a record. One with more is none."""
POD_RECORDS_DIRECTORY: Final = "pod-records"
"""The directory below ``--root-dir`` with what the next process is to know of pods."""
HOLLOW_FILE: Final = Path("hollow", "containers.json")
"""Below ``--root-dir``: hollow containers, with ``--hollow-records``."""

_WORDS: Final = {
    RuntimeKind.CRI: "run in containers (--runtime cri)",
    RuntimeKind.HOLLOW: "are hollow (--runtime hollow)",
    RuntimeKind.PROVIDER: "are run by a class (--runtime MODULE:CLASS)",
}
_log = structlog.get_logger("actorlet")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRuntime:
    """What runs the pods of a directory."""

    runtime: RuntimeKind
    socket: str = ""
    """Where a container runtime was found that nobody had named."""


def record_of(root_dir: Path) -> RecordedRuntime | None:
    """Return what is recorded; None if that is nothing, or cannot be read."""
    try:
        told: Any = json.loads(read_file(root_dir / RECORD, LIMIT))
        return RecordedRuntime(runtime=RuntimeKind(told["runtime"]), socket=str(told["socket"]))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def places_of(root_dir: Path) -> tuple[Path, ...]:
    """Return where a container runtime may be found: where one was before, or else at the usual places.

    Of two runtimes that start together either may be there first. Pods that one of them runs are none of the
    other's business.
    """
    record = record_of(root_dir)
    return (Path(record.socket),) if record is not None and record.socket else PLACES


def keep_record(root_dir: Path, record: RecordedRuntime) -> None:
    """Write what runs the pods. A full disk is no reason not to run them."""
    if record_of(root_dir) == record:
        return
    try:
        _write(root_dir, record)
    except OSError as error:
        _log.warning(
            "what runs the pods is not recorded", file=str(root_dir / RECORD), reason=error.strerror
        )


def take_directory(root_dir: Path, kind: RuntimeKind, *, may_change: bool) -> None:
    """Take a directory for pods of this ``kind`` of runtime, and record it.

    A container runtime is recorded here only in place of another one: else once it is named or found, since
    nothing runs before. Raises ``StartError`` if the pods have another one, unless that ``may_change``. Then
    the records of pods are put aside until that one runs them again, and those of this kind are taken up.
    """
    record = record_of(root_dir)
    before = record.runtime if record is not None else _shown_before(root_dir, kind)
    try:
        if before is None and kind is not RuntimeKind.CRI:
            keep_record(root_dir, RecordedRuntime(runtime=kind))
        if before is not None and before is not kind:
            _leave(root_dir, before, kind, may_change=may_change)
        records, ours = root_dir / POD_RECORDS_DIRECTORY, _aside(root_dir, kind)
        if ours.exists() and not records.exists():
            ours.rename(records)
            sync_directory(root_dir)
    except OSError as error:
        raise StartError(
            f"the records of pods in --root-dir {root_dir} cannot be changed: {error.strerror}"
        ) from None


def _shown_before(root_dir: Path, kind: RuntimeKind) -> RuntimeKind | None:
    """Return what the records of pods show that no hollow agent may take; None if they show nothing of it."""
    if kind is not RuntimeKind.HOLLOW or (root_dir / HOLLOW_FILE).exists():
        return None
    return RuntimeKind.CRI if any(map(shows_containers, _pages(root_dir))) else None


def _pages(root_dir: Path) -> Iterator[bytes]:
    """Yield the records of pods that can be read."""
    with suppress(OSError):
        for page in islice((root_dir / POD_RECORDS_DIRECTORY).iterdir(), MOST_RECORDS):
            with suppress(OSError):
                yield read_file(page, RECORD_LIMIT)


def _leave(root_dir: Path, before: RuntimeKind, kind: RuntimeKind, *, may_change: bool) -> None:
    """Put aside what is recorded of pods of another kind of runtime."""
    if not may_change:
        raise StartError(
            f"the pods of --root-dir {root_dir} {_WORDS[before]}, and this agent's {_WORDS[kind]}: "
            "choose another directory, or insist with --change-runtime"
        )
    _log.warning("the pods of this directory have another runtime now", before=before, now=kind)
    records = root_dir / POD_RECORDS_DIRECTORY
    if records.exists():
        records.rename(_aside(root_dir, before))
    # If it cannot be written, the agent does not start: the next one would take these pods for its own.
    _write(root_dir, RecordedRuntime(runtime=kind))


def _write(root_dir: Path, record: RecordedRuntime) -> None:
    write_file(root_dir / RECORD, json.dumps(asdict(record)).encode())


def _aside(root_dir: Path, kind: RuntimeKind) -> Path:
    return root_dir / f"{POD_RECORDS_DIRECTORY}-{kind}"

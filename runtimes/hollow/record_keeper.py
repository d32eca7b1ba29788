"""HollowRecordKeeper: writes down what hollow containers need in the next process. It may block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel import Actor, Key, Port
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.hollow.record_file import HollowRecordFile
from runtimes.hollow.saved import SavedPod

RETRY_AFTER: Final = Seconds(10.0)

_log = structlog.get_logger("runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveHollowPods:
    """Save these pods. May repeat; of one pod the last one counts."""

    pods: tuple[SavedPod, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HollowPodsSaved:
    """Answers ``ReadHollowPods``."""

    pods: tuple[SavedPod, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHollowPods:
    """Asks what the process before has saved. Answered by one ``HollowPodsSaved``. May repeat."""

    reply_to: Port[HollowPodsSaved]


HollowRecordsMessage: TypeAlias = SaveHollowPods | ReadHollowPods

HOLLOW_RECORDS = Key[HollowRecordsMessage]("runtime/records")


@dataclass(slots=True)
class HollowRecordsMemory:
    """What outlives a life of HollowRecordKeeper."""

    file: HollowRecordFile
    unsaved: dict[PodUid, SavedPod] = field(default_factory=dict)
    has_trouble: bool = False


class HollowRecordKeeper(Actor[HollowRecordsMessage]):
    """Saves hollow pods in one file, and reads what the process before has saved.

    Owns: the file; what could not be written yet.
    Hears: ``SaveHollowPods``, ``ReadHollowPods``.
    Tells: ``HollowPodsSaved``.
    Fails when: it has a bug. Nothing depends on it while the agent runs: what cannot be written is said
    once, and tried again.
    """

    def __init__(self, memory: HollowRecordsMemory) -> None:
        self._memory = memory

    @override
    def started(self) -> None:
        self._next_try = self.alarm(self._save)
        self._save()

    @override
    def stopping(self) -> None:
        self._save()

    @override
    def receive(self, message: HollowRecordsMessage, /) -> None:
        match message:
            case SaveHollowPods(pods=pods):
                self._memory.unsaved |= {pod.uid: pod for pod in pods}
                if self._next_try.due is None:
                    self._save()
            case ReadHollowPods(reply_to=reply_to):
                reply_to.tell(HollowPodsSaved(pods=self._read()))
            case _:
                assert_never(message)

    def _read(self) -> tuple[SavedPod, ...]:
        try:
            return self._memory.file.read()
        except OSError as error:
            self._note_trouble(f"cannot be read: {error.strerror}")
            return ()

    def _save(self) -> None:
        memory = self._memory
        if not memory.unsaved:
            return
        try:
            memory.file.write(memory.unsaved.values())
        except OSError as error:
            self._note_trouble(f"cannot be written: {error.strerror}")
            self._next_try.after(RETRY_AFTER)
            return
        memory.unsaved.clear()
        if memory.has_trouble:
            memory.has_trouble = False
            _log.info("records of hollow containers are written again")

    def _note_trouble(self, trouble: str) -> None:
        if not self._memory.has_trouble:
            self._memory.has_trouble = True
            _log.warning("records of hollow containers", trouble=trouble)

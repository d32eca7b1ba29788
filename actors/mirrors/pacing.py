"""How fast mirrors are replaced and made again. Knows no actors.

Somebody who edits a manifest has the last version shown soon, and the old mirror stays in its place while
edits go on. Somebody who deletes a mirror again and again, or writes over it, has it made again a few times,
and then after pauses.
"""

from __future__ import annotations

from dataclasses import dataclass

from actors.mirrors.index import MirrorRecord
from actors.mirrors.plan import (
    CREATION_LIMIT,
    CREATION_WINDOW,
    CreateMirror,
    DeleteMirror,
    creation_delay,
    edit_delay,
    is_replacement,
)
from actors.mirrors.pod import version_of
from messages.pods import Pod
from messages.units import Seconds

EDITED = "its manifest changes again and again: this version is shown at"
DELETED = (
    f"it was made {CREATION_LIMIT} times within {CREATION_WINDOW:g} s, since somebody deletes or changes "
    "it: it is made again at"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A step has to wait, and why. The sentence ends before the moment at which the wait ends."""

    delay: Seconds
    sentence: str


def pace(record: MirrorRecord, step: CreateMirror | DeleteMirror, now: Seconds) -> Pause | None:
    """Return how long ``step`` has to wait. Return None if it is to be made now, and note that it is."""
    if isinstance(step, CreateMirror):
        return _pace_creation(record, step.static, now)
    static = record.static
    if static is None or not is_replacement(record.mirrors.values(), static):
        return None
    if record.version_made == version_of(static):
        return None  # nobody edited the manifest: its next creation is limited
    pause = _pace_edit(record, now)
    if pause is None:
        record.version_made = (
            None  # the deletion is a part of showing the edit, and so is the creation
        )
    return pause


def _pace_creation(record: MirrorRecord, static: Pod, now: Seconds) -> Pause | None:
    version = version_of(static)
    pause = None
    if record.version_made is None:
        if not record.creations:
            record.creations.append(now)
    elif record.version_made != version:
        pause = _pace_edit(record, now)
    else:
        delay = creation_delay(record.creations, now)
        if delay:
            return Pause(delay=delay, sentence=DELETED)
        record.creations.append(now)
    if pause is None:
        record.version_made = version
    return pause


def _pace_edit(record: MirrorRecord, now: Seconds) -> Pause | None:
    delay = edit_delay(record.edit_shown, now)
    if delay:
        return Pause(delay=delay, sentence=EDITED)
    record.edit_shown = now
    return None

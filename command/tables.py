"""What a table is: columns, and rows of plain texts. ``command.drawing`` draws it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

GOOD: Final = "green"
BAD: Final = "red"
DOUBTFUL: Final = "yellow"
FAINT: Final = "dim"

_TONES: Final = {
    GOOD: {
        "Running",
        "accepted",
        "local",
        "obeyed",
        "ok",
        "ready",
        "running",
        "success",
        "synced",
        "there",
        "yes",
    },
    FAINT: {
        "Completed",
        "Succeeded",
        "idle",
        "ignored",
        "immutable",
        "leaving",
        "stopped",
        "not served",
    },
    DOUBTFUL: {
        "ContainerCreating",
        "NotReady",
        "Pending",
        "PodInitializing",
        "Terminating",
        "held",
        "initialising",
        "kept",
        "pending",
        "restarting",
        "shadowed",
        "starting",
        "unknown",
    },
    BAD: {"Error", "Failed", "absent", "failed", "failure", "no", "rejected", "refused", "trouble"},
}
_BY_WORD: Final = {word: tone for tone, words in _TONES.items() for word in words}
_ENDINGS: Final = ("BackOff", "Error", "Err", "Killed", "Failed", "CannotRun")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

    title: str
    is_wide: bool = False
    """It is shown only to those who ask for the wide table."""
    is_right: bool = False
    """Its values stand at its right edge: numbers."""
    is_folded: bool = False
    """Its values are folded where the terminal is too narrow. All others keep their width."""
    is_name: bool = False
    """Its values stay whole: people copy them, and look for them. Where the terminal is too narrow, one that
    is longer than its column stands on a line of its own, before the rest of its row."""
    is_toned: bool = False
    """Its values have the colour of what they mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table: a row has a text for each column."""

    columns: tuple[Column, ...]
    rows: Sequence[tuple[str, ...]]

    def shown(self, *, wide: bool) -> Sheet:
        """Return the sheet with the columns that are asked for; without those that are empty everywhere."""
        places = [
            place
            for place, column in enumerate(self.columns)
            if (wide or not column.is_wide) and self._is_told(place)
        ]
        return Sheet(
            columns=tuple(self.columns[place] for place in places),
            rows=[tuple(row[place] for place in places) for row in self.rows],
        )

    @property
    def has_names(self) -> bool:
        """Whether a column of it is names."""
        return any(column.is_name for column in self.columns)

    def _is_told(self, place: int) -> bool:
        return place == 0 or any(row[place] for row in self.rows)


def tone(word: str) -> str:
    """Return the colour of a state; empty if it has none."""
    state = word.removeprefix("Init:")
    if state in _BY_WORD:
        return _BY_WORD[state]
    return BAD if state.endswith(_ENDINGS) or state.startswith(("Err", "Invalid")) else ""

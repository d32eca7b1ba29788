"""The blocks of a page that show a terminal, and whether a terminal shows the same.

A block ``console`` has commands behind ``$``, each with what it shows. A block ``sh`` is for the reader to
carry out; the test does so too, unless it starts the agent or changes the machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.agent.process import ROOT, AgentProcess, eventually
from tests.support.patience import PATIENCE

ASKS: Final = re.compile(r"(sudo )?((\.venv/bin/)?actorlet |curl -s [^-])")
"""Commands that only look: they are tried again until they show what the page shows."""
NOT_HERE: Final = re.compile(
    r"^(sudo )?(make|apt-get|cp deploy|export|git|install|systemctl|journalctl|kubectl|ssh)\b",
    flags=re.MULTILINE,
)
"""What starts the agent, or is about the machine: a reader's business."""
VARIES: Final = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?\b"  # a moment
    r"|\b(?=[0-9a-f-]*\d)[0-9a-f]{8}(?:[0-9a-f-]*[0-9a-f])?\b"  # a UID
    r"|\b(?:\d+(?:\.\d+)?(?:ms|[dhms])?)+\b"  # a number, an age
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b"  # of what ``date`` says
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b"
)
"""What differs each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of a page, with the lines that it shows there."""

    page: str
    line: int
    section: str
    """The last heading of the second level before it."""
    text: str
    shows: tuple[str, ...] = ()

    @property
    def is_carried_out(self) -> bool:
        """Whether a test can do the same."""
        return not NOT_HERE.search(self.text)


def commands(page: Path) -> Iterator[Command]:
    """Yield the commands of the blocks ``console`` and ``sh`` of a page, in their order."""
    text = page.read_text()
    for block in re.finditer(r"^```(console|sh)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        line = text.count("\n", 0, block.start()) + 2
        place: Any = {"page": page.name, "line": line, "section": section(text[: block.start()])}
        if block[1] == "sh":
            yield Command(**place, text=block[2].rstrip())
            continue
        for entry in re.split(r"^(?=\$ )", block[2], flags=re.MULTILINE)[1:]:
            first, *shown = entry[2:].rstrip("\n").split("\n")
            while first.endswith("\\"):
                first = f"{first}\n{shown.pop(0)}"
            yield Command(**place, text=first, shows=tuple(shown))


def section(text: str) -> str:
    """Return the last heading of the second level in ``text``."""
    headings: list[str] = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    return headings[-1] if headings else ""


def shows_the_same(expected: tuple[str, ...], shown: str) -> bool:
    """Return whether a terminal shows what the page says, wherever its lines are folded.

    Numbers, ages, days and UIDs may differ. A line ``...`` is any lines.
    """
    pattern = r"\s*"
    for word in _counted(" ".join(expected)).split():
        pattern += r"(?:.*\n)*?\s*" if word == "..." else _fits(word) + r"\s+"
    return bool(re.fullmatch(pattern, f"{_counted(shown)}\n"))


def _counted(text: str) -> str:
    """Return ``text`` with a number where people read a word."""
    return text.replace("restarted once", "restarted 1 times")


def _fits(word: str) -> str:
    """Return a pattern for a word. Anything like a number may stand for another, ``...`` for anything."""
    return r".*?".join(
        r"[\w.:-]+".join(re.escape(fixed) for fixed in VARIES.split(part))
        for part in word.split("...")
    )


class Terminal:
    """Carries out the commands of a page beside an agent, in a folder that has the examples."""

    def __init__(
        self, folder: Path, agent: AgentProcess, places: Mapping[str, str] | None = None
    ) -> None:
        self._folder = folder
        self._places = {
            "127.0.0.1:10255": f"127.0.0.1:{agent.port}",
            "127.0.0.1:10248": f"127.0.0.1:{agent.health_port}",
            ".venv/state": str(agent.root_dir),
            **(places or {}),
        }
        programs = folder / "programs"
        programs.mkdir()
        for name, does in (
            ("actorlet", f'exec {sys.executable} -P {ROOT / "command" / "__main__.py"} "$@"'),
            ("sudo", 'exec "$@"'),
        ):
            (programs / name).write_text(f"#!/bin/sh\n{does}\n")
            (programs / name).chmod(0o755)
        self._environment = os.environ | {
            "ACTORLET_SERVER": f"127.0.0.1:{agent.port}",
            "ACTORLET_ROOT_DIR": str(agent.root_dir),
            "COLUMNS": "100",
            "PATH": f"{programs}:{os.environ['PATH']}",
        }

    def carry_out(self, command: Command) -> None:
        """Fail unless the command shows what its page says."""
        if command.text.startswith("#") or not command.is_carried_out:
            return
        if ASKS.match(command.text) and command.shows:
            last = [""]

            def fits() -> bool:
                last[0] = self.run(command.text)
                return shows_the_same(command.shows, last[0])

            try:
                eventually(fits)
            except AssertionError:
                place = f"{command.page}:{command.line}: $ {command.text}"
                raise AssertionError(
                    f"{place}\nshows\n{last[0]}\nand not\n" + "\n".join(command.shows)
                ) from None
        else:
            shown = self.run(command.text)
            assert not command.shows or shows_the_same(command.shows, shown), shown

    def run(self, text: str) -> str:
        """Return what ``text`` shows, with the page's own addresses and folders."""
        here = text.replace(".venv/bin/actorlet", "actorlet")
        for written, real in self._places.items():
            here = here.replace(written, real)
        done = subprocess.run(
            ["bash", "-c", here],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        said = done.stdout
        for written, real in self._places.items():
            said = said.replace(real, written)
        return said

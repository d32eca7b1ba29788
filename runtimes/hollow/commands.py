"""What a container's command would do, as far as that is plain. Pure.

A small language is understood: ``sleep``, ``echo``, ``exit``, ``true`` and ``false``, directly or as the
script of a shell, joined by ``;``, ``&&`` or line ends. A command with anything else is not understood as
a whole, and the container behaves by its restart policy.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isinf
from typing import Any, Final

from messages.units import Seconds
from runtimes.hollow.rules import Said

_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})
_SLEEP = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhd]?)", re.ASCII)
_CODE = re.compile(r"[0-9]{1,9}", re.ASCII)
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_MAX_LEN: Final = 4096
"""Characters of a script. A longer one is not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """What a command does."""

    seconds: Seconds | None
    """How long it runs; None for ever."""
    exit_code: int
    says: tuple[Said, ...]


def outcome_of(container: Mapping[str, Any]) -> CommandOutcome | None:
    """Return what the command of ``container`` does; None if it has none that is understood."""
    command = container.get("command")
    return run((*command, *(container.get("args") or ()))) if command else None


@lru_cache(maxsize=256)
def run(words: tuple[str, ...]) -> CommandOutcome | None:
    """Return what the command ``words`` does; None if it is not understood."""
    if sum(map(len, words)) > _MAX_LEN:
        return None
    name = words[0].rsplit("/", 1)[-1]
    if name in _SHELLS:
        return _run_script(words[2]) if len(words) == 3 and words[1] in {"-c", "-ec"} else None
    return _run_all([words])


def carried_out(command: tuple[str, ...], exit_code: int) -> tuple[float, int]:
    """Return how many seconds ``command`` takes in a container, and its exit code.

    ``exit_code`` is that of all commands of the container, if it is not 0. What is not understood takes no
    time.
    """
    outcome = run(command) if command else None
    if outcome is None:
        return 0.0, exit_code
    takes = inf if outcome.seconds is None else float(outcome.seconds)
    return takes, exit_code or outcome.exit_code


def _run_script(script: str) -> CommandOutcome | None:
    statements: list[list[str]] = []
    try:
        for line in script.splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            statements.append([])
            for token in lexer:
                if token in {";", "&&"}:
                    statements.append([])
                elif "$" in token or "`" in token or set(token) & set("|&<>()"):
                    return None
                else:
                    statements[-1].append(token)
    except ValueError:
        return None
    return _run_all([words for words in statements if words])


def _run_all(statements: Sequence[Sequence[str]]) -> CommandOutcome | None:
    elapsed, says = 0.0, list[Said]()
    for number, (path, *rest) in enumerate(statements, 1):
        name = path.rsplit("/", 1)[-1]
        if name == "echo":
            says.append(Said(elapsed, " ".join(rest)))
        elif name == "sleep" and (seconds := _seconds(rest)) is not None:
            elapsed += seconds
        elif (code := _exit_code(name, rest)) is not None:
            if name == "exit" or number == len(statements):
                return CommandOutcome(seconds=Seconds(elapsed), exit_code=code, says=tuple(says))
            if code:
                return None
        else:
            return None
        if isinf(elapsed):
            return CommandOutcome(seconds=None, exit_code=0, says=tuple(says))
    return CommandOutcome(seconds=Seconds(elapsed), exit_code=0, says=tuple(says))


def _seconds(words: Sequence[str]) -> float | None:
    """Return how long ``sleep`` with these arguments sleeps; None if they are not understood."""
    if list(words) == ["infinity"]:
        return inf
    found = _SLEEP.fullmatch(words[0]) if len(words) == 1 else None
    return float(found[1]) * _UNITS[found[2]] if found is not None else None


def _exit_code(name: str, words: Sequence[str]) -> int | None:
    """Return the exit code of a command that only has one; None for another command."""
    if name in {"true", "false"} and not words:
        return int(name == "false")
    if name == "exit" and len(words) == 1 and _CODE.fullmatch(words[0]):
        return int(words[0]) % 256
    return None

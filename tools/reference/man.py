"""The man page of ``actorlet``, of the same parts as its page in the documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Final

from command.failures import EXIT_CODES
from command.main import actorlet
from settings.rows import Row
from settings.table import SECTIONS
from settings.version import version
from tools.reference.flags import takes
from tools.reference.subcommands import (
    ENVIRONMENT,
    EXAMPLES,
    FILES,
    Subcommand,
    described,
    subcommands,
)

AS_OF: Final = "2026-11-23"
"""The date that the page bears: of the last change of its own words, or of a release."""
WIDTH: Final = 79
SHORT: Final = "run a Kubernetes node agent, and see what it does"
DESCRIPTION: Final = """\
actorlet is a node agent: it decides which pods a node should run, from files, a URL or an API server, and
carries them through their lives. The subcommand `run` is the agent itself. The others ask an agent of this
machine what it does, and show it: to people as tables and sentences, to scripts as JSON, YAML or names.

Most of them need no rights: they ask the agent's read-only port. `logs` and `exec` are for root and the
agent's own user: they use its socket.

Whatever goes wrong is one sentence on standard error, and an exit status."""
FORMS: Final = """\
A table is as wide as the terminal. In a pipe each row is one line, however long. Colours are for terminals
only. What a name or a message has in it that a terminal would obey is shown as an escape."""
FLAGS_OF_RUN: Final = """\
These are for `actorlet run`, and for what reads them without running: `actorlet validate` and `actorlet
explain-node`. They win over the fields of the configuration file. A switch takes a value behind `=` only.
Any other flag of a kubelet is taken too, without effect; `actorlet explain-node` says why."""
SIGNALS: Final = {
    "SIGTERM, SIGINT": "Stop `actorlet run`; a second one stops it at once.",
    "SIGHUP": "Let it look at all sources again.",
    "SIGUSR1": "Let it write the tree of actors, and the stack of every thread, to its log.",
}
SEE_ALSO: Final = ("kubectl(1)", "systemctl(1)", "journalctl(1)", "crictl(1)")

_CODE: Final = re.compile(r"`([^`]+)`")


def man_page() -> str:
    """Return the page in the language of roff, with the macros of man(7)."""
    whole = described(actorlet, "actorlet")
    lines = [
        r'.\" Made by "make reference" from the code. Do not edit.',
        f'.TH ACTORLET 1 "{AS_OF}" "actorlet {version()}" "User Commands"',
        *_section("NAME", [rf"actorlet \- {_plain(SHORT)}"]),
        *_section("SYNOPSIS", _synopsis()),
        *_section("DESCRIPTION", _paragraphs(DESCRIPTION.split("\n\n"))),
        *_section("OPTIONS", _items(whole.options)),
        *_section("COMMANDS", _commands(subcommands())),
        *_section("FORMS OF AN ANSWER", _paragraphs([FORMS])),
        *_section("FLAGS OF RUN", _flags()),
        *_section("SIGNALS", _items(SIGNALS.items())),
        *_section(
            "EXIT STATUS", _items((str(code), EXIT_CODES[code]) for code in sorted(EXIT_CODES))
        ),
        *_section("ENVIRONMENT", _items(ENVIRONMENT.items())),
        *_section("FILES", _items(FILES.items())),
        *_section("EXAMPLES", _items((line, says) for line, says in EXAMPLES)),
        *_section("SEE ALSO", [", ".join(map(_reference, SEE_ALSO))]),
    ]
    return "\n".join(lines) + "\n"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f".SH {title}"
    yield from lines


def _synopsis() -> Iterator[str]:
    for each in subcommands():
        yield f".B actorlet {_escaped(each.name)}"
        yield _plain(each.usage)
        yield ".br"
    yield ".B actorlet"
    yield _plain("--help | --version")


def _commands(found: Iterable[Subcommand]) -> Iterator[str]:
    for each in found:
        yield f".SS actorlet {_escaped(f'{each.name} {each.usage}')}"
        yield from _paragraphs(each.says)
        yield from _items(each.options)


def _flags() -> Iterator[str]:
    yield from _paragraphs([FLAGS_OF_RUN])
    for title, flags in SECTIONS.items():
        yield f".SS {_escaped(title)}"
        yield from _items((_flag(each), _says(each)) for each in flags)


def _flag(row: Row) -> str:
    word = takes(row)
    return ", ".join(row.flags) + ("" if word == "switch" else f" {word}")


def _says(row: Row) -> str:
    field = f" Field: {row.field}." if row.field else ""
    return f"{row.says}{f' [{row.shown_default}]' if row.shown_default else ''}.{field}"


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for place, text in enumerate(texts):
        if place:
            yield ".PP"
        yield from _sentences(text)


def _items(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield names in bold, each with what is said of it below."""
    for name, says in rows:
        yield ".TP"
        yield f".B {_escaped(name)}"
        yield from _sentences(says)


def _sentences(text: str) -> Iterator[str]:
    """Yield the lines of a text. Each sentence begins one: whoever fills lines knows then where it ends."""
    for sentence in re.split(r"(?<=[a-z`)\]][.:?]) (?=[A-Z])", " ".join(text.split())):
        for line in wrap(_styled(sentence), WIDTH, break_long_words=False, break_on_hyphens=False):
            yield _guarded(line)


def _plain(text: str) -> str:
    """Return a line of text, in which code is bold."""
    return _guarded(_styled(text))


def _styled(text: str) -> str:
    return _CODE.sub(lambda found: rf"\fB{found[1]}\fR", _escaped(text))


def _guarded(line: str) -> str:
    """Return a line that is no macro."""
    return rf"\&{line}" if line.startswith((".", "'")) else line


def _escaped(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")


def _reference(text: str) -> str:
    name, _, part = text.partition("(")
    return rf"\fB{_escaped(name)}\fR({part}"

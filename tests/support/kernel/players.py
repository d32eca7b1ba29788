"""Players: actors that do as they are told, and write what happens to them into a diary.

The kernel's scenarios are played by them. A diary reads: ``web starts 1``, ``web hears hello``,
``web stops``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import pytest
from typing_extensions import override

from kernel import (
    Actor,
    Backoff,
    BaseActor,
    ChildSpec,
    Ended,
    EndReason,
    Hook,
    Key,
    PooledActor,
    Port,
)
from messages.units import Seconds
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Write ``word`` into the diary. Of those with one ``topic`` only the newest matters."""

    word: str
    topic: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Do:
    """Do ``action``, with the actor itself."""

    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Answer ``word``."""

    word: str
    reply_to: Port[str]


Line: TypeAlias = Say | Do | Repeat
Player: TypeAlias = BaseActor[Line]
Action: TypeAlias = Callable[[Player], object]


def nothing(_player: Player) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerOptions:
    """What a player does when it is made, starts and stops."""

    diary: Port[str]
    when_made: Callable[[], None] = lambda: None
    at_start: Action = nothing
    at_stop: Action = nothing


ANYTHING = pytest.mark.parametrize(
    "error",
    [RuntimeError("a bug"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()],
    ids=lambda error: type(error).__name__,
)
"""Exceptions that an actor may end with: of a bug, and those that elsewhere end a process or a thread."""


class Lines(BaseActor[Line]):
    """What players of both actor types do."""

    def __init__(self, options: PlayerOptions) -> None:
        super().__init__()
        options.when_made()
        self.options = options

    @override
    def started(self) -> None:
        self.options.diary.tell(f"{self.name} starts {self.incarnation}")
        self.options.at_start(self)

    @override
    def stopping(self) -> None:
        self.options.diary.tell(f"{self.name} stops")
        self.options.at_stop(self)

    @override
    def receive(self, message: Line) -> None:
        match message:
            case Say(word=word):
                self.options.diary.tell(f"{self.name} hears {word}")
            case Do(action=action):
                action(self)
            case Repeat(word=word, reply_to=reply_to):
                reply_to.tell(word)


class OwnThreadPlayer(Lines, Actor[Line]):
    """A player with a thread of its own."""


class PooledPlayer(Lines, PooledActor[Line]):
    """A player that shares the pool's threads."""


class Troupe:
    """Players of one type, and the diary that they share."""

    def __init__(self, kind: type[Lines]) -> None:
        self.kind = kind
        self.diary: Probe[str] = Probe()

    def child(  # what a test leaves out has a default
        self,
        key: Key[Line],
        *,
        when_made: Callable[[], None] = lambda: None,
        at_start: Action = nothing,
        at_stop: Action = nothing,
        kind: type[Lines] | None = None,
        **spec: Any,
    ) -> ChildSpec[Line]:
        """Return the spec of a child that is one of these players."""
        options = PlayerOptions(
            diary=self.diary,
            when_made=when_made,
            at_start=at_start,
            at_stop=at_stop,
        )
        return ChildSpec(key=key, factory=lambda: (kind or self.kind)(options), **spec)


def key(path: str) -> Key[Line]:
    """Return a key whose mailbox is plain FIFO."""
    return Key[Line](path)


def newest_of_each_topic(path: str) -> Key[Line]:
    """Return a key whose mailbox keeps only the newest word of each topic."""
    return Key[Line](path, coalesce=_topic)


def _topic(message: Line) -> Hashable | None:
    return (message.topic or None) if isinstance(message, Say) else None


def raising(error: BaseException) -> Action:
    """Return an action that raises ``error``."""

    def action(_player: Player) -> NoReturn:
        raise error

    return action


def crash(error: BaseException | None = None) -> Do:
    """Return a message that makes the actor that handles it fail."""
    return Do(action=raising(error or RuntimeError("a bug")))


def after(seconds: float, word: str) -> Do:
    """Return a message that makes its actor tell itself ``word`` in so many seconds."""
    return Do(action=lambda player: player.after(Seconds(seconds), Say(word=word)))


def repeat(word: str) -> Callable[[Port[str]], Line]:
    """Return the question whose answer is ``word``."""
    return lambda reply_to: Repeat(word=word, reply_to=reply_to)


STEADY = Backoff(
    initial=Seconds(1.0), cap=Seconds(8.0), jitter=Seconds(0.0), reset_after=Seconds(30.0)
)
"""Waits 1, 2, 4, 8, 8, ... seconds."""

STOP_YOURSELF = Do(action=lambda player: player.stop())


class Gate:
    """A gate at which a player gets stuck until the test opens it."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._open = threading.Event()

    def __call__(self, *_args: object) -> None:
        """Be stuck here."""
        self._reached.set()
        assert self._open.wait(2 * PATIENCE), "the gate was not opened"

    def reached(self) -> None:
        """Return when a player is stuck."""
        assert self._reached.wait(PATIENCE), "nobody came"

    def open(self) -> None:
        """Let all players pass from here on."""
        self._open.set()


class FailsAtFirst:
    """Raises in its first ``times`` calls, whatever it is called with."""

    def __init__(self, times: int, error: BaseException | None = None) -> None:
        self.left = times
        self.error = error or RuntimeError("not yet")

    def __call__(self, *_args: object) -> None:
        if self.left > 0:
            self.left -= 1
            raise self.error


@dataclass
class Diskette:
    """A resource that notes in the diary when it is released."""

    diary: Port[str]
    name: str = field(default="diskette")

    def take(self, player: Player) -> None:
        """Hold it until the end of this life."""
        player.resources.callback(self.diary.tell, f"{self.name} is back")


def facts_of(endings: list[Ended]) -> list[tuple[str, int, EndReason, Hook | None]]:
    """Return the parts of the endings that restart policies look at."""
    return [(ended.name, ended.incarnation, ended.reason, ended.hook) for ended in endings]

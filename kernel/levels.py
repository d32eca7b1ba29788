"""Levels: a retained value for each key, which other actors follow.

A level is no actor. It stands beside the actors as a mailbox does: it has a lock and no thread, and
outlives every life of its owner and of its followers. A follower's mailbox holds at most one item for a
level, a token without a value, however much has changed. Values are looked up when the token is handled:
the newest wins, a slow follower keeps no old value in memory, and no mailbox, log or dead letter ever sees
one.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar, final

from typing_extensions import override

from kernel.cell import Cell
from kernel.current import current_incarnation
from kernel.mailbox import KernelMessage, LifeOfActor
from kernel.ports import Port

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

VALUES_PER_TURN: Final = 16
"""Values that a follower is told in one turn. Other messages come in between."""


@final
class Unset:
    """No value: nobody said what it is, or the owner keeps this key no more."""

    __slots__ = ()

    @override
    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()


@dataclass(frozen=True, slots=True)
class LevelIs(Generic[K, T]):
    """Tells the present value of a key. May repeat. Its ``repr`` shows no value: it may be a secret one."""

    key: K
    value: T | Unset = field(repr=False)
    is_fresh: bool = True
    """Whether the owner has looked since this follower asked for a fresh value. True if it did not ask."""


@dataclass(frozen=True, slots=True)
class KeyFollowed(Generic[K]):
    """Tells the owner of a level who follows a key. May repeat; newest wins."""

    key: K
    followers: int
    wanted: int
    """The number of the last look that a follower wants: one that begins after this was told."""


class Followable(Protocol[K, T]):
    """A level as its followers have it. They are addresses, and hear ``LevelIs``."""

    def follow(self, key: K, follower: Port[LevelIs[K, T]], *, fresh: bool = False) -> None:
        """Tell ``follower`` the present value or UNSET, then each that differs. May repeat: tells it again.

        With ``fresh`` the owner is asked to look. The present value is told as not fresh, and once more
        after the look, also if it is the same.
        """
        ...

    def follow_only(self, keys: Collection[K], follower: Port[LevelIs[K, T]]) -> None:
        """Follow these keys and no others. Their values are told again."""
        ...

    def leave(self, key: K, follower: Port[LevelIs[K, T]]) -> None:
        """Tell ``follower``, which calls this, nothing more of ``key``: also not what has changed already."""
        ...


class _Kept(Generic[T]):
    """What a level has of a key."""

    __slots__ = ("followers", "proven", "value", "wanted")

    def __init__(self) -> None:
        self.value: T | Unset = UNSET
        self.wanted = 0
        self.proven = 0
        """The number of the look that found the value."""
        self.followers: dict[_Token, int] = {}
        """With the number of the look that each wants at least."""


class _Token(KernelMessage):
    """One address in a level, as a follower or as the owner; also the item in its mailbox."""

    __slots__ = ("cell", "changed", "is_told", "keys", "level")

    def __init__(self, level: Level[Any, Any], cell: Cell[Any]) -> None:
        self.level = level
        self.cell = cell
        self.keys: dict[Any, None] = {}
        """What it follows, in the order in which it began to."""
        self.changed: dict[Any, None] = {}
        """The keys of which it is to be told, the oldest change first."""
        self.is_told = False
        """Whether it is in the mailbox."""

    @property
    @override
    def title(self) -> str:
        return (LevelIs if self.keys else KeyFollowed).__name__

    @override
    def perform(self, life: LifeOfActor, /) -> None:
        """Tell a part of what has changed. What comes meanwhile waits for the other messages."""
        self.level.hand_over(self, life)


class Level(Followable[K, T]):
    """A value for each key, as its owner has it. It is made once, and handed to owner and followers.

    Who sets a value and then tells a message: when that is handled, the follower knows this value *or a newer
    one*. A value may overtake messages that were told before. There is no order between keys.

    Following belongs to the address: it outlives a crash of the follower, whose next life is told
    everything once more, and ends with ``leave``, ``follow_only``, or the address. A life without memory
    calls ``follow_only`` in ``started``. A crash of the owner tells followers nothing. A life that has
    ended changes nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[K, _Kept[T]] = {}
        self._tokens: dict[Cell[Any], _Token] = {}
        """Those of the followers."""
        self._looks = 0
        self._to_tell: list[_Token] = []
        """Tokens to be put into mailboxes once the lock is released."""
        self._owner: _Token | None = None

    # --- the owner -------------------------------------------------------------------------------------

    def own(self, owner: Port[Any]) -> None:
        """Tell ``owner``, an address, from now on who follows. May repeat: owners call it in ``started``."""
        cell = _cell_of(owner)
        with self._lock:
            if self._owner is not None and self._owner.cell is cell:
                return
            self._owner = _Token(self, cell)
            cell.join(self)
            for key, kept in self._keys.items():
                if kept.followers:
                    self._mark(self._owner, key)
        self._tell()

    def set(self, key: K, value: T, *, proven: int = 0) -> None:
        """Make ``value`` the present one, in a handler of the owner or of an actor that it made for the key.

        An equal one is told to nobody.

        It is frozen, and compares by content alone. ``proven`` is ``KeyFollowed.wanted`` as it was when the
        look began that found this value, if it was looked for.
        """
        with self._lock:
            if _is_over():
                return
            kept = self._kept(key)
            before, kept.proven = kept.proven, max(kept.proven, proven)
            is_same = kept.value is value or kept.value == value
            if is_same and before == kept.proven:
                return
            if not is_same:
                kept.value = value
            for token, since in kept.followers.items():
                if not is_same or before < since <= kept.proven:
                    self._mark(token, key)
        self._tell()

    def remove(self, key: K) -> None:
        """Keep no value of ``key``. Its followers are told UNSET, and go on following."""
        with self._lock:
            if not _is_over():
                self._unset(key)
        self._tell()

    def followed(self) -> dict[K, int]:
        """Return how many follow each key that anybody follows.

        An owner that remembers it replaces all of it in ``started``: the message that a key is followed no
        more may be the one over which the life before crashed.
        """
        with self._lock:
            return {key: len(kept.followers) for key, kept in self._keys.items() if kept.followers}

    def __len__(self) -> int:
        """How many keys have a value or a follower."""
        return len(self._keys)

    # --- followers -------------------------------------------------------------------------------------

    @override
    def follow(self, key: K, follower: Port[LevelIs[K, T]], *, fresh: bool = False) -> None:
        with self._lock:
            token = None if _is_over() else self._token(follower)
            if token is not None:
                self._add(key, token, fresh=fresh)
        self._tell()

    @override
    def follow_only(self, keys: Collection[K], follower: Port[LevelIs[K, T]]) -> None:
        with self._lock:
            token = None if _is_over() else self._token(follower)
            if token is not None:
                wanted = frozenset(keys)
                for key in [each for each in token.keys if each not in wanted]:
                    self._drop(key, token)
                for key in keys:
                    self._add(key, token)
                self._forget_if_unused(token)
        self._tell()

    @override
    def leave(self, key: K, follower: Port[LevelIs[K, T]]) -> None:
        with self._lock:
            token = self._tokens.get(_cell_of(follower))
            if token is not None and not _is_over():
                self._drop(key, token)
                self._forget_if_unused(token)
        self._tell()

    # --- the kernel ------------------------------------------------------------------------------------

    def tell_again(self, cell: Cell[Any]) -> None:
        """Tell everything once more to an address at which a life has begun."""
        with self._lock:
            owner, token = self._owner, self._tokens.get(cell)
            if owner is not None and owner.cell is cell:
                for key, kept in self._keys.items():
                    if kept.followers:
                        self._mark(owner, key)
            if token is not None:
                for key in token.keys:
                    self._mark(token, key)
        self._tell()

    def forget(self, cell: Cell[Any]) -> None:
        """Keep nothing of an address that was closed."""
        with self._lock:
            if self._owner is not None and self._owner.cell is cell:
                self._owner.is_told = False  # it may be opened again, with its group
            token = self._tokens.get(cell)
            if token is not None:
                for key in tuple(token.keys):
                    self._drop(key, token)
                self._forget_if_unused(token)
        self._tell()

    def hand_over(self, token: _Token, life: LifeOfActor) -> None:
        """Tell ``life`` some of what has changed. The token goes to the back if that is not all."""
        with self._lock:
            token.is_told = False
        for _ in range(VALUES_PER_TURN):
            message = self._next_of(token)
            if message is None:
                return
            life.actor.receive(message)
            if life.is_cut_off:
                return
        with self._lock:
            if token.changed:
                self._put_once(token)
        self._tell()

    # --- inside, under the lock ------------------------------------------------------------------------

    def _kept(self, key: K) -> _Kept[T]:
        kept = self._keys.get(key)
        if kept is None:
            kept = self._keys[key] = _Kept()
        return kept

    def _token(self, follower: Port[Any]) -> _Token | None:
        """Return the token of a follower; None if its address is closed."""
        cell = _cell_of(follower)
        token = self._tokens.get(cell)
        if token is None and cell.join(self):
            token = self._tokens[cell] = _Token(self, cell)
        return token

    def _add(self, key: K, token: _Token, *, fresh: bool = False) -> None:
        kept = self._kept(key)
        is_new = token not in kept.followers
        if fresh:
            self._looks += 1
            kept.wanted = kept.followers[token] = self._looks
        elif is_new:
            kept.followers[token] = 0
        token.keys[key] = None
        self._mark(token, key)
        if self._owner is not None and (is_new or fresh):
            self._mark(self._owner, key)

    def _drop(self, key: K, token: _Token) -> None:
        token.keys.pop(key, None)
        token.changed.pop(key, None)
        kept = self._keys.get(key)
        if kept is None or kept.followers.pop(token, None) is None:
            return
        if self._owner is not None:
            self._mark(self._owner, key)
        self._forget_if_empty(key, kept)

    def _unset(self, key: K) -> None:
        kept = self._keys.get(key)
        if kept is None:
            return
        if kept.value is not UNSET:
            kept.value = UNSET
            for token in kept.followers:
                self._mark(token, key)
        self._forget_if_empty(key, kept)

    def _forget_if_empty(self, key: K, kept: _Kept[T]) -> None:
        if kept.value is UNSET and not kept.followers:
            del self._keys[key]

    def _forget_if_unused(self, token: _Token) -> None:
        if not token.keys and self._tokens.pop(token.cell, None) is not None:
            is_owner = self._owner is not None and self._owner.cell is token.cell
            if not is_owner:
                token.cell.part(self)

    def _mark(self, token: _Token, key: K) -> None:
        token.changed[key] = None
        self._put_once(token)

    def _put_once(self, token: _Token) -> None:
        if not token.is_told:
            token.is_told = True
            self._to_tell.append(token)

    # --- inside, without the lock ----------------------------------------------------------------------

    def _tell(self) -> None:
        """Put tokens into mailboxes. They have no value, so their order does not matter."""
        if not self._to_tell:
            return
        with self._lock:
            tokens, self._to_tell = self._to_tell, []
        for token in tokens:
            while token.cell.put(token) and self._is_to_be_put_again(token):
                pass

    def _is_to_be_put_again(self, token: _Token) -> bool:
        """Note that a token was refused: its address is closed. Return whether a life has begun since.

        That life was told nothing, since the token counted as being in its mailbox.
        """
        with self._lock:
            token.is_told = token.cell.incarnation is not None
            return token.is_told

    def _next_of(self, token: _Token) -> LevelIs[K, T] | KeyFollowed[K] | None:
        """Return the next message for a follower or the owner."""
        with self._lock:
            if not token.changed:
                return None
            key = next(iter(token.changed))
            del token.changed[key]
            kept = self._keys.get(key)
            if token is self._owner:
                followers = 0 if kept is None else len(kept.followers)
                return KeyFollowed(key, followers, 0 if kept is None else kept.wanted)
            if kept is None:
                return LevelIs(key, UNSET)
            return LevelIs(key, kept.value, kept.proven >= kept.followers.get(token, 0))


def _is_over() -> bool:
    """Return whether the caller is an actor whose life has ended: what it says counts no more."""
    caller = current_incarnation()
    return caller is not None and caller.is_cut_off


def _cell_of(port: Port[Any]) -> Cell[Any]:
    if not isinstance(port, Cell):
        raise TypeError("a level is owned and followed by addresses")
    return port

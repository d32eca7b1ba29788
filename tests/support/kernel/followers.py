"""Actors that follow levels, and note what they are told."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any

from typing_extensions import override

from kernel import AnySpec, Followable, Key, LevelIs, PooledActor, Unset, isolated
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage


class Follower(PooledActor[LevelIs[Any, Any]]):
    """Notes the values that it is told."""

    def __init__(self, heard: Probe[Any]) -> None:
        self._heard = heard

    @override
    def receive(self, message: LevelIs[Any, Any], /) -> None:
        if not isinstance(message.value, Unset):
            self._heard.tell(message.value)


class Followers:
    """Some followers. Each follows one key."""

    def __init__(self, count: int = 4) -> None:
        self._heard: dict[Key[Any], Probe[Any]] = {
            Key(f"follower-{number}"): Probe() for number in range(count)
        }
        self._idle = list(self._heard)

    def actors(self) -> Iterator[AnySpec]:
        """Yield them, for the tree."""
        for key, heard in self._heard.items():
            yield isolated(key, partial(Follower, heard))

    def follow(self, play: Stage, level: Followable[Any, Any], followed: Hashable) -> Probe[Any]:
        """Have one that follows nothing yet follow this. Return what it hears."""
        key = self._idle.pop(0)
        level.follow(followed, play.port(key))
        play.settle()
        return self._heard[key]

    def leave(
        self, play: Stage, level: Followable[Any, Any], followed: Hashable, heard: Probe[Any]
    ) -> None:
        """Have the one with these ears follow this no more."""
        (key,) = [key for key, each in self._heard.items() if each is heard]
        level.leave(followed, play.port(key))
        play.settle()

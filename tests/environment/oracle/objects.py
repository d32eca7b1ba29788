"""Rules of what containers are given of Secrets and ConfigMaps.

Each value of an object ends with a number, which grows from one to the next.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, Final

from typing_extensions import override

from tests.environment.machine import Instance
from tests.environment.objects import number, text_of
from tests.environment.oracle.references import references, variables_of
from tests.environment.oracle.rule import API, LOCAL, Rule
from tests.environment.oracle.volumes import parts_of
from tests.support.apiserver import paths
from tests.support.apiserver.history import Change
from tests.support.canary import revealed

GOES_WITHIN: Final = 60.0
"""Seconds within which the last pull of a pod begins that is not wanted any more."""
OF_FILES: Final = 1.0
"""Seconds that a file may have been over when a pod came. An agent reads the two one after the other."""


class Given(Rule):
    """A container is given of an object what it said at some moment since the pod was there, and never less
    new than the pod was given before. It has each variable that it requires. The same holds for pulls. A part
    of a volume says what its object did at some moment since the pod was there.
    """

    is_of_containers = False

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._said: dict[tuple[str, str, str], list[tuple[float, int]]] = defaultdict(list)
        self._used: dict[tuple[str, str], int] = {}

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        if change.kind in {paths.SECRET, paths.CONFIG_MAP}:
            text = "" if change.is_gone else text_of(change.after)
            self.objects_say(API, change.kind.name, change.after["metadata"]["name"], text)

    @override
    def objects_say(self, where: str, kind: str, name: str, text: str) -> None:
        self._said[where, kind, name].append((self.wishes.now(), number(text)))
        self.wishes.said[where, kind, name] = text

    @override
    def starts(self, one: Instance) -> None:
        given = [text for text in map(revealed, one.given) if text]
        for text in given:
            self._look_at(one.uid, one.name, text)
        for each in variables_of(self.wishes.container(one.uid, one.name)):
            is_there = any(text.startswith(f"{each.name}-") for text in given)
            if given and self.judges(unless=each.is_optional) and not is_there:
                self.broken(f"{one.name} of {one.uid} starts without {each.name}")
        since = self.wishes.wanted_since.get(one.uid, 0.0)
        for text in parts_of(one).values():
            for key in self._keys(one.uid, text):
                if self.judges() and not self._was_said(key, text, since):
                    self.broken(f"{one.name} of {one.uid} mounts {text}, which was over before it")

    @override
    def pulls(self, password: str) -> None:
        given = revealed(password.encode())
        if not given or not self.judges():
            return
        since = {
            key: self._named_since(key) for key in self._said if given.startswith(f"{key[2]}-")
        }
        if not any(at < math.inf and self._was_said(key, given, at) for key, at in since.items()):
            self.broken(f"an image is pulled by {given}, which was over before any pod named it")

    def _named_since(self, key: tuple[str, str, str]) -> float:
        """Return since when pods are wanted that name an object. Infinity if there are none."""
        wishes = self.wishes
        since = (
            wishes.wanted_since[uid]
            for uid, pod in wishes.pods.items()
            if (wishes.wants(uid) or wishes.unwanted_at[uid] > wishes.now() - GOES_WITHIN)
            and wishes.where(uid) == key[0]
            and key[1:] in (each.key for each in references(pod))
        )
        return min(since, default=math.inf)

    def _look_at(self, uid: str, what: str, text: str) -> None:
        for key in self._keys(uid, text):
            self._look_at_number(uid, what, key, text)

    def _keys(self, uid: str, text: str) -> list[tuple[str, str, str]]:
        """Return the objects of a pod's place that a text may be of."""
        where = self.wishes.where(uid)
        return [key for key in self._said if key[0] == where and text.startswith(f"{key[2]}-")]

    def _look_at_number(self, uid: str, what: str, key: tuple[str, str, str], text: str) -> None:
        if self.judges() and not self._was_said(key, text, self.wishes.wanted_since.get(uid, 0.0)):
            self.broken(f"{what} of {uid} is given {text} of {key}, which was over before it")
        given = number(text)
        if given < self._used.get((uid, key[2]), -1):
            self.broken(f"{what} of {uid} is given {given} of {key}, and was given more")
        self._used[uid, key[2]] = given

    def _was_said(self, key: tuple[str, str, str], text: str, since: float) -> bool:
        """Return whether an object has said this at some moment since then."""
        said = self._said[key]
        ends = [begin for begin, _ in said[1:]] + [math.inf]
        since -= OF_FILES if key[0] == LOCAL else 0.0
        return any(
            which == number(text) and end >= since
            for (_, which), end in zip(said, ends, strict=True)
        )

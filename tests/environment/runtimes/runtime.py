"""What runs the pods of a node, as the node and the oracle know it: the one seam between the kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from actors.volumes.mounts.system_calls import MountCalls
from tests.environment.machine import Instance, Witness
from tests.environment.outside import Outside
from tests.support.files.power import DiskTrouble
from tests.support.kernel.clock import EPOCH
from tests.support.volumes.no_mounts import NoMounts


class InThisLife(Protocol):
    """Has something done after so many seconds, unless the agent was killed or it was over meanwhile."""

    def __call__(
        self, seconds: float, action: Callable[[], None], is_over: Callable[[], bool] = ..., /
    ) -> None:
        """Have ``action`` done."""
        ...


class Runtime(ABC):
    """How an agent reaches what runs its pods, and what of them really runs. Outlives each agent."""

    flags: tuple[str, ...]
    """What the agent is started with."""
    restarts_containers: bool = True
    """Whether the agent starts again what has ended. Else a pod whose containers have ended has ended."""
    follows_edits: bool = True
    """Whether a pod becomes what it is edited to. Else it runs on as it was."""
    knows_hooks: bool = True
    """Whether what runs says itself what hooks it has, and what grace."""

    options: Mapping[str, bool] = {}
    """What it was made with: another one of its kind is made with the same."""
    makes_volumes: bool = False
    """Whether pods have volumes."""
    mounts: MountCalls = NoMounts()
    """The kernel of the machine that the agent runs on."""
    lost_with_power: Path | None = None
    """A file below the root directory, of which nothing is left when the power goes."""

    def __init__(self, outside: Outside) -> None:
        self.outside = outside
        self.witness = Witness()
        """Who is told what really happens."""
        self.trouble = DiskTrouble()
        """What will go wrong with the disk that the agent writes to."""
        self.unnamed: set[str] = set()
        """UIDs of pods that ran when this agent began, and of which nobody has told it yet whose they are."""

    @property
    def wall(self) -> float:
        """The seconds of the wall clock."""
        return EPOCH + self.outside.now

    @property
    def is_there(self) -> bool:
        """Whether the agent reaches what runs its pods."""
        return True

    def crashes(self, actor: str) -> None:
        """Note that an actor of the agent crashes now."""
        del actor

    def disk_fails(self) -> None:  # noqa: B027  # most runtimes keep nothing there
        """Note that the disk refuses something now."""

    def loses_agent(self) -> None:  # noqa: B027  # most runtimes are outside of the agent
        """Note that the agent gets a SIGKILL now."""

    def loses_power(self) -> None:  # noqa: B027  # what runs pods may be on other machines
        """Note that the machine of the agent loses its power now."""

    def is_seen_by(self, witness: Witness) -> None:
        """Have ``witness`` told what really happens."""
        self.witness = witness

    @abstractmethod
    def edges(self, in_this_life: InThisLife) -> Mapping[str, Any]:
        """Return edges for an agent that begins now. An agent before it has got a SIGKILL."""

    @abstractmethod
    def live(self) -> Iterator[Instance]:
        """Yield what runs."""

    @abstractmethod
    def work(self) -> Counter[str]:
        """Return how many calls the agents have made, by method, and how many jobs their disk has done."""

    def others(self) -> Mapping[str, str]:
        """Return what is no pod of ours, and how it is."""
        return {}

    def meaning(self, image: str, *, is_pulled: bool) -> tuple[str, float]:
        """Return the id that the name of an image means, if it is pulled anew or not, and since when.

        Empty where nobody knows.
        """
        del image, is_pulled
        return "", 0.0

    def newest_ids(self, uid: str) -> Mapping[str, str]:
        """Return the ids of a pod's newest instances that were started, as they are shown, by container."""
        del uid
        return {}

    def says(self, one: Instance, what: str) -> bool:
        """Return whether a running container answers yes now to a probe that asks this."""
        del one, what
        return True

    @abstractmethod
    def left_over(self, wanted: set[str]) -> Iterator[str]:
        """Yield what is there, and nobody needs: of other pods than ``wanted``, or too much of these."""

    def lost(self) -> Iterator[str]:
        """Yield of each thing that a SIGKILL of the agent must not take away what is wrong with it now.

        Empty if nothing is. Each thing once.
        """
        yield from ()

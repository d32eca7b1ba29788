"""What the endpoints show, gathered from the actors in one go."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from actors.kernel import (
    ActorCrashedError,
    ActorDeadError,
    ActorDescription,
    ActorSystem,
    AskTimeoutError,
    Port,
    asking,
)
from actors.messages.pod_manager import DescribePods, PodManagerMessage, PodsDescribed
from actors.messages.pods import JsonObject, SourceName
from actors.messages.sources import DescribeSource, SourceDescribed, SourceMessage
from actors.messages.units import Seconds

ANSWER_WITHIN = Seconds(2.0)
"""An actor that takes longer is not well: their handlers take milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Whom the endpoints ask, and what they were told to show and to allow."""

    system: ActorSystem
    pod_manager: Port[PodManagerMessage]
    sources: Mapping[SourceName, Port[SourceMessage]]
    node_name: str
    configuration: JsonObject
    """What ``/configz`` answers."""
    chaos: bool
    """Actors may be crashed on request."""

    async def tree(self) -> tuple[ActorDescription, ...]:
        """Return the actors. Raises AskTimeoutError."""
        return await asking.describe(self.system, ANSWER_WITHIN)

    async def pods(self) -> PodsDescribed:
        """Return what PodManager knows. Raises AskTimeoutError, ActorDeadError."""
        return await asking.ask(
            self.system,
            self.pod_manager,
            lambda reply_to: DescribePods(reply_to=reply_to),
            ANSWER_WITHIN,
        )

    async def source(self, name: SourceName) -> SourceDescribed | Unanswered:
        """Return how a source is; one that does not answer is an answer as well."""
        try:
            return await asking.ask(
                self.system,
                self.sources[name],
                lambda reply_to: DescribeSource(reply_to=reply_to),
                ANSWER_WITHIN,
            )
        except (AskTimeoutError, ActorDeadError, ActorCrashedError) as error:
            return Unanswered(name=name, reason=str(error))

    async def described_sources(self) -> tuple[SourceDescribed | Unanswered, ...]:
        """Return how all sources are, asked side by side."""
        return tuple(await asyncio.gather(*(self.source(name) for name in self.sources)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """A source that did not answer in time."""

    name: SourceName
    reason: str

"""Reviewer on a stage, with an API server in memory.

``whose`` and ``may`` ask as the TLS server does, each with a port of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from actors.access.reviewer import (
    REVIEWER,
    DecisionTimes,
    Reviewer,
    ReviewerMemory,
    ReviewerPorts,
)
from kernel import Runtime, SupervisorSpec, isolated
from messages.access import (
    AccessVerb,
    Allowed,
    Denied,
    Identity,
    Known,
    May,
    NobodyToAsk,
    Review,
    Unknown,
    WhoIs,
)
from messages.units import Seconds
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.store import ApiStore
from tests.support.canary import hidden
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage

NODE = "n1"
TIMES = DecisionTimes(token=Seconds(120.0), allowed=Seconds(300.0), denied=Seconds(30.0))
ANNA = Identity(user="anna", groups=("ops",))
NO_TOKEN_REVIEW = NobodyToAsk(review=Review.TOKEN)
NO_ACCESS_REVIEW = NobodyToAsk(review=Review.ACCESS)
Answer: TypeAlias = Known | Unknown | Allowed | Denied | NobodyToAsk


class ReviewerStage:
    """The reviewer at work."""

    def __init__(self, runtime: Runtime | None = None) -> None:
        reviewer = isolated(REVIEWER, self._make)
        self.play = Stage(SupervisorSpec(name="root", children=(reviewer,)), runtime)
        self.store = ApiStore(now=self.play.clock.wall)
        self.api = FakeApi(self.store, as_node=NODE)
        self.reviews = self.store.reviews
        self.memory = ReviewerMemory()

    def _make(self) -> Reviewer:
        return Reviewer(ReviewerPorts(calls=self.api.calls), NODE, TIMES, self.memory)

    def knows(self, token: str, user: str = "anna", *groups: str, **others: Any) -> None:
        """Have a token be that of a user."""
        self.reviews.knows(hidden(token), user, *groups, **others)

    # --- the side of the server ----------------------------------------------------------------------

    def whose(self, token: str) -> Probe[Any]:
        """Ask whose token it is. Return where the answer comes."""
        reply: Probe[Any] = Probe()
        self.play.tell(REVIEWER, WhoIs(token=hidden(token), reply_to=reply))
        return reply

    def may(
        self,
        *subresources: str,
        who: Identity = ANNA,
        verb: AccessVerb = AccessVerb.GET,
        may_be_stale: bool = True,
    ) -> Probe[Any]:
        """Ask whether somebody may do something. Return where the answer comes."""
        reply: Probe[Any] = Probe()
        question = May(
            identity=who,
            verb=verb,
            subresources=subresources,
            may_be_stale=may_be_stale,
            reply_to=reply,
        )
        self.play.tell(REVIEWER, question)
        return reply

    def asked(self) -> list[str]:
        """Return what was asked of the API server since the last look."""
        requests = tuple(self.api.calls.requests)
        self.api.calls.requests.clear()
        return [_words((request.body or {})["spec"]) for request in requests]

    # --- time and accidents --------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.play.advance(seconds)

    def crashes(self) -> None:
        """Crash the reviewer, and let its next life begin."""
        self.play.system.crash(REVIEWER.path)
        self.play.advance(1.0)


def _words(spec: dict[str, Any]) -> str:
    if "token" in spec:
        return f"whose is {spec['token'].split()[-1]}"
    asked = spec["resourceAttributes"]
    return f"may {spec['user']} {asked['verb']} {asked['subresource']}"


@contextmanager
def reviewer_stage(runtime: Runtime | None = None) -> Iterator[ReviewerStage]:
    """Start the reviewer. Nobody has asked anything yet."""
    stage = ReviewerStage(runtime)
    stage.play.start()
    try:
        yield stage
    finally:
        stage.play.stop()

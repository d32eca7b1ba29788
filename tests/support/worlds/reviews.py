"""The world of the crash matrix around Reviewer: a server that asks, and an API server."""

from __future__ import annotations

from typing import Any, ClassVar

from typing_extensions import override

from actors.access.reviewer import REVIEWER, Reviewer, ReviewerMemory, ReviewerPorts
from kernel import Backoff, SupervisorSpec, isolated
from messages.access import AccessVerb, Allowed, Identity, Known, May, NobodyToAsk, WhoIs
from messages.units import Seconds
from tests.support.access.reviewer_stage import NODE, TIMES
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.store import ApiStore
from tests.support.crash_matrix import Outcome, StoryRun, World
from tests.support.kernel.probe import Probe


class ReviewerWorld(World):
    """Reviewer, which is the victim. Its questions are known by who asks."""

    pause: ClassVar[float] = 0.5
    in_the_end: ClassVar[float] = 10.0  # longer than anybody waits
    taken_at_once: ClassVar[tuple[type, ...]] = ()

    def __init__(self, run: StoryRun) -> None:
        self.memory = ReviewerMemory()
        backoff = Backoff(initial=Seconds(0.1), cap=Seconds(1.0))
        reviewer = isolated(REVIEWER, self._make)
        super().__init__(run, SupervisorSpec(name="root", backoff=backoff, children=(reviewer,)))
        store = ApiStore(now=self.play.clock.wall)
        self.api = FakeApi(store, as_node=NODE)
        self.reviews = store.reviews
        self.good: set[str] = set()
        """Tokens, and users, that the API server has ever said yes to."""
        self.asked: list[tuple[str, Probe[Any]]] = []

    def _make(self) -> Reviewer:
        return Reviewer(ReviewerPorts(calls=self.api.calls), NODE, TIMES, self.memory)

    def knows(self, token: str) -> None:
        """Have a token be a good one from now on."""
        self.good.add(token)
        self.reviews.knows(token, token)

    def grants(self, user: str) -> None:
        """Let a user see the pods from now on."""
        self.good.add(user)
        self.reviews.grants(user, "get", "proxy")

    def whose(self, token: str) -> Probe[Any]:
        """Ask whose token it is."""
        reply: Probe[Any] = Probe()
        self.asked.append((token, reply))
        self.play.port(REVIEWER).tell(WhoIs(token=token, reply_to=reply))
        return reply

    def may(self, user: str) -> Probe[Any]:
        """Ask whether a user may see the pods."""
        reply: Probe[Any] = Probe()
        self.asked.append((user, reply))
        question = May(
            identity=Identity(user=user),
            verb=AccessVerb.GET,
            subresources=("pods", "proxy"),
            may_be_stale=True,
            reply_to=reply,
        )
        self.play.port(REVIEWER).tell(question)
        return reply

    @override
    def _outcome(self) -> Outcome:
        answers = [(who, reply.drain()) for who, reply in self.asked]
        self.play.advance(400.0)  # nothing that was decided counts any more
        replies = {who: self.whose(who) for who in sorted(self.good)}
        replies |= {f"{who} may": self.may(who) for who in sorted(self.good)}
        self.play.advance(1.0)
        return Outcome(
            observed={
                "in the end": {who: type(reply.next()).__name__ for who, reply in replies.items()},
                "wrong": [who for who, told in answers if self._is_wrong(who, told)],
                "in review": len(self.memory.reviews.running),
                "in flight": len(self.memory.lane) + self.memory.lane.waiting,
                "errors": self.other_errors,
            },
        )

    def _is_wrong(self, who: str, told: list[Any]) -> bool:
        """Return whether somebody was told yes who never had one, or two things that contradict."""
        said = {type(each) for each in told} - {NobodyToAsk}
        return len(said) > 1 or (who not in self.good and bool(said & {Allowed, Known}))

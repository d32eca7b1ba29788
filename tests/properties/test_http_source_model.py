"""Bodies, errors, restarts of server and source at random, against a plain model of what is served."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from typing_extensions import override

from messages.pods import Pod
from messages.sources import Verdict
from tests.support.sources.http_source_stage import (
    HttpSourceStage,
    bad_item,
    http_source_stage,
    list_body,
    pod_body,
    pod_item,
)

Content: TypeAlias = frozenset[tuple[str, str]]
"""Names and images."""

PODS = st.tuples(st.sampled_from("abc"), st.sampled_from("12"))
LISTS = st.lists(PODS, max_size=4, unique_by=lambda pod: pod[0])
TROUBLE = st.sampled_from(["answered with status 500", "no complete answer within 10 s"])
GARBAGE = st.sampled_from([b"", b" \n", b"garbage", b"{", b"kind: Service", b"\xff"])
SERVING = {Verdict.ACCEPTED, Verdict.KEPT}


class Url(RuleBasedStateMachine):
    """A URL that changes its mind, the source that asks it, and what should be served."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.source: HttpSourceStage
        self.served: Content | None = None
        self.known: Content | None = None
        """As ``served``, when it was looked at last."""
        self.taken = False
        """Whether the last poll's answer was."""
        self.crashed = False
        self.objects: dict[tuple[str, str], Pod] = {}

    @initialize(answer=GARBAGE)
    def the_agent_starts(self, answer: bytes) -> None:
        self.source = self.stack.enter_context(http_source_stage(first=answer))

    @override
    def teardown(self) -> None:
        self.stack.close()

    def is_taken(self, content: Content) -> None:
        self.served, self.taken = content, True

    @rule(pod=PODS, etag=st.booleans())
    def the_url_has_one_pod(self, pod: tuple[str, str], *, etag: bool) -> None:
        name, image = pod
        self.source.serves(pod_body(name, image=image), etag=f"{pod}" if etag else "")
        self.is_taken(frozenset({pod}))

    @rule(pods=LISTS, etag=st.booleans())
    def the_url_has_a_list(self, pods: list[tuple[str, str]], *, etag: bool) -> None:
        body = list_body(*(pod_item(name, image=image) for name, image in pods))
        self.source.serves(body, etag=f"{sorted(pods)}" if etag else "")
        self.is_taken(frozenset(pods))

    @rule(pods=LISTS, place=st.integers(0, 4), name=st.sampled_from("abcd"))
    def the_url_has_a_list_with_a_bad_item(
        self, pods: list[tuple[str, str]], place: int, name: str
    ) -> None:
        items = [pod_item(one, image=image) for one, image in pods]
        items.insert(place, bad_item(name))
        self.source.serves(list_body(*items), etag="bad")
        self.taken = False

    @rule(body=GARBAGE)
    def the_url_has_garbage(self, body: bytes) -> None:
        self.source.serves(body, etag="garbage")
        self.taken = False

    @rule()
    def the_url_has_too_much(self) -> None:
        self.source.is_too_large()
        self.taken = False

    @rule(trouble=TROUBLE)
    def the_server_is_in_trouble(self, trouble: str) -> None:
        self.source.fails(trouble)
        self.taken = False

    @rule()
    def nothing_changes(self) -> None:
        self.source.polls()
        assert self.source.told.drain() == []

    @rule()
    def the_source_crashes(self) -> None:
        # After a healthy time: the waits between its lives are another story.
        self.source.play.advance(40.0)
        assert self.source.told.drain() == []
        self.source.crashes()
        self.crashed = True

    @invariant()
    def what_is_told_and_shown_is_what_should_be_served(self) -> None:
        told = self.source.told.drain()
        news = self.served != self.known or self.crashed
        assert len(told) == (news and self.served is not None)
        self.known, self.crashed = self.served, False
        self.source.asks_for_listing()
        for listing in (*told, *self.source.told.drain()):
            now = {key_of(pod): pod for pod in listing.pods}
            assert now.keys() == self.served
            assert all(now[key] is self.objects.get(key, now[key]) for key in now)
            self.objects = now
        self.every_pod_is_explained_by_one_verdict_and_every_trouble_by_an_error()

    def every_pod_is_explained_by_one_verdict_and_every_trouble_by_an_error(self) -> None:
        described = self.source.described()
        explained = [each.uid for each in described.manifests if each.verdict in SERVING]
        assert sorted(map(str, explained)) == sorted(pod.uid for pod in self.objects.values())
        assert described.ready == (self.served is not None)
        assert (described.error == "") == self.taken
        if self.taken:
            assert {each.verdict for each in described.manifests} <= {Verdict.ACCEPTED}


def key_of(pod: Pod) -> tuple[str, str]:
    (container,) = pod.document["spec"]["containers"]
    return pod.name.removesuffix("-node1"), container["image"]


TestUrl = Url.TestCase

"""The world of the crash matrix around TokenKeeper: volumes that want tokens, and an API server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from typing_extensions import override

from actors.volumes.token_keeper import TOKEN_KEEPER, TokenKeeper, TokenMemory, TokenPorts
from kernel import Backoff, Port, SupervisorSpec, isolated
from messages.pods import Pod, PodUid
from messages.tokens import ReleaseTokens, TokenNeeded, TokensAre, WantTokens
from messages.units import Seconds
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.store import ApiStore
from tests.support.crash_matrix import Outcome, StoryRun, World
from tests.support.volumes.token_stage import NODE, TOKEN, bound


@dataclass(slots=True, eq=False)
class ShowingVolumes(Port[TokensAre]):
    """Volumes that show what they were told last."""

    shown: dict[PodUid, TokensAre] = field(default_factory=dict)

    @override
    def tell(self, message: TokensAre, /) -> None:
        self.shown[message.uid] = message


class TokenWorld(World):
    """TokenKeeper, which is the victim."""

    pause: ClassVar[float] = 0.5
    in_the_end: ClassVar[float] = (
        190.0  # longer than a lost call is waited for, and than the backoff
    )
    taken_at_once: ClassVar[tuple[type, ...]] = (WantTokens, ReleaseTokens)

    def __init__(self, run: StoryRun) -> None:
        self.volumes = ShowingVolumes()
        self.memory = TokenMemory()
        backoff = Backoff(initial=Seconds(0.1), cap=Seconds(1.0))
        keeper = isolated(TOKEN_KEEPER, self._make)
        super().__init__(run, SupervisorSpec(name="root", backoff=backoff, children=(keeper,)))
        self.api = FakeApi(ApiStore(now=self.play.clock.wall), as_node=NODE)
        self.pods: dict[str, Pod] = {}
        self.released: set[PodUid] = set()
        self.api.store.add({"kind": "ServiceAccount", "metadata": {"name": "shop"}})

    def _make(self) -> TokenKeeper:
        return TokenKeeper(TokenPorts(calls=self.api.calls), self.memory)

    def wants(self, name: str, *needed: TokenNeeded) -> None:
        """Have the tokens of a pod wanted."""
        if name not in self.pods:
            self.pods[name] = Pod.of(self.api.store.add(bound(name)))
        wanted = frozenset(needed or (TOKEN,))
        message = WantTokens(pod=self.pods[name], wanted=wanted, reply_to=self.volumes)
        self.play.port(TOKEN_KEEPER).tell(message)

    def releases(self, name: str) -> None:
        """Have a pod's tokens wanted no more."""
        self.released.add(self.pods[name].uid)
        self.play.port(TOKEN_KEEPER).tell(ReleaseTokens(uid=self.pods[name].uid))

    @override
    def _outcome(self) -> Outcome:
        asked_before = len(self.api.calls.requests)
        self.play.advance(0.8 * 3600)
        names = {pod.uid: name for name, pod in self.pods.items()}
        shown = {
            names[uid]: (sorted(each.path for each in fact.tokens), sorted(fact.troubles.values()))
            for uid, fact in self.volumes.shown.items()
            if uid not in self.released
        }
        return Outcome(
            observed={
                "shown": shown,
                "kept": sorted(names[uid] for uid in self.memory.pods),
                "states": {key: value for key, value in self.memory.states.items() if value},
                "renewed": len(self.api.calls.requests) > asked_before,
                "errors": self.other_errors,
            },
        )

"""TokenKeeper on a stage, with an API server in memory.

``wants`` and ``releases`` act as whoever keeps volumes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from actors.volumes.token_keeper import TOKEN_KEEPER, TokenKeeper, TokenMemory, TokenPorts
from kernel import Port, Runtime, SupervisorSpec, isolated
from messages.pods import Pod, PodUid
from messages.tokens import (
    DescribeTokens,
    ReleaseTokens,
    TokenNeeded,
    TokensAre,
    TokensDescribed,
    TokensMessage,
    WantTokens,
)
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.store import ApiStore
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage

NODE = "n1"
TOKEN = TokenNeeded(audience="", expiration_seconds=3600, path="token")
VAULT = TokenNeeded(audience="vault", expiration_seconds=600, path="vault/token")


class TokenStage:
    """The keeper at work, and what it told."""

    def __init__(self, runtime: Runtime | None = None) -> None:
        keeper = isolated(TOKEN_KEEPER, self._make)
        self.play = Stage(SupervisorSpec(name="root", children=(keeper,)), runtime)
        self.store = ApiStore(now=self.play.clock.wall)
        self.api = FakeApi(self.store, as_node=NODE)
        self.told: Probe[TokensAre] = Probe()
        self.last: dict[PodUid, TokensAre] = {}
        self.memory = TokenMemory()

    def _make(self) -> TokenKeeper:
        return TokenKeeper(TokenPorts(calls=self.api.calls), self.memory)

    # --- the cluster's side --------------------------------------------------------------------------

    def binds(self, name: str = "web", account: str = "shop", node: str = NODE) -> Pod:
        """Have a pod created that is bound to the node, and its service account."""
        self.makes_account(account)
        return Pod.of(self.store.add(bound(name, account, node)))

    def makes_account(self, name: str) -> None:
        """Have a service account made, if there is none."""
        if not self.store.has("serviceaccounts", "default", name):
            self.store.add({"kind": "ServiceAccount", "metadata": {"name": name}})

    def asked(self) -> list[str]:
        """Return what was asked of the API server since the last look: account, audiences and seconds."""
        requests = tuple(self.api.calls.requests)
        self.api.calls.requests.clear()
        asked = []
        for request in requests:
            spec = (request.body or {})["spec"]
            account = request.path.split("/")[-2]
            audiences = ",".join(spec.get("audiences", ()))
            pod = spec["boundObjectRef"]["name"]
            asked.append(f"{pod} as {account} for {audiences}: {spec['expirationSeconds']}")
        return asked

    # --- the side of volumes -------------------------------------------------------------------------

    def wants(self, pod: Pod, *needed: TokenNeeded) -> None:
        """Have the tokens of a pod wanted."""
        wanted = frozenset(needed or (TOKEN,))
        self.hears(WantTokens(pod=pod, wanted=wanted, reply_to=self.told))

    def wants_none(self, pod: Pod) -> None:
        """Have no token of a pod wanted any more."""
        self.hears(WantTokens(pod=pod, wanted=frozenset(), reply_to=self.told))

    def releases(self, pod: Pod) -> None:
        """Have a pod's tokens wanted no more."""
        self.hears(ReleaseTokens(uid=pod.uid))

    def hears(self, *messages: TokensMessage) -> None:
        """Tell all of them before any is handled."""
        self.play.tell_all(TOKEN_KEEPER, *messages)

    def facts(self) -> Sequence[TokensAre]:
        """Return what was told since the last look."""
        facts = self.told.drain()
        self.last |= {fact.uid: fact for fact in facts}
        return facts

    def fact(self, pod: Pod) -> TokensAre:
        """Return what was told last of a pod."""
        self.facts()
        return self.last[pod.uid]

    def token(self, pod: Pod, needed: TokenNeeded = TOKEN) -> bytes | None:
        """Return a token as it was told last; None if there is none."""
        return self.fact(pod).tokens.get(needed)

    def trouble(self, pod: Pod, needed: TokenNeeded = TOKEN) -> str:
        """Return why there is none, as it was told last."""
        return self.fact(pod).troubles.get(needed, "")

    # --- time and accidents --------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.play.advance(seconds)

    def sleeps(self, seconds: float) -> None:
        """Have the machine sleep: no timer runs, and the wall clock goes on."""
        self.play.clock.set_wall(seconds)

    def crashes(self) -> None:
        """Crash the keeper, and let its next life begin."""
        self.play.system.crash(TOKEN_KEEPER.path)
        self.play.advance(1.0)

    def described(self) -> TokensDescribed:
        """Return what the keeper says of the tokens."""

        def question(reply_to: Port[TokensDescribed]) -> TokensMessage:
            return DescribeTokens(reply_to=reply_to)

        return self.play.ask(TOKEN_KEEPER, question)


@contextmanager
def token_stage(runtime: Runtime | None = None) -> Iterator[TokenStage]:
    """Start the keeper. Nobody wants a token yet."""
    stage = TokenStage(runtime)
    stage.play.start()
    try:
        yield stage
    finally:
        stage.play.stop()


def bound(name: str, account: str = "shop", node: str = NODE) -> dict[str, Any]:
    """Return a pod that is bound to a node and runs as a service account."""
    containers = [{"name": "main", "image": "registry.example/web:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node, "serviceAccountName": account, "containers": containers},
    }


def static(pod: Pod) -> Pod:
    """Return ``pod`` as a file would tell it."""
    return replace(pod, source="file")

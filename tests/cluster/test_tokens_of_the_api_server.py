"""Tokens that a real API server issues for pods of its node: what they are good for, and their renewal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actors.volumes.token_keeper import TOKEN_KEEPER, TokenKeeper, TokenMemory, TokenPorts
from actors.volumes.tokens import ask_of, token_request
from kernel import SupervisorSpec, Threads, isolated
from kube.calls.actor import API_CALLS, ApiCalls, CallMemory, CallRules
from kube.calls.sender import Sender
from messages.pods import Pod
from messages.tokens import TokenNeeded, TokensAre, WantTokens
from tests.support.agent.joined_agent import NODE_NAME, Onlooker
from tests.support.agent.process import eventually
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.subjects import eventually as once_allowed
from tests.support.apiserver.subjects import pod
from tests.support.apiserver.users import NODE
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.token_holders import claims_of, holder_of
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage
from tests.support.kube.calls_wire import senders

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

TOKEN = TokenNeeded(audience="", expiration_seconds=600, path="token")
VAULT = TokenNeeded(audience="vault", expiration_seconds=7200, path="vault")
ACCOUNT_USER = "system:serviceaccount:default:shop"
ACCOUNT = {"kind": "ServiceAccount", "metadata": {"name": "shop"}}


class Keeper:
    """A keeper of tokens that asks a real API server as its node, on the test's clock."""

    def __init__(self, sender: Sender) -> None:
        self.told: Probe[TokensAre] = Probe()
        calls, tokens = CallMemory(), TokenMemory()

        def make_calls() -> ApiCalls:
            return ApiCalls(sender, calls, CallRules())

        def make_tokens() -> TokenKeeper:
            port = self.play.port(API_CALLS)
            return TokenKeeper(TokenPorts(calls=port), tokens)

        children = (isolated(API_CALLS, make_calls), isolated(TOKEN_KEEPER, make_tokens))
        self.play = Stage(SupervisorSpec(name="root", children=children), Threads())

    def wants(self, pod: Pod, *needed: TokenNeeded) -> None:
        message = WantTokens(pod=pod, wanted=frozenset(needed), reply_to=self.told)
        self.play.tell(TOKEN_KEEPER, message)

    def tokens(self, *needed: TokenNeeded) -> list[str]:
        """Return these tokens, once they are all there."""
        while not (fact := self.told.next()).tokens.keys() >= set(needed):
            pass
        return [fact.tokens[each].decode() for each in needed]

    def trouble(self) -> str:
        """Return the next trouble."""
        while not (fact := self.told.next()).troubles:
            pass
        return next(iter(fact.troubles.values()))


@pytest.fixture
def keeper(cluster: Cluster) -> Iterator[Keeper]:
    with senders() as make:
        keeper = Keeper(make(cluster.access(NODE)))
        keeper.play.start()
        yield keeper
        keeper.play.stop()


@pytest.fixture
def web(cluster: Cluster, onlooker: Onlooker) -> Iterator[Pod]:
    """Return a pod of the node, once the node may ask for its tokens."""
    onlooker.admin.add(ACCOUNT)
    web = Pod.of(onlooker.admin.add(pod("web", NODE_NAME, serviceAccountName="shop")))
    with ApiClient(cluster.access(NODE)) as node:
        once_allowed(node, token_request(web, ask_of(TOKEN)))
    yield web
    onlooker.wipe()
    onlooker.admin.remove("serviceaccounts", "default", "shop")


def test_a_token_is_the_pods_and_good_for_its_audience_alone(
    keeper: Keeper, web: Pod, cluster: Cluster
) -> None:
    keeper.wants(web, TOKEN, VAULT)
    own, vault = keeper.tokens(TOKEN, VAULT)
    assert holder_of(cluster, own) == ACCOUNT_USER
    assert holder_of(cluster, vault) == ""
    assert claims_of(vault)["aud"] == ["vault"]
    for token in (own, vault):
        assert claims_of(token)["kubernetes.io"]["pod"] == {"name": "web", "uid": web.uid}


def test_a_token_is_renewed_before_it_ends(keeper: Keeper, web: Pod, cluster: Cluster) -> None:
    keeper.wants(web, TOKEN)
    (first,) = keeper.tokens(TOKEN)
    with ApiClient(cluster.access(NODE)) as node:
        # Within one second it issues the same token again.
        request = token_request(web, ask_of(TOKEN))
        eventually(lambda: node.handle(request)["status"]["token"] != first)
    keeper.told.drain()
    keeper.play.advance(480.0)
    (second,) = keeper.tokens(TOKEN)
    assert second != first
    assert holder_of(cluster, first) == holder_of(cluster, second) == ACCOUNT_USER


def test_a_pod_that_is_gone_gets_no_token(keeper: Keeper, web: Pod, onlooker: Onlooker) -> None:
    onlooker.admin.remove("pods", "default", "web")
    keeper.wants(web, TOKEN)
    said = "cannot create token of serviceaccount default/shop at https://"
    assert keeper.trouble().startswith(said)

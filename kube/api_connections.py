"""What all agents of a process reach API servers with: one loop, and the connections on it."""

from __future__ import annotations

import random
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import Final

from kube.api_loop import ApiLoop, SharedCredentials
from kube.calls.sender import CallClients, HttpSender
from kube.clients import streaming_client
from kube.credentials.access import Credentials
from kube.credentials.loading import InClusterCredentials, KubeconfigCredentials
from kube.streams.connections import MakeClient
from kube.streams.rules import WatchRules
from kube.streams.shared import SharedStreams
from messages.units import Seconds

CLOSES_WITHIN: Final = Seconds(3.0)
"""How long ``close`` waits for the loop. It ends within a second unless something hangs."""


class ApiConnections:
    """The loop, the clients and the credentials. Who made it closes it, when its agents are down."""

    def __init__(
        self,
        rules: WatchRules,
        make_client: MakeClient = streaming_client,
        chance: random.Random | None = None,
    ) -> None:
        self._loop = ApiLoop()
        self._clients = CallClients(self._loop, rules.user_agent)
        self._credentials: dict[Path | None, SharedCredentials] = {}
        self.streams = SharedStreams(self._loop, rules, make_client, chance)

    def credentials(self, kubeconfig: Path | None) -> SharedCredentials:
        """Return those of a kubeconfig, or else of the pod that this is. Agents with the same share them."""
        found = self._credentials.get(kubeconfig)
        if found is None:
            read = (
                InClusterCredentials() if kubeconfig is None else KubeconfigCredentials(kubeconfig)
            )
            found = self._credentials[kubeconfig] = self.shared(read)
        return found

    def shared(self, credentials: Credentials) -> SharedCredentials:
        """Return ``credentials``, read on the loop."""
        trouble_kept_for = self.streams.rules.shortest_probe
        return SharedCredentials(credentials, self._loop, trouble_kept_for)

    def sender(self, credentials: SharedCredentials) -> HttpSender:
        """Return what sends the calls of an agent. It is for all lives: it keeps the connections."""
        return HttpSender(credentials, self._clients)

    def close(self) -> None:
        """End all requests, connections and threads."""
        if self._loop.thread.is_running:
            with suppress(TimeoutError, CancelledError):
                self._loop.thread.run(self.streams.close()).result(CLOSES_WITHIN)
        self._loop.close(CLOSES_WITHIN)

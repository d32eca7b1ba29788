"""What the watches of one life have in common."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from urllib.parse import urlsplit

from kernel import Clock
from kube.credentials.access import Access
from kube.streams.connections import ConnectionPool
from kube.streams.memory import WatchMemory
from kube.streams.rules import WatchRules
from kube.streams.shared_credentials import SharedCredentials


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchContext:
    """Handed to every watch."""

    credentials: SharedCredentials
    pool: ConnectionPool
    pending_requests: asyncio.Semaphore
    """The places for requests that wait for their answer, of the whole process."""
    one_off_lists: asyncio.Semaphore
    """The places for lists beside watches."""
    memory: WatchMemory
    rules: WatchRules
    chance: random.Random
    clock: Clock

    def count_request(self, access: Access, code: str) -> None:
        """Count a request by its status code, or ``<error>``."""
        self.memory.requests[code, urlsplit(access.server).netloc, "GET"] += 1

"""What all watches of a keeper share."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from urllib.parse import urlsplit

from kernel import Clock
from kube.credentials.access import Access
from kube.shared_credentials import SharedCredentials
from kube.streams.connections import ConnectionPool
from kube.streams.memory import WatchMemory
from kube.streams.parsing import UnfinishedAnswers
from kube.streams.rules import WatchRules


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchContext:
    """Passed to every watch and to every list beside a watch."""

    credentials: SharedCredentials
    pool: ConnectionPool
    pending_requests: asyncio.Semaphore
    """Limits the requests that wait for their answer, of the whole process."""
    one_off_lists: asyncio.Semaphore
    """Limits the lists beside watches that run at the same time, of the whole process."""
    unfinished: UnfinishedAnswers
    """Limits what all watches of the process keep of lines and pages whose end has not come."""
    memory: WatchMemory
    rules: WatchRules
    chance: random.Random
    clock: Clock

    def count_request(self, access: Access, code: str) -> None:
        """Count a request by its status code, or by ``<error>`` when there was no answer."""
        self.memory.requests[code, urlsplit(access.server).netloc, "GET"] += 1

"""The addresses of hollow pods: which are free, and which one the next pod gets. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from runtimes.hollow.rules import PodNetwork

_WORTH_SEARCHING = 2**20
"""Numbers. Gaps in a longer range stay unused: only a record that is not ours has such."""


class AddressesExhaustedError(Exception):
    """Every address of a network belongs to a pod. The text is for people."""


class AddressPool:
    """Hands out the addresses of one network, and takes them back.

    The network's own address, the one after it (a node's bridge has that) and the broadcast address are
    left out. An address that came back is given again as late as possible: whoever still sends to it
    should not reach another pod.
    """

    def __init__(self, network: PodNetwork) -> None:
        self._network = network
        self._first = int(network.network_address) + 2
        is_v4 = network.version == 4
        self._last = int(network.broadcast_address) - (1 if is_v4 else 0)
        self._make: type[IPv4Address | IPv6Address] = IPv4Address if is_v4 else IPv6Address
        self._next = self._first
        self._returned: deque[int] = deque()

    @property
    def size(self) -> int:
        """How many addresses there are, in use or not."""
        return max(0, self._last - self._first + 1)

    def take(self) -> str:
        """Return an address that nobody has. Raises ``AddressesExhaustedError`` if there is none."""
        if self._next <= self._last:
            number, self._next = self._next, self._next + 1
        elif self._returned:
            number = self._returned.popleft()
        else:
            raise AddressesExhaustedError(
                f"no IP addresses available in range set: {self._range()}"
            )
        return str(self._make(number))

    def give_back(self, address: str) -> None:
        """Take back an address that ``take`` returned, once. One that is not of this network is ignored."""
        number = self._number(address)
        if number is not None:
            self._returned.append(number)

    def begin_with(self, taken: Iterable[str]) -> None:
        """Begin with these addresses in use; those of other networks are nobody's business here."""
        numbers = {int(ip_address(address)) for address in taken if self.has(address)}
        self._next = max(numbers, default=self._first - 1) + 1
        self._returned = (
            deque(n for n in range(self._first, self._next) if n not in numbers)
            if self._next - self._first <= _WORTH_SEARCHING
            else deque()
        )

    def has(self, address: str) -> bool:
        """Whether ``address`` is one that this pool hands out."""
        return self._number(address) is not None

    def _number(self, address: str) -> int | None:
        found = ip_address(address)
        if found.version != self._network.version or not self._first <= int(found) <= self._last:
            return None
        return int(found)

    def _range(self) -> str:
        if not self.size:
            return str(self._network)
        return f"{self._make(self._first)}-{self._make(self._last)}"


class PodAddresses:
    """The addresses of pods: one of each network for each pod."""

    def __init__(self, networks: Iterable[PodNetwork]) -> None:
        self._pools = tuple(map(AddressPool, networks))

    def take(self) -> tuple[str, ...]:
        """Return an address of each network. Raises ``AddressesExhaustedError`` and takes none then."""
        taken: list[str] = []
        try:
            for pool in self._pools:
                taken.append(pool.take())  # noqa: PERF401  # what was taken before an error is given back
        except AddressesExhaustedError:
            self.give_back(taken)
            raise
        return tuple(taken)

    def give_back(self, addresses: Iterable[str]) -> None:
        """Take back addresses that ``take`` returned, once. Others, of an earlier network, are ignored."""
        for address in addresses:
            for pool in self._pools:
                pool.give_back(address)

    def begin_with(self, taken: Iterable[str]) -> None:
        """Begin with these addresses in use."""
        addresses = tuple(taken)
        for pool in self._pools:
            pool.begin_with(addresses)

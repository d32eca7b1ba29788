"""The machine's addresses are known as they are, and are not looked up each time that somebody asks."""

from __future__ import annotations

from agent.node_view import LOOK_EVERY, CurrentAddresses


class Leases:
    """A machine whose address somebody else gives it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.addresses: tuple[str, ...] = ("192.0.2.7",)
        self.looks = 0

    def look(self) -> tuple[str, ...]:
        self.looks += 1
        return self.addresses


def test_an_address_that_changes_is_known_a_few_seconds_later_and_looked_up_once_meanwhile() -> (
    None
):
    leases = Leases()
    current = CurrentAddresses(leases.look, lambda: leases.now)
    assert {current() for _ in range(1000)} == {("192.0.2.7",)}
    assert leases.looks == 1

    leases.addresses = ("192.0.2.8", "2001:db8::8")
    leases.now += LOOK_EVERY
    assert {current() for _ in range(1000)} == {("192.0.2.8", "2001:db8::8")}
    assert leases.looks == 2


def test_while_there_is_none_the_last_one_counts() -> None:
    leases = Leases()
    current = CurrentAddresses(leases.look, lambda: leases.now)
    current()
    leases.addresses = ()
    leases.now += LOOK_EVERY
    assert current() == ("192.0.2.7",)
    leases.addresses = ("192.0.2.9",)
    leases.now += LOOK_EVERY
    assert current() == ("192.0.2.9",)


def test_a_machine_that_never_had_one_has_none() -> None:
    leases = Leases()
    leases.addresses = ()
    assert CurrentAddresses(leases.look, lambda: leases.now)() == ()

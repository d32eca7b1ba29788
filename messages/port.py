"""Ports, which messages are told to. They are here, and not in the kernel, because messages carry ports."""

from __future__ import annotations

from typing import Protocol, TypeVar

M_contra = TypeVar("M_contra", contravariant=True)


class Port(Protocol[M_contra]):
    """The address of somebody who takes messages of one type.

    ``tell`` never blocks and never raises: a message that cannot be delivered becomes a dead letter.
    Messages of one sender arrive in the order in which they were told.
    """

    def tell(self, message: M_contra, /) -> None:
        """Put ``message`` into the mailbox behind this port."""
        ...

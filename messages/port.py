"""Where messages go. Here and not in the kernel, since questions carry the port of their answer."""

from __future__ import annotations

from typing import Protocol, TypeVar

M_contra = TypeVar("M_contra", contravariant=True)


class Port(Protocol[M_contra]):
    """Somewhere to send messages of one vocabulary.

    ``tell`` never blocks and never raises: what can no longer be delivered is a dead letter.
    Messages of one sender arrive in the order in which they were told.
    """

    def tell(self, message: M_contra, /) -> None:
        """Put ``message`` into the mailbox behind this port."""
        ...

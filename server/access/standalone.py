"""Who may what without an API server: nobody can be asked, so the certificate decides. Pure."""

from __future__ import annotations

from typing import Final

from messages.access import Identity

MASTERS: Final = "system:masters"
"""The group of administrators."""


def is_allowed(identity: Identity, *, always_allow: bool) -> bool:
    """Return whether ``identity`` may do anything. With ``always_allow`` everybody may who is let in.

    There is no finer choice: who is no administrator may nothing.
    """
    return always_allow or MASTERS in identity.groups

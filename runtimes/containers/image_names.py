"""What people are told of the names of images. Pure."""

from __future__ import annotations

from typing import Final

_SHOWN: Final = 256
"""Characters of a name that cannot be read."""


def never_pulled(image: str, *, is_withheld: bool = False) -> str:
    """Return why an image that a pod cannot have is not pulled either; mostly in a kubelet's words."""
    if is_withheld:
        return (
            f'Container image "{image}" is present with pull policy of Never, '
            "but nothing shows that the pod may have it"
        )
    return f'Container image "{image}" is not present with pull policy of Never'


def unreadable(image: str) -> str:
    """Return what is wrong with a name that no registry could have, in a kubelet's words."""
    shown = "".join(each if each.isprintable() else "?" for each in image[:_SHOWN])
    return (
        f'Failed to apply default image tag "{shown}": couldn\'t parse image name "{shown}": '
        "invalid reference format"
    )

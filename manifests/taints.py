"""Which taints a Node can have. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from manifests.names import label_value, qualified_name

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_taints(taints: Sequence[Mapping[str, Any]]) -> None:
    """Raise ``ValueError``, with the end of a sentence, if a Node cannot have ``taints``."""
    seen: set[tuple[str, str]] = set()
    for taint in taints:
        key, value, effect = taint["key"], taint.get("value", ""), taint["effect"]
        wrong = qualified_name(key) or label_value(value)
        if wrong:
            raise ValueError(f"has the taint {key[:64]!r}, whose key or value {wrong}")
        if effect not in EFFECTS:
            raise ValueError(
                f"has the taint {key!r} with the effect {effect[:64]!r}, which should be "
                f"{', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}"
            )
        if (key, effect) in seen:
            raise ValueError(f"has the taint {key!r} twice with the effect {effect}")
        seen.add((key, effect))

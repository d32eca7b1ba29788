"""The hash by which a container is known to be of another specification. Pure.

Kubelets since 1.31 write the same one into the annotation ``io.kubernetes.container.hash``, so that a
container that a kubelet started stays as it is, and the other way round.
"""

from __future__ import annotations

import json
from functools import lru_cache

_OFFSET, _PRIME = 0x811C9DC5, 0x01000193
_ESCAPED = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


@lru_cache(maxsize=4096)
def container_hash(name: str, image: str) -> str:
    """Return the hash of what demands another container when it changes: its image.

    It is FNV-1a of 32 bits over a text in which the bytes of a JSON object stand in decimal.
    """
    document = json.dumps({"image": image, "name": name}, separators=(",", ":"), ensure_ascii=False)
    for character, escape in _ESCAPED.items():
        document = document.replace(character, escape)
    text = "([]uint8)[" + " ".join(map(str, document.encode(errors="replace"))) + "]"
    value = _OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return f"{value:x}"

"""Why a socket cannot be used, in words for those who configure it. Pure.

What gRPC says names itself, its addresses and its attempts in one long sentence.
"""

from __future__ import annotations

from pathlib import Path

NO_ANSWER = "it does not answer in time"
_CONNECTING = "failed to connect to all addresses"


def in_words(details: str, socket: Path, *, is_socket: bool) -> str:
    """Return what ``details`` of gRPC mean for who reaches a runtime at ``socket``.

    ``is_socket`` says what is at its path, if anything is. Words of the runtime itself stay as they are.
    """
    if details == "Deadline Exceeded":
        return NO_ANSWER
    if not details.startswith(_CONNECTING):
        return details
    if "No such file or directory" in details:
        return f"there is no socket at {socket}"
    if "Permission denied" in details:
        return f"permission denied at the socket {socket}"
    if "Failed parsing HTTP/2" in details or "http1.x server" in details:
        return f"what listens at {socket} speaks no gRPC, so it is no container runtime"
    if "Connection refused" in details:
        return f"nobody listens at {socket}" if is_socket else f"{socket} is no socket"
    return details

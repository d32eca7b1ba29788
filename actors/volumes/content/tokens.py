"""Which tokens of its service account a volume shows. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from actors.volumes.content.errors import VolumeRefusedError
from actors.volumes.content.paths import cleaned
from manifests.defaults.volumes import TOKEN_SECONDS
from messages.pods import JsonObject
from messages.tokens import TokenNeeded


def token_of(source: JsonObject) -> TokenNeeded:
    """Return what a ``serviceAccountToken`` asks for. Raises VolumeRefusedError."""
    seconds = source.get("expirationSeconds")
    if seconds is None:
        seconds = TOKEN_SECONDS
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds <= 0:
        raise VolumeRefusedError("serviceAccountToken: expirationSeconds must be a number above 0")
    return TokenNeeded(
        audience=str(source.get("audience") or ""),
        expiration_seconds=seconds,
        path=cleaned(str(source.get("path") or "")),
    )


def tokens_of(volume: JsonObject) -> tuple[TokenNeeded, ...]:
    """Return the tokens that ``volume`` shows: none for one that is refused."""
    try:
        return tuple(_tokens(volume))
    except VolumeRefusedError:
        return ()


def _tokens(volume: JsonObject) -> Iterator[TokenNeeded]:
    for source in (volume.get("projected") or {}).get("sources") or ():
        if source.get("serviceAccountToken") is not None:
            yield token_of(source["serviceAccountToken"])

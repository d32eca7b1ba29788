"""Which part of a volume a container mounts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from manifests.names import no_backsteps
from messages.pods import JsonObject
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.environment.errors import UnusableEnvironmentError
from runtimes.environment.expansion import expanded, without_value

_LONGEST_SHOWN: Final = 256
"""Characters of a path that people are shown."""


def sub_path_of(wanted: JsonObject, variables: Mapping[str, str]) -> str:
    """Return the part that a mount wants, expanded; empty for the whole volume.

    Raises ``ConfigRefusedError``. The result may show values of Secrets: no message may repeat it.
    """
    path = _expanded(wanted, variables) if wanted.get("subPathExpr") else wanted.get("subPath")
    if not path:
        return ""
    if path.startswith("/"):
        raise _refused(
            wanted, f"error SubPath `{shown_sub_path(wanted)}` must not be an absolute path"
        )
    if trouble := no_backsteps(path) or ("\0" in path and "no path has this character"):
        raise _refused(wanted, f"unable to provision SubPath `{shown_sub_path(wanted)}`: {trouble}")
    return str(path)


def shown_sub_path(wanted: JsonObject) -> str:
    """Return the part as the specification has it, for people."""
    return str(wanted.get("subPathExpr") or wanted.get("subPath") or "")[:_LONGEST_SHOWN]


def _expanded(wanted: JsonObject, variables: Mapping[str, str]) -> str:
    text = str(wanted["subPathExpr"])
    if missing := without_value(text, variables):
        names = ", ".join(missing)
        raise _refused(
            wanted, f"missing value for {names} in subPathExpr `{shown_sub_path(wanted)}`"
        )
    try:
        return expanded(text, variables)
    except UnusableEnvironmentError as error:
        raise _refused(wanted, f"subPathExpr `{shown_sub_path(wanted)}` {error}") from None


def _refused(wanted: JsonObject, why: str) -> ConfigRefusedError:
    return ConfigRefusedError(f'volume "{wanted.get("name")}": {why}')

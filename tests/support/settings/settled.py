"""Settings of a file under flags, and the sentences that users read of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from settings.agent import Settings
from settings.command_line import parse
from settings.configuration_file import ConfigurationFile
from settings.errors import UsageError
from settings.load import settings_of
from settings.schema import KubeletConfiguration

NO_SOURCE = (
    "No source of pods is configured: set staticPodPath or --pod-manifest-path, staticPodURL "
    "or --manifest-url, or join a cluster with --kubeconfig"
)


def settled(*arguments: str, **fields: Any) -> Settings:
    """Return the settings of a file with ``fields`` under the flags ``arguments``."""
    given = KubeletConfiguration.model_validate(fields).given()
    return settings_of(parse(arguments), [ConfigurationFile(given=given)], hostname="Node-1")


def at_path(name: str, value: Any) -> dict[str, Any]:
    """Return the fields of a file with ``value`` at the path ``name``; none for None."""
    first, _, below = name.partition(".")
    return {} if value is None else {first: at_path(below, value) if below else value}


def unserved(*names: str) -> str:
    """Return the warning of fields and flags that are not served."""
    return f"Not served yet, so without effect: {', '.join(names)}"


def idle(*names: str) -> str:
    """Return the warning of fields and flags that only a node of a cluster has a use for."""
    return f"Without effect on a standalone agent: {', '.join(names)}"


def refusal(settle: Callable[[], object]) -> str:
    """Return the sentence that ``settle`` is refused with."""
    with pytest.raises(UsageError) as caught:
        settle()
    return str(caught.value)

"""Settings of an agent that belongs to a cluster, by how it hears of changes of objects."""

from __future__ import annotations

from functools import cache

from settings.agent import Settings
from settings.cluster import ChangeDetection
from settings.command_line import parse
from settings.configuration_file import ConfigurationFile
from settings.load import settings_of


@cache
def cluster_settings(detection: ChangeDetection, *flags: str, node_name: str = "node1") -> Settings:
    """Return the settings of an agent with these flags beside those that join it."""
    given = {"configMapAndSecretChangeDetectionStrategy": detection.value}
    file = ConfigurationFile(given=given, warnings=())
    joined = parse(["--kubeconfig=none", "--runtime=hollow", *flags])
    return settings_of(joined, (file,), hostname=node_name)

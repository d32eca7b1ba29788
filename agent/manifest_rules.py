"""The rules by which manifests are decoded, in an agent and before there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from manifests.pod_manifest import GivesUids, ManifestRules
from messages.pods import SourceName
from settings.checks import checked_node_name

if TYPE_CHECKING:
    from settings.agent import Settings


def usual_rules(hostname: str, source: SourceName) -> ManifestRules:
    """Return the rules by which ``source`` decodes manifests in an agent without any flag.

    They are those of its settings. To load these takes 0.3 s, half of what somebody waits who only wants
    verdicts. Raises ``UsageError`` for a host name that a node cannot have.
    """
    return ManifestRules(
        node_name=checked_node_name(hostname), source=source, strict=False, allow_references=False
    )


def manifest_rules(
    settings: Settings, source: SourceName, uids: GivesUids | None = None
) -> ManifestRules:
    """Return the rules by which ``source`` decodes manifests in an agent with ``settings``.

    ``uids`` knows which pods keep a UID that is not their own.
    """
    return ManifestRules(
        node_name=settings.node_name,
        source=source,
        strict=settings.strict_manifests,
        allow_references=settings.local_objects_dir is not None,
        uids=uids,
    )

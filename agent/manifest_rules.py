"""The rules by which manifests are decoded, in an agent and before there is one."""

from __future__ import annotations

from manifests.pod_manifest import GivesUids, ManifestRules
from messages.pods import SourceName
from settings.agent import Settings


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

"""PodManager, and the sources of static pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.events.feed_parts import EVENT_FEED
from actors.objects.local_files import LOCAL_OBJECTS
from actors.pod_manager import POD_MANAGER, PodManager, PodMemory
from agent.composition import RUNTIME, Composition
from agent.edges import UrlEdges
from agent.validation import manifest_rules
from files.kept_contents import KeptContents
from kernel import Key, Port
from messages.pods import API, FILE, HTTP, LOCAL_FILES, SourceName
from messages.sources import DescribeSource, Rescan, SourceMessage
from sources.apiserver import API_SOURCE
from sources.file import FILE_SOURCE, FileMemory, FileSource, FileSourceRules
from sources.http.asking import one_thread
from sources.http.source import HTTP_SOURCE, HttpMemory, HttpSource, HttpSourceRules
from sources.kept_uids import StaticUids

LAST_GOOD_MANIFESTS: Final = "last-good-manifests"
"""The directory below ``--root-dir`` with the last good content of each manifest."""


_KEYS: Final[Mapping[SourceName, Key[SourceMessage]]] = {
    FILE: FILE_SOURCE,
    HTTP: HTTP_SOURCE,
    API: API_SOURCE,
}


def source_names(agent: Composition) -> tuple[SourceName, ...]:
    """Return the sources of pods that the agent has."""
    return tuple(name for name, key in _KEYS.items() if agent.has(key))


def static_sources(agent: Composition) -> dict[SourceName, Port[SourceMessage]]:
    """Return the addresses of the sources of static pods."""
    return {name: port for name, port in pod_sources(agent).items() if name != API}


def pod_sources(agent: Composition) -> dict[SourceName, Port[SourceMessage]]:
    """Return the addresses of all sources of pods."""
    return {name: agent.port(_KEYS[name]) for name in source_names(agent)}


def shown_sources(agent: Composition) -> dict[SourceName, Port[Rescan | DescribeSource]]:
    """Return everything that lists: the sources of pods, and the source of local objects."""
    local = agent.port_if_any(LOCAL_OBJECTS)
    return {**pod_sources(agent), **({LOCAL_FILES: local} if local is not None else {})}


def pod_manager(agent: Composition, memory: PodMemory) -> PodManager:
    """Return the owner of what pods this node should have."""
    return PodManager(pod_sources(agent), memory)


def file_memory(agent: Composition) -> FileMemory:
    """Return the memory of the source of manifests in files."""
    path, root = agent.settings.static_pod_path, agent.settings.root_dir
    return FileMemory(kept=KeptContents(root / LAST_GOOD_MANIFESTS, path) if path else None)


def file_source(agent: Composition, memory: FileMemory) -> FileSource:
    """Return the source of manifests in files."""
    settings = agent.settings
    assert settings.static_pod_path is not None  # noqa: S101  # else there is no such actor
    uids = agent.shared(_static_uids).get(FILE)
    rules = FileSourceRules(
        path=settings.static_pod_path,
        check_frequency=settings.file_check_frequency,
        clear_on_missing=settings.clear_on_missing_path,
        manifests=manifest_rules(settings, FILE, uids),
        uids=uids,
    )
    memory.report.people = agent.port(EVENT_FEED)
    return FileSource(
        rules,
        agent.port(POD_MANAGER),
        memory,
        agent.edges.keep_watch,
        agent.port(RUNTIME),
    )


def http_source(agent: Composition, memory: HttpMemory) -> HttpSource:
    """Return the source of manifests at a URL."""
    settings = agent.settings
    uids = agent.shared(_static_uids).get(HTTP)
    rules = HttpSourceRules(
        url=settings.static_pod_url,
        headers=settings.static_pod_url_header,
        check_frequency=settings.http_check_frequency,
        ca_file=settings.static_pod_url_ca_file,
        manifests=manifest_rules(settings, HTTP, uids),
        uids=uids,
    )
    memory.report.people = agent.port(EVENT_FEED)
    url = agent.edges.url or _real_url()
    return HttpSource(
        rules,
        agent.port(POD_MANAGER),
        memory,
        url.fetcher,
        url.executor,
        agent.port(RUNTIME),
    )


def _real_url() -> UrlEdges:
    from sources.http.fetch import HttpFetcher  # noqa: PLC0415  # 8 MB that few agents need

    return UrlEdges(fetcher=HttpFetcher, executor=one_thread)


def _static_uids(agent: Composition) -> dict[SourceName, StaticUids]:
    """Return what static pods keep of a kubelet, where pods run that a kubelet may have started."""
    told, root = agent.runtime.containers, agent.settings.root_dir
    if told is None:
        return {}
    adopts = told.adopts_static_pods
    return {each: StaticUids(root, each, adopts=adopts) for each in (FILE, HTTP)}

"""The page of metrics, from the families that the server makes of a node on which nothing has happened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import Metric

from server.metrics import families
from server.probe_pages import probe_families
from tools.reference.markdown import code, codes, page, section, table
from tools.reference.sample_state import MEASURED, PROBES

INTRODUCTION: Final = """\
Metrics are made of the state at the moment of the request, in Prometheus' text format. They have a kubelet's
names where it has the same, and begin with `actorlet_` otherwise. A histogram has `_bucket`, `_sum` and
`_count`. Those of what a node does not have, such as a cluster or a container runtime, are missing there, and
so are those of an actor that does not answer."""


def metrics_page() -> str:
    """Return the page."""
    found = sorted(families(MEASURED), key=lambda each: each.name)
    own = [each for each in found if each.name.startswith("actorlet_")]
    return page(
        "Metrics",
        INTRODUCTION,
        _section("By the names of a kubelet", (each for each in found if each not in own)),
        _section("Of the agent alone", own),
        _section("Of probes, at `/metrics/probes`", probe_families(PROBES)),
        _section("Of the process and of Python", _of_the_process()),
    )


def _of_the_process() -> list[Metric]:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return list(registry.collect())


def _section(title: str, found: Iterable[Metric]) -> str:
    columns = ("metric", "type", "labels", "what it says")
    return section(title, table(columns, map(_row, sorted(found, key=lambda each: each.name))))


def _row(family: Metric) -> tuple[str, ...]:
    ending = "_total" if family.type == "counter" else ""
    return (
        code(f"{family.name}{ending}"),
        "untyped" if family.type == "unknown" else family.type,
        codes(labels_of(family)),
        family.documentation.removesuffix("."),
    )


def labels_of(family: Metric) -> tuple[str, ...]:
    """Return the names of the labels that each sample of a family has."""
    told = vars(family).get("_labelnames", ())
    return tuple(told)

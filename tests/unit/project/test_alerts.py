"""The alerts for Prometheus ask for metrics, labels and values that the agent has; the page has each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import promql_parser
import pytest
import yaml

from actors.volumes.token_records import TokenState
from kernel.children import ChildState
from messages.change_hooks import HookResult
from messages.pods import PodPhase
from messages.sources import Verdict
from messages.volumes import VolumeState
from server.pod_metrics import CRASH_LOOP
from tests.support.project.checkout import ROOT

GROUPS: Final = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text())["groups"]
ALERTS: Final = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
OF_PROMETHEUS: Final = {"job", "instance"}
VALUES: Final[Mapping[tuple[str, str], Iterable[str]]] = {
    ("actorlet_actors", "state"): ChildState,
    ("actorlet_change_hooks_total", "result"): HookResult,
    ("actorlet_manifest_verdicts", "verdict"): Verdict,
    ("actorlet_mirrors", "state"): ("wanted", "present"),
    ("actorlet_containers_waiting", "reason"): (CRASH_LOOP,),
    ("actorlet_pods", "phase"): PodPhase,
    ("actorlet_runtime_usable", "runtime"): ("hollow",),
    ("actorlet_service_account_tokens", "state"): TokenState,
    ("actorlet_volumes", "state"): VolumeState,
    ("kubelet_started_containers_total", "container_type"): ("container", "init_container"),
}
"""What the agent says in a label, for the labels whose values alerts name."""

each_alert = pytest.mark.parametrize("name", ALERTS)


def metrics() -> dict[str, set[str]]:
    """Return the labels of each metric of the agent, by the page that is made from the code."""
    page = (ROOT / "docs/reference/metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| \w+ \| ([^|]*) \|", page, flags=re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def nodes(expression: str) -> list[Any]:
    """Return all parts of an expression. Raises ``ValueError`` if Prometheus could not read it."""
    found: list[Any] = []
    promql_parser.walk(promql_parser.parse(expression), found.append)
    return found


def selectors(expression: str) -> list[tuple[str, dict[str, str]]]:
    """Return the metrics that an expression asks for, each with the labels and values that it names."""
    return [
        (each.name or "", {matcher.name: matcher.value for matcher in each.matchers.matchers})
        for each in nodes(expression)
        if isinstance(each, promql_parser.VectorSelector)
    ]


def labels_kept(expression: str) -> set[str] | None:
    """Return the labels that the outermost ``sum by`` or ``max by`` leaves; None if there is none."""
    for each in nodes(expression):
        if isinstance(each, promql_parser.AggregateExpr):
            assert each.modifier is not None
            return set(each.modifier.labels)
    return None


def test_the_selectors_of_an_expression_are_found_in_sums_ranges_and_operations() -> None:
    expression = 'sum by (a) (increase(x_total{b="c"}[5m])) - ignoring (d) y{d=~"e|f"} > 0'
    assert sorted(selectors(expression)) == [("x_total", {"b": "c"}), ("y", {"d": "e|f"})]
    assert labels_kept(expression) == {"a"}
    with pytest.raises(ValueError, match="parenthesis"):
        nodes("sum by (")


@each_alert
def test_an_alert_asks_for_metrics_and_labels_that_the_agent_has(name: str) -> None:
    known = metrics()
    asked = selectors(ALERTS[name]["expr"])
    assert asked != []
    for metric, labels in asked:
        assert metric == "up" or metric in known
        assert labels.keys() - OF_PROMETHEUS <= known.get(metric, set())


@each_alert
def test_a_value_of_a_label_that_an_alert_names_is_one_that_the_agent_gives(name: str) -> None:
    for metric, labels in selectors(ALERTS[name]["expr"]):
        for label, value in labels.items():
            if label not in OF_PROMETHEUS:
                assert set(value.split("|")) <= {str(each) for each in VALUES[metric, label]}


@each_alert
def test_a_summary_names_labels_that_the_expression_leaves(name: str) -> None:
    rule = ALERTS[name]
    named = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
    kept = labels_kept(rule["expr"])
    for metric, _ in selectors(rule["expr"]):
        assert named <= (kept if kept is not None else OF_PROMETHEUS | metrics().get(metric, set()))


@each_alert
def test_an_alert_has_what_prometheus_and_people_need(name: str) -> None:
    rule = ALERTS[name]
    assert rule.keys() - {"for"} == {"alert", "expr", "labels", "annotations"}
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert re.fullmatch(r"\d+m", rule.get("for", "1m"))


def test_the_page_on_alerts_has_a_row_for_each() -> None:
    page = (ROOT / "docs/alerts.md").read_text()
    rows = re.findall(r"^\| `(Actorlet\w+)` \|", page, flags=re.MULTILINE)
    assert rows == list(ALERTS)

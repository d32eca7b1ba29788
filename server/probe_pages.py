"""``/probez`` and ``/metrics/probes``: the probes of pods, and what they answered. Pure.

Both are made in pieces or apart from the other metrics, since there may be thousands of probes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from typing_extensions import override

from manifests.times import rfc3339
from messages.pods import Pod, PodUid
from messages.probing import (
    AnswersCounted,
    AnswersDescribed,
    AttemptsBegun,
    CommandsWaiting,
    ProbeAnswer,
    ProbedPod,
    ProbeKey,
    ProbesDescribed,
    ProbeStage,
)
from messages.statuses import PodStatus

PIECE: Final = 100
"""Pods of one piece: a few milliseconds."""
_READY: Final = "Ready"


class ProbeState(NamedTuple):
    """What is known of all probes. Each part is None if its actor did not answer."""

    probes: ProbesDescribed | None = None
    answers: AnswersDescribed | None = None
    statuses: Mapping[PodUid, PodStatus] | None = None


def probez(state: ProbeState) -> Iterator[str]:
    """Yield the JSON document in pieces."""
    pods = sorted(state.probes.pods if state.probes else (), key=_place)
    yield '{"pods": ['
    for start in range(0, len(pods), PIECE):
        rows = [_row(each, state) for each in pods[start : start + PIECE]]
        yield (", " if start else "") + json.dumps(rows)[1:-1]
    commands = state.answers.commands if state.answers else None
    begun = state.answers.begun if state.answers else None
    rest = {"commands": _commands(commands), "attempts": _attempts(begun)}
    yield "], " + json.dumps(rest)[1:]


def probe_exposition(state: ProbeState) -> bytes:
    """Return the metrics of probes in Prometheus' text format, by a kubelet's names."""
    registry = CollectorRegistry()
    registry.register(_Given(tuple(probe_families(state))))
    return generate_latest(registry)


class _Given(Collector):
    def __init__(self, families: tuple[Metric, ...]) -> None:
        self._families = families

    @override
    def collect(self) -> Iterable[Metric]:
        return self._families


def _place(pod: ProbedPod) -> tuple[str, str, str]:
    return pod.pod.namespace, pod.pod.name, pod.pod.uid


def _row(probed: ProbedPod, state: ProbeState) -> Mapping[str, Any]:
    pod = probed.pod
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        **_readiness(pod, state.statuses),
        "probes": [_probe(each, state.answers) for each in probed.probes],
    }


def _readiness(pod: Pod, statuses: Mapping[PodUid, PodStatus] | None) -> Mapping[str, Any]:
    """Return whether the pod is ready, and why not, as its condition says."""
    status = (statuses or {}).get(pod.uid)
    found = [each for each in (status.conditions if status else ()) if each.type == _READY]
    if not found:
        return {"ready": None, "reason": "", "message": ""}
    ready = found[0]
    return {"ready": ready.status == "True", "reason": ready.reason, "message": ready.message}


def _probe(stage: ProbeStage, answers: AnswersDescribed | None) -> Mapping[str, Any]:
    counted = answers.answers.get(stage.key) if answers else None
    answer = counted.answer if counted is not None else None
    is_current = answer is not None and answer.container_id == stage.container_id
    return {
        "container": stage.key.container,
        "probe": stage.key.kind.value,
        "containerID": stage.container_id,
        "result": stage.result.value if stage.result else None,
        "waitsFor": stage.waits_for,
        "inARow": answer.in_a_row if answer and is_current else 0,
        "lastAnswer": _answer(answer) if answer else None,
        "successes": answer.successes if answer else 0,
        "failures": answer.failures if answer else 0,
        "unknowns": answer.unknowns if answer else 0,
    }


def _answer(answer: ProbeAnswer) -> Mapping[str, Any]:
    return {
        "result": answer.last.result.value,
        "text": answer.last.text,
        "at": rfc3339(answer.at),
        "tookSeconds": round(answer.took, 6),
        "containerID": answer.container_id,
    }


def _commands(commands: CommandsWaiting | None) -> Mapping[str, Any] | None:
    if commands is None:
        return None
    return {
        "running": commands.running,
        "waiting": commands.waiting,
        "longestWaitSeconds": round(commands.longest, 3),
        "ended": commands.ended,
    }


def _attempts(begun: AttemptsBegun | None) -> Mapping[str, Any] | None:
    if begun is None:
        return None
    return {
        "begun": begun.begun,
        "late": begun.late,
        "lateSeconds": round(begun.seconds, 3),
        "longestLateSeconds": round(begun.longest, 3),
        "skipped": begun.skipped,
        "stalls": begun.stalls,
        "commandsToldAgain": begun.told_again,
        "unawaitedAnswers": begun.late_notes,
    }


# Metrics.


def probe_families(state: ProbeState) -> Iterator[Metric]:
    """Yield the metrics of probes; none as long as none are known."""
    if state.probes is None or state.answers is None:
        return
    total = CounterMetricFamily(
        "prober_probe",
        "Answers of probes.",
        labels=("probe_type", "result", "container", "pod", "namespace", "pod_uid"),
    )
    durations = HistogramMetricFamily(
        "prober_probe_duration_seconds",
        "How long answers of probes took.",
        labels=("probe_type", "container", "pod", "namespace"),
    )
    for probed in sorted(state.probes.pods, key=_place):
        for stage in probed.probes:
            counted = state.answers.answers.get(stage.key)
            if counted is not None:
                _count(total, probed.pod, stage.key, counted)
                _time(durations, probed.pod, stage.key, counted, state.answers.bounds)
    yield total
    yield durations
    if state.answers.begun is not None:
        yield from _punctuality(state.answers.begun)
    if state.answers.commands is not None:
        yield from _of_commands(state.answers.commands)


def _punctuality(begun: AttemptsBegun) -> Iterator[Metric]:
    for name, text, value in (
        ("attempts", "Attempts of probes that began.", begun.begun),
        ("attempts_late", "Attempts that began more than 0.1 s after they were due.", begun.late),
        ("lateness_seconds", "How late attempts began, all together.", begun.seconds),
        ("attempts_skipped", "Attempts left out: the one before had not ended.", begun.skipped),
        ("stalls", "Times that no probe could be carried out for a while.", begun.stalls),
        ("commands_told_again", "Commands nobody had answered for for long.", begun.told_again),
        ("unawaited_answers", "Answers of commands nobody waited for.", begun.late_notes),
    ):
        yield CounterMetricFamily(f"actorlet_probe_{name}", text, value=value)
    yield GaugeMetricFamily(
        "actorlet_probe_longest_lateness_seconds", "The latest attempt so far.", value=begun.longest
    )


def _of_commands(commands: CommandsWaiting) -> Iterator[Metric]:
    found = GaugeMetricFamily(
        "actorlet_probe_commands", "Commands of exec probes at present.", labels=("state",)
    )
    found.add_metric(("running",), commands.running)
    found.add_metric(("waiting",), commands.waiting)
    yield found
    yield GaugeMetricFamily(
        "actorlet_probe_command_longest_wait_seconds",
        "How long a command has waited for its turn at the most, within a minute.",
        value=commands.longest,
    )


def _count(family: CounterMetricFamily, pod: Pod, key: ProbeKey, counted: AnswersCounted) -> None:
    answer = counted.answer
    numbers = {
        "successful": answer.successes,
        "failed": answer.failures,
        "unknown": answer.unknowns,
    }
    for result, number in numbers.items():
        if number:
            kind = key.kind.value.capitalize()
            labels = (kind, result, key.container, pod.name, pod.namespace, pod.uid)
            family.add_metric(labels, number)


def _time(
    family: HistogramMetricFamily,
    pod: Pod,
    key: ProbeKey,
    counted: AnswersCounted,
    bounds: tuple[float, ...],
) -> None:
    names = [*(f"{bound:g}" for bound in bounds), "+Inf"]
    buckets = list(zip(names, map(float, accumulate(counted.buckets)), strict=True))
    labels = (key.kind.value.capitalize(), key.container, pod.name, pod.namespace)
    family.add_metric(labels, buckets, sum_value=counted.seconds)

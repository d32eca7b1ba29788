"""What the probes of a hollow container answer, by its annotations and the probe itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import pytest
import yaml

from actors.probes.specs import probe_of
from actors.probes.watching import OnlyProbes, ProbeIs, ProbeTarget, RestProbe, RunProbe
from messages.container_runtime import CallRuntime, RunSandbox, StartContainer, StopSandbox
from messages.probing import ProbeKey, ProbeKind, ProbeResult
from messages.units import Instant, Seconds, Timestamp
from runtimes.hollow.behaviours import PREFIX
from runtimes.hollow.core import HollowCore
from runtimes.hollow.rules import HollowRules
from tests.support.kernel.probe import Probe
from tests.support.project.examples import EXAMPLES
from tests.support.runtimes.hollow_stage import creation, hollow_pod

SUCCESS, FAILURE = ProbeResult.SUCCESS, ProbeResult.FAILURE
LIVENESS, READINESS, STARTUP = ProbeKind.LIVENESS, ProbeKind.READINESS, ProbeKind.STARTUP
PAGE = {"httpGet": {"port": 80}}


class Probed:
    """A hollow container that started at second 0, and a probe of it."""

    def __init__(self, kind: ProbeKind, probe: Mapping[str, Any] = PAGE, /, **said: str) -> None:
        self.core = HollowCore(HollowRules())
        self.told: Probe[ProbeIs] = Probe()
        pod = hollow_pod(spec={"containers": [{"name": "main"}]}, **said)
        self.sandbox = self._call(RunSandbox(pod=pod, attempt=0))
        created = self._call(creation(pod, self.sandbox))
        self.container = self._call(StartContainer(id=created.id))
        spec = probe_of({"name": "main", kind.field_name: {"periodSeconds": 1, **probe}}, kind)
        assert spec is not None
        self.key = ProbeKey(pod.uid, "main", kind)
        self.wish = RunProbe(
            key=self.key,
            spec=spec,
            target=ProbeTarget(self.container.id, "10.244.0.2", Timestamp(0.0)),
            reply_to=self.told,
        )
        self.core.take_probe(self.wish, self._at(0.0))

    def until(self, second: float) -> list[tuple[float, ProbeResult, str]]:
        """Let time pass. Return when what counted since the last call, and what people were told."""
        found: list[tuple[float, ProbeResult, str]] = []
        while (due := self.core.next_due) is not None and due <= second:
            self.core.go_on(self._at(due), 64)
            found += [
                (due, each.told.result, each.told.remark.outcome.text)
                for each in self.core.probes_told()
                if each.told.remark is not None
            ]
        return found

    def counts(self, second: float) -> tuple[int, int, int]:
        """Return how many successes, failures and unknown answers there were by then."""
        counted = self.core.answers(self._at(second)).get(self.key)
        if counted is None:
            return 0, 0, 0
        answer = counted.answer
        return answer.successes, answer.failures, answer.unknowns

    def tell(self, message: Any, second: float) -> None:
        """Tell the runtime something about probes."""
        self.core.take_probe(message, self._at(second))

    def end_sandbox(self, second: float) -> None:
        """Have everything end."""
        self._call(StopSandbox(id=self.sandbox.id), second)

    def _call(self, request: Any, second: float = 0.0) -> Any:
        call = CallRuntime(request=request, reply_to=Probe(), ref=1)
        (answer,) = self.core.take(call, self._at(second))
        return answer.outcome

    @staticmethod
    def _at(second: float) -> Instant:
        return Instant(Seconds(second), Timestamp(second))


def test_a_probe_passes_at_once_and_then_costs_nothing() -> None:
    probed = Probed(READINESS)
    assert probed.until(0.0) == [(0.0, SUCCESS, "")]
    assert probed.core.next_due is None
    assert probed.counts(100.0) == (101, 0, 0)


@pytest.mark.parametrize(
    ("kind", "said", "expected"),
    [
        (STARTUP, {"started_after": "1500ms"}, [(0.0, "not started yet"), (2.0, "")]),
        (READINESS, {"ready_after": "2500ms"}, [(0.0, "not ready yet"), (3.0, "")]),
        (READINESS, {"started_after": "3s"}, [(0.0, "")]),
        (
            READINESS,
            {"unready_after": "10s"},
            [(0.0, ""), (10.0, "not ready any more"), (12.0, "not ready any more")],
        ),
        (
            READINESS,
            {"unready_after": "25s", "unready_for": "15s"},
            [
                *((0.0, ""), (25.0, "not ready any more"), (27.0, "not ready any more")),
                *((40.0, ""),),
            ],
        ),
        (
            LIVENESS,
            {"hangs_after": "10s"},
            [(10.0, "no answer within 1 s, it hangs"), (12.0, "no answer within 1 s, it hangs")],
        ),
    ],
)
def test_annotations_say_when_probes_fail(
    kind: ProbeKind, said: dict[str, str], expected: list[tuple[float, str]]
) -> None:
    told = Probed(kind, **said).until(60.0)
    assert [(at, text.removeprefix("hollow: ")) for at, _, text in told] == expected


@pytest.mark.parametrize(
    ("ready", "unready", "expected"),
    [
        ("8s", "8s", [0.0, 8.0, 10.0, 16.0, 24.0, 26.0, 32.0, 40.0, 42.0, 48.0]),
        ("500ms", "10s", [0.0, 1.0, 3.0, 21.0, 22.0, 24.0, 42.0, 43.0, 45.0]),
        ("8s", "0s", [0.0]),
        ("0s", "0s", [0.0]),
        ("0s", "5s", [0.0]),
    ],
)
def test_readiness_comes_and_goes_by_turns_for_as_long_as_the_container_runs(
    ready: str, unready: str, expected: list[float]
) -> None:
    probed = Probed(READINESS, unready_after=ready, unready_for=unready)
    assert [at for at, *_ in probed.until(48.0)] == expected
    successes, failures, _ = probed.counts(48.0)
    assert successes + failures == 49


def said_by_example(name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the container of ``examples/manifests``, and what its pod's annotations say."""
    pod = yaml.safe_load((EXAMPLES / "manifests" / f"{name}.yaml").read_text())
    annotations = pod["metadata"]["annotations"]
    (container,) = pod["spec"]["containers"]
    names = {key.removeprefix(PREFIX).replace("-", "_"): key for key in annotations}
    return container, {name: annotations[key] for name, key in names.items()}


def test_the_example_that_comes_and_goes_is_ready_and_not_ready_by_turns() -> None:
    container, said = said_by_example("comes-and-goes")
    results = [
        told for _, told, _ in Probed(READINESS, container["readinessProbe"], **said).until(48.0)
    ]
    assert [told for told, _ in groupby(results)] == 3 * [SUCCESS, FAILURE] + [SUCCESS]


def test_the_example_that_gets_stuck_is_not_alive_ten_seconds_after_its_start() -> None:
    container, said = said_by_example("gets-stuck")
    probed = Probed(LIVENESS, container["livenessProbe"], **said)
    assert probed.until(60.0)[-1][:2] == (11.0, FAILURE)


def test_a_container_that_is_not_alive_is_asked_no_more() -> None:
    probed = Probed(LIVENESS, hangs_after="10s")
    assert probed.until(60.0)[-1][:2] == (12.0, FAILURE)
    assert probed.counts(60.0) == (10, 3, 0)


def test_answers_in_between_are_counted_when_somebody_asks() -> None:
    probed = Probed(READINESS, ready_after="100s")
    probed.until(50.0)
    assert probed.core.next_due == 100.0
    assert probed.counts(50.5) == (0, 51, 0)
    probed.until(100.0)
    assert probed.counts(100.0) == (1, 100, 0)
    assert probed.counts(110.0) == (11, 100, 0)


@pytest.mark.parametrize(
    ("command", "said", "text"),
    [
        (["true"], {}, ""),
        (["sh", "-c", "exit 3"], {}, "the command exited with code 3"),
        (["whatever"], {"exec_exit_code": "9"}, "the command exited with code 9"),
        (["sleep", "5"], {}, "the command did not end within 1 s"),
        (["sleep", "infinity"], {}, "the command did not end within 1 s"),
    ],
)
def test_a_plain_command_ends_as_it_would(
    command: list[str], said: dict[str, str], text: str
) -> None:
    probed = Probed(READINESS, {"exec": {"command": command}}, **said)
    assert probed.until(0.0)[0][2] == text


def test_a_probe_that_cannot_be_carried_out_says_why_and_changes_nothing() -> None:
    probed = Probed(READINESS, {"tcpSocket": {"port": "nobody"}})
    told = probed.until(5.0)
    assert told == [(0.0, FAILURE, "the container has no port 'nobody'")]
    assert probed.counts(5.0) == (0, 0, 6)


def test_nothing_is_answered_before_the_initial_delay_is_over() -> None:
    probed = Probed(READINESS, {**PAGE, "initialDelaySeconds": 7})
    assert probed.counts(6.0) == (0, 0, 0)
    assert [at for at, _, _ in probed.until(60.0)] == [7.0]


def test_a_container_that_has_ended_answers_no_more() -> None:
    probed = Probed(READINESS, ready_after="100s")
    probed.until(50.0)
    probed.end_sandbox(50.5)
    assert probed.until(200.0) == []
    assert probed.counts(200.0)[0] == 0


def test_a_probe_that_rests_keeps_what_was_counted_and_one_that_is_gone_does_not() -> None:
    probed = Probed(READINESS)
    probed.until(0.0)
    probed.tell(RestProbe(key=probed.key), 9.5)
    probed.tell(RestProbe(key=probed.key), 20.0)
    assert probed.counts(50.0) == (10, 0, 0)
    probed.tell(probed.wish, 50.0)
    probed.until(50.0)
    assert probed.counts(52.5) == (13, 0, 0)
    probed.tell(OnlyProbes(keys=frozenset()), 60.0)
    assert probed.counts(60.0) == (0, 0, 0)

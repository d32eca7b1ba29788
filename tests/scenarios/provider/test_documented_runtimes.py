"""What ``docs/writing-a-runtime.md`` shows is run, as it stands there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actorlet import PodReport
from kernel import Key
from messages.pod_runtime import (
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    Mark,
    PodObserved,
    PodsObserved,
    RunPod,
    RuntimeDescribed,
    RuntimeNode,
    StopPod,
)
from messages.pods import PodPhase, PodUid
from messages.units import Seconds
from runtimes.provider.loading import load_provider
from runtimes.provider.reports import sound_node, sound_reports
from tests.support.builders import make_pod
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import stage_of
from tests.support.project.checkout import ROOT
from tests.support.provider.live_runtime import live_runtime

PAGE = (ROOT / "docs" / "writing-a-runtime.md").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
WEB = make_pod("web")


def snippet(name: str) -> str:
    """Return the snippet that defines ``name``."""
    (found,) = [each for each in SNIPPETS if re.search(rf"^(class )?{name}\b", each, re.MULTILINE)]
    return str(found)


def defined(name: str) -> Any:
    """Return what a snippet defines."""
    names: dict[str, Any] = {"__name__": "documented"}
    exec(compile(snippet(name), f"<{name}>", "exec"), names)  # the page's own code
    return names[name]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the current directory. What was imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("my_node", None)


@pytest.mark.parametrize("name", ["TaskNode", "ListNode"])
def test_a_documented_class_runs_stops_and_forgets_a_pod(here: Path, name: str) -> None:
    (here / "my_node.py").write_text(snippet(name))
    with live_runtime(load_provider(f"my_node:{name}")) as runtime:
        runtime.runs(WEB)
        runtime.hears(lambda told: told.phase is PodPhase.RUNNING)
        mark = runtime.stops(WEB, grace=5.0)
        assert not runtime.hears(lambda told: told.mark == mark).is_running
        mark = runtime.forgets(WEB)
        runtime.hears(lambda told: told == PodObserved(uid=WEB.uid, mark=mark))


def test_a_documented_pod_ends_by_itself(here: Path) -> None:
    (here / "my_node.py").write_text(snippet("TaskNode"))
    short = make_pod("short", annotations={"example/seconds": "0.01"})
    with live_runtime(load_provider("my_node:TaskNode")) as runtime:
        runtime.runs(short)
        runtime.hears(lambda told: told.phase is PodPhase.SUCCEEDED)


def test_every_documented_report_is_sound() -> None:
    readings = sound_reports(defined("REPORTS"))
    assert isinstance(readings, dict)
    assert len(readings) == 5
    assert {type(each) for each in readings.values()} == {PodReport}


def test_the_documented_node_is_sound() -> None:
    node = sound_node(defined("NODE"))
    assert isinstance(node, RuntimeNode)
    assert node.capacity["pods"] == "5000"


def test_the_documented_actor_keeps_the_seam() -> None:
    commands: dict[PodUid, RunPod | StopPod] = {}
    worker: Probe[PodObserved] = Probe()
    lists: Probe[PodsObserved] = Probe()
    key = Key[Any]("runtime")
    make = defined("EverythingRuns")
    with stage_of((key, lambda _play: make(commands))) as play:
        play.tell(key, RunPod(pod=WEB, mark=Mark(1, 2), reply_to=worker))
        play.tell(key, RunPod(pod=WEB, mark=Mark(1, 1), reply_to=worker))
        running = PodObserved(uid=WEB.uid, mark=Mark(1, 2), phase=PodPhase.RUNNING)
        assert worker.drain() == [running]
        play.tell(key, ListRuntimePods(reply_to=lists))
        assert [pod.name for pod in lists.next().pods] == ["web"]

        def question(reply_to: Any) -> DescribeRuntime:
            return DescribeRuntime(reply_to=reply_to)

        described: RuntimeDescribed = play.ask(key, question)
        assert described.name == "everything-runs"
        stop = StopPod(uid=WEB.uid, mark=Mark(1, 3), reply_to=worker, grace=Seconds(1.0))
        play.tell(key, stop)
        play.tell(key, RunPod(pod=WEB, mark=Mark(1, 4), reply_to=worker))
        stopped = PodObserved(uid=WEB.uid, mark=Mark(1, 3), phase=PodPhase.SUCCEEDED)
        assert worker.drain() == [stopped]
        play.tell(key, ForgetPod(uid=WEB.uid, mark=Mark(1, 5), reply_to=worker))
        assert worker.drain() == [PodObserved(uid=WEB.uid, mark=Mark(1, 5))]
    with stage_of((key, lambda _play: make({WEB.uid: stop}))):
        assert worker.drain() == [stopped]

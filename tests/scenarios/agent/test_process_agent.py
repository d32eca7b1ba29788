"""The whole agent in single steps: who is there, in which order, and what survives a crash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.pod_manager import POD_MANAGER
from agent.app import Agent
from kernel import ActorSystem, Steps
from messages.units import Seconds
from server.actor import Listeners
from sources.file import FILE_SOURCE
from tests.support.agent.process import manifest
from tests.support.agent.served import settings_for
from tests.support.kernel.clock import EPOCH, ManualClock
from tests.support.kernel.probe import Probe
from tests.support.questions import describe_pods, describe_source


class Stepped:
    """An agent whose time stands still unless the test moves it."""

    def __init__(self, *flags: str) -> None:
        self.clock = ManualClock()
        self.runtime = Steps()
        nothing = Listeners()
        self.agent = Agent(settings_for(*flags), nothing, clock=self.clock, runtime=self.runtime)
        self.ended: list[str] = []
        self.system.observe_endings(lambda ended: self.ended.append(ended.name))
        self.system.start()
        self.runtime.work_off()

    @property
    def system(self) -> ActorSystem:
        """Its actors."""
        return self.agent.system

    def pods(self) -> dict[str, str]:
        """Return the images of all pods by their names."""

        described = self.system.ask(self.system.address(POD_MANAGER), describe_pods)
        return {pod.name: pod.document["spec"]["containers"][0]["image"] for pod in described.pods}

    def verdicts(self) -> list[str]:
        """Return the verdicts on all files, in order of name."""

        described = self.system.ask(self.system.address(FILE_SOURCE), describe_source)
        return [verdict.verdict.value for verdict in described.manifests]

    def passes(self, seconds: float) -> None:
        """Let what was told happen, and then time pass."""
        self.runtime.work_off()
        self.clock.move(Seconds(self.clock.monotonic() + seconds))
        self.runtime.work_off()

    def crash(self, name: str) -> None:
        """Crash an actor; it is restarted when time passes."""
        found: Probe[bool] = Probe()
        self.system.crash(name, found)
        self.runtime.work_off()
        assert found.next()

    def crash_again_and_again(self, name: str, times: int) -> None:
        """Crash an actor in each of its lives, as soon as it has one."""
        for _ in range(times):
            self.passes(1.7)
            self.crash(name)

    def restarts(self) -> dict[str, int]:
        """Return how often each actor was restarted, if it was."""
        return {actor.name: actor.restarts for actor in self.system.describe() if actor.restarts}

    def stop(self) -> int | None:
        """Stop it, and return the exit code."""
        self.system.stop()
        return self.system.wait(Seconds(0.0))


def put(path: Path, text: str) -> None:
    """Write a file an hour before the test's time begins."""
    path.write_text(text)
    os.utime(path, (EPOCH - 3600, EPOCH - 3600))


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[Stepped]:
    """Return an agent on a directory with one manifest, which it scans once an hour.

    The manifest has a second name elsewhere.
    """
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    put(elsewhere / "web.yaml", manifest("web"))
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "web.yaml").hardlink_to(elsewhere / "web.yaml")
    agent = Stepped(f"--pod-manifest-path={manifests}", "--file-check-frequency=1h")
    yield agent
    agent.stop()


def test_it_stops_in_the_reverse_order_of_its_start(stepped: Stepped) -> None:
    started = [actor.name for actor in stepped.system.describe() if actor.type != "supervisor"]
    (worker,) = (name for name in started if name.startswith("pods/"))
    assert started == [
        "pod-manager",
        "event-recorder",
        "secret-manager",
        "configmap-manager",
        "runtime/containers",
        "runtime",
        "status-keeper",
        "probe-keeper",
        "rollouts",
        worker,
        "pod-keeper",
        "source/file",
        "event-feed",
        "http-server",
    ]
    assert stepped.stop() == 0
    actors = [name for name in stepped.ended if name in started]
    assert actors == started[::-1]
    assert stepped.ended[-1] == "actorlet"


def test_it_is_responsive_as_long_as_it_runs(stepped: Stepped) -> None:
    assert stepped.agent.is_responsive(Seconds(2.0))
    stepped.stop()
    assert not stepped.agent.is_responsive(Seconds(2.0))


def test_a_rescan_finds_what_nobody_was_notified_of(stepped: Stepped, tmp_path: Path) -> None:
    # The one file has two names, and whoever watches the one is not told of writes to the other.
    put(tmp_path / "elsewhere" / "web.yaml", manifest("web", "registry.example/web:2"))
    stepped.passes(0.0)
    assert stepped.pods() == {"web-node1": "registry.example/web:1"}
    stepped.agent.rescan()
    stepped.passes(0.0)
    assert stepped.pods() == {"web-node1": "registry.example/web:2"}


@pytest.mark.parametrize("name", ["pod-manager", "source/file", "sources", "http-server"])
def test_a_crash_of_anybody_loses_nothing(stepped: Stepped, tmp_path: Path, name: str) -> None:
    # The file is broken by now: only its last good content knows of the pod.
    put(tmp_path / "elsewhere" / "web.yaml", "kind: [\n")
    stepped.agent.rescan()
    stepped.passes(2.0)
    assert stepped.verdicts() == ["kept"]

    stepped.crash(name)
    stepped.passes(1.0)

    assert stepped.restarts() == {name: 1}
    assert stepped.pods() == {"web-node1": "registry.example/web:1"}
    assert stepped.verdicts() == ["kept"]


def test_a_file_source_that_always_crashes_takes_nobody_with_it(stepped: Stepped) -> None:
    stepped.crash_again_and_again("source/file", times=6)
    states = {actor.name: actor.state for actor in stepped.system.describe()}
    assert states.pop("source/file") == "failed"
    assert set(states.values()) == {"running"}
    assert stepped.pods() == {"web-node1": "registry.example/web:1"}
    # It is tried again all the same.
    stepped.passes(20.0)
    assert stepped.verdicts() == ["accepted"]


def test_without_a_manifest_path_there_is_no_source(tmp_path: Path) -> None:
    alone = Stepped(f"--root-dir={tmp_path}")
    alone.agent.rescan()
    assert alone.pods() == {}
    assert "source/file" not in {actor.name for actor in alone.system.describe()}
    assert alone.stop() == 0

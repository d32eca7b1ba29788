"""Volumes of an agent that is killed while it writes, and of objects that change all the time."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest

from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.volume_agent import RESTS, VolumeAgent, config_map, secret

KEYS = {"name": "keys", "mountPath": "/keys"}
CHANGES_A_SECOND = 100
CHANGED_FOR = 5.0
SHOWN_WITHIN = 5.0
"""Seconds after the last change, also on a machine that does much else."""
KILLS = 3
NAMES = ("a", "b", "c")

_pause = threading.Event()


@pytest.fixture
def agent(mounting: Path, containerd: Containerd) -> Iterator[VolumeAgent]:
    with VolumeAgent(mounting, containerd) as agent:
        yield agent


class Reader:
    """Reads all files of a volume again and again, each time in one opened directory."""

    def __init__(self, volume: Path) -> None:
        self.seen: Counter[str] = Counter()
        self.directories: set[str] = set()
        """The contents that were put in place, as far as they were seen."""
        self._volume = volume
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read)

    @contextmanager
    def reading(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            self._thread.join()

    def _read(self) -> None:
        while not self._is_over.is_set():
            self.seen[self._once()] += 1
            _pause.wait(0.001)

    def _once(self) -> str:
        try:
            data = os.open(self._volume / "..data", os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return "missing"
        try:
            self.directories.add(Path(f"/proc/self/fd/{data}").readlink().name)
            contents = {_content(data, name) for name in NAMES}
        except FileNotFoundError:
            return "too slow"  # a machine that does much else: the content was taken away meanwhile
        finally:
            os.close(data)
        return "whole" if len(contents) == 1 else "torn"


def _content(directory: int, name: str) -> bytes:
    with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=directory), "rb") as file:
        return file.read()


def of_version(number: int) -> dict[str, str]:
    return dict.fromkeys(NAMES, f"{number:06};" * 100)


def test_a_secret_that_changes_all_the_time_is_whole_and_its_last_version_is_there_soon(
    agent: VolumeAgent,
) -> None:
    agent.keep_all("Secret", "login", of_version(0))
    agent.mount("web", RESTS, [secret("keys", "login")], [KEYS])
    agent.up()
    agent.await_running("web")
    volume = agent.volume("web", "secret", "keys")
    reader, number = Reader(volume), 0
    with reader.reading():
        began = monotonic()
        while (now := monotonic() - began) < CHANGED_FOR:
            number += 1
            agent.keep_all("Secret", "login", of_version(number))
            _pause.wait(max(0.0, number / CHANGES_A_SECOND - now))
        last = of_version(number)["a"]
        changed = monotonic()
        eventually(lambda: volume.joinpath("a").read_text() == last)
        waited = monotonic() - changed
    assert reader.seen["torn"] == reader.seen["missing"] == 0, reader.seen
    assert reader.seen["whole"] > 0
    assert waited < SHOWN_WITHIN
    # Bounded: never more contents than versions, and each is gone soon.
    assert 1 < len(reader.directories) <= number + 1
    eventually(lambda: len([*volume.glob("..2*")]) == 1)


def test_whoever_reads_while_the_agent_is_killed_sees_whole_contents_and_the_next_life_tidies(
    agent: VolumeAgent,
) -> None:
    large = {f"key-{number:04}": "x" * 100 for number in range(1000)}
    agent.keep_all("ConfigMap", "large", {**large, **of_version(0)})
    agent.mount("web", RESTS, [config_map("keys", "large")], [KEYS])
    agent.up()
    agent.await_running("web")
    volume = agent.volume("web", "configmap", "keys")
    reader, number = Reader(volume), 0
    with reader.reading():
        for _ in range(KILLS):
            ends_at = monotonic() + 1.0
            while monotonic() < ends_at:
                number += 1
                agent.keep_all("ConfigMap", "large", {**large, **of_version(number)})
                _pause.wait(1 / CHANGES_A_SECOND)
            agent.dies()
            agent.up()
            eventually(agent.is_ready)
        last = of_version(number)["a"]
        eventually(lambda: volume.joinpath("a").read_text() == last)
    assert reader.seen["torn"] == reader.seen["missing"] == 0, reader.seen
    eventually(lambda: len([*volume.glob("..2*")]) == 1)
    assert not volume.joinpath("..data_tmp").is_symlink()
    assert agent.status("web")["restartCount"] == 0
    assert agent.said("web") == ["rests"]


def test_after_a_kill_nothing_is_left_of_pods_that_went_meanwhile(agent: VolumeAgent) -> None:
    agent.keep("Secret", "login", key="one")
    part = {"name": "keys", "mountPath": "/part", "subPath": "key"}
    memory = {"name": "data", "emptyDir": {"medium": "Memory"}}
    for name in ("stays", "goes"):
        agent.mount(
            name,
            RESTS,
            [secret("keys", "login"), memory],
            [KEYS, part, {"name": "data", "mountPath": "/data"}],
        )
    agent.up()
    agent.await_running("stays", "goes")
    kept = agent.uid("stays")
    agent.dies()
    agent.withdraw("goes")
    agent.up()
    agent.await_running("stays", restarts=0)
    eventually(lambda: agent.uid("goes") == "")
    own = str(agent.directory("stays").resolve())
    eventually(lambda: [each.name for each in (agent.root_dir / "pods").iterdir()] == [kept])
    assert len(agent.mounted()) == 3
    assert all(each.path.startswith(f"{own}/") for each in agent.mounted())
    agent.withdraw("stays")
    agent.await_nothing()
    eventually(lambda: agent.left() == [])

"""The commands of the pages, typed beside a whole agent, show what the pages say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.process import ROOT, AgentProcess, eventually
from tests.support.patience import PATIENCE
from tests.support.project.consoles import Terminal, commands, shows_the_same

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]


class OnExamples(AgentProcess):
    """An agent on a copy of the examples, as ``make run`` starts it in a checkout."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        shutil.copytree(ROOT / "examples", folder / "examples")
        self._folder = folder

    def runs(self, *flags: str, examples: str = "examples/manifests") -> OnExamples:
        """Start it on a folder of the examples, and return once it is ready."""
        self.start(
            "--hostname-override=edge-1",
            f"--pod-manifest-path={examples}",
            *flags,
            launcher=("env", "-C", str(self._folder)),
        )
        eventually(self.is_ready)
        return self


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[OnExamples]:
    """Return an agent that is not started yet."""
    with OnExamples(tmp_path) as agent:
        yield agent


def test_start_here_from_the_first_status_to_the_last_removal(
    agent: OnExamples, tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path, agent.runs())
    for each in commands(ROOT / "docs/start-here.md"):
        if not each.section.startswith("5."):
            terminal.carry_out(each)


def test_troubles_are_shown_and_explained_as_the_page_on_troubleshooting_says(
    agent: OnExamples, tmp_path: Path
) -> None:
    (tmp_path / "examples/local-objects/shop-database.yaml").chmod(0o644)
    flags = ("--local-objects-dir=examples/local-objects", "--hollow-capacity=cpu=4")
    terminal = Terminal(tmp_path, agent.runs(*flags, examples="examples/troubles"))
    for each in commands(ROOT / "docs/troubleshooting.md"):
        terminal.carry_out(each)


def test_a_crash_on_request_is_shown_as_the_page_on_concepts_says(
    agent: OnExamples, tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path, agent.runs("--enable-chaos"))
    for each in commands(ROOT / "docs/concepts.md"):
        terminal.carry_out(each)


def test_each_state_on_purpose_is_shown_as_the_page_on_hollow_nodes_says(
    agent: OnExamples, tmp_path: Path
) -> None:
    typed, _ = commands(ROOT / "docs/hollow-nodes.md")
    first, *further = typed.text.splitlines()
    terminal = Terminal(tmp_path, agent.runs(*flags_of(first, agent)))
    names = {path.stem for path in (ROOT / "examples/hollow").glob("*.yaml")}
    assert len(further) == 2
    pods, crash_loop = further
    eventually(lambda: names <= set(re.findall(r"default/([\w-]+)-edge-1", terminal.run(pods))))
    eventually(lambda: "CrashLoopBackOff" in terminal.run(crash_loop))


def test_hollow_containers_take_the_times_that_the_page_on_hollow_nodes_gives_them(
    agent: OnExamples,
) -> None:
    _, typed = commands(ROOT / "docs/hollow-nodes.md")
    agent.runs(*flags_of(typed.text, agent))

    def batch() -> dict[str, Any]:
        pods = {each["metadata"]["name"]: each["status"] for each in agent.json("/pods")["items"]}
        return dict(pods["nightly-checksum-edge-1"])

    eventually(lambda: batch()["phase"] == "Succeeded")
    status = batch()
    (container,) = status["containerStatuses"]
    began, *run = (
        datetime.fromisoformat(each)
        for each in (
            status["startTime"],
            container["state"]["terminated"]["startedAt"],
            container["state"]["terminated"]["finishedAt"],
        )
    )
    # Times of a status are whole seconds.
    assert (run[0] - began).total_seconds() >= 2
    assert (run[1] - run[0]).total_seconds() >= 10


def flags_of(typed: str, agent: AgentProcess) -> list[str]:
    """Return the flags that a ``make run`` on a page starts an agent with, but for its root directory."""
    outer = {name: said for name, said in os.environ.items() if not name.startswith("MAKE")}
    made = subprocess.run(
        [*shlex.split(typed), "--dry-run"],
        cwd=ROOT,
        env=outer,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    (line,) = (each for each in made.stdout.splitlines() if " run.py " in each)
    return shlex.split(line.partition(" run.py ")[2].replace(".venv/state", str(agent.root_dir)))


def test_a_restored_backup_has_the_same_files_as_the_page_on_backups_says(
    agent: OnExamples, tmp_path: Path
) -> None:
    kept = tmp_path / "etc/actorlet"
    shutil.copytree(ROOT / "examples/pods-with-objects", kept / "manifests")
    shutil.copytree(ROOT / "examples/local-objects", kept / "objects")
    (kept / "objects/shop-database.yaml").chmod(0o600)
    before = files_of(kept)
    terminal = Terminal(tmp_path, agent.runs(), {"/etc/actorlet": str(kept)})
    for each in commands(ROOT / "docs/backup.md"):
        if "tar -x" in each.text:
            shutil.rmtree(kept)
            assert "1 manifest: 1 accepted" in terminal.run(each.text)
        else:
            terminal.carry_out(each)
    assert files_of(kept) == before


def test_a_folder_of_a_repository_is_checked_as_the_page_on_many_nodes_says(
    agent: OnExamples, tmp_path: Path
) -> None:
    fleet(tmp_path)
    _, check = commands(ROOT / "docs/many-nodes.md")
    assert "1 manifest: 1 accepted" in Terminal(tmp_path, agent).run(check.text)


@pytest.mark.skipif(not shutil.which("rsync"), reason="there is no rsync")
def test_a_folder_of_a_repository_becomes_the_pods_of_a_node_as_the_page_on_many_nodes_says(
    agent: OnExamples, tmp_path: Path
) -> None:
    fleet(tmp_path)
    node = tmp_path / "node/actorlet"
    for each in ("manifests", "objects"):
        (node / each).mkdir(parents=True)
    agent.runs(f"--local-objects-dir={node}/objects", examples=f"{node}/manifests")
    terminal = Terminal(tmp_path, agent, {"node1:/etc/actorlet": str(node)})
    copy, _ = commands(ROOT / "docs/many-nodes.md")
    assert terminal.run(copy.text) == ""
    eventually(lambda: "default/shop-edge-1" in terminal.run("actorlet pods"))
    assert (node / "objects/shop-database.yaml").stat().st_mode & 0o777 == 0o600


def fleet(checkout: Path) -> None:
    """Make the folder of a kind of nodes in a repository, as the page on many nodes has it."""
    kiosk = checkout / "fleet/kiosk"
    shutil.copytree(ROOT / "examples/pods-with-objects", kiosk / "manifests")
    shutil.copytree(ROOT / "examples/local-objects", kiosk / "objects")
    (kiosk / "objects/shop-database.yaml").chmod(0o600)


def test_what_is_below_the_root_directory_has_a_row_and_its_mode_on_the_page_on_security(
    agent: OnExamples,
) -> None:
    agent.runs("--hollow-volumes", "--hollow-records")
    page = (ROOT / "docs/security.md").read_text()
    rows = re.findall(r"^\| (`\S.*`) \| (0\d+)(?:, files (0\d+))? \|", page, flags=re.MULTILINE)
    modes = {name: row[1:] for row in rows for name in re.findall(r"`([\w.-]+)/?`", row[0])}
    kept = {"actorlet.sock", "pod-records", "last-good-manifests", "hollow", "pods"}
    eventually(lambda: kept <= {path.name for path in agent.root_dir.iterdir()})
    for path in agent.root_dir.iterdir():
        own, of_files = modes[path.name]
        assert path.stat().st_mode & 0o777 == int(own, 8)
        below = list(path.iterdir()) if of_files else []
        assert {each.stat().st_mode & 0o777 for each in below} <= {int(of_files or "0", 8)}


def files_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the mode and the content of each file below a folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_metrics_are_written_for_a_textfile_collector_as_the_page_on_alerts_says(
    agent: OnExamples, tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path, agent.runs())
    for each in commands(ROOT / "docs/alerts.md"):
        terminal.carry_out(each)
    written = (tmp_path / "actorlet.prom").read_text()
    assert "\nactorlet_pods{" in written
    assert not any(line.startswith(("process_", "python_")) for line in written.splitlines())


@pytest.mark.parametrize(
    ("page", "shown", "fits"),
    [
        (("1 pod runs  for 3s",), "1 pod runs for 12m4s\n", True),
        (("1 pod runs",), "1 pod waits\n", False),
        (("first", "...", "last"), "first\nsecond\nthird\nlast\n", True),
        (("first", "..."), "first\n", True),
        (("first", "..."), "second\nfirst\n", False),
        (("first",), "first\nsecond\n", False),
        (("Mon Nov 23 02:13:46",), "Thu Jan  1 12:00:00\n", True),
        (("folded", "here"), "folded here\n", True),
    ],
)
def test_what_a_terminal_shows_fits_its_page_but_for_numbers_days_and_folds(
    page: tuple[str, ...], shown: str, *, fits: bool
) -> None:
    assert shows_the_same(page, shown) is fits

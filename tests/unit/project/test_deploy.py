"""What ``deploy/`` promises, checked against the checkout: units, images and the flags in them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from settings.flags.command_line import parse
from tests.support.project.checkout import ROOT

DEPLOY = ROOT / "deploy"


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions and what they say, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def settings_of_unit(key: str) -> list[str]:
    """Return the words that the unit has under ``key``."""
    found = re.findall(rf"^{key}=(.*)$", (DEPLOY / "actorlet.service").read_text(), re.MULTILINE)
    return [word for value in found for word in value.split()]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    # On this checkout and this interpreter, since the unit's own need not be there.
    text = (DEPLOY / "actorlet.service").read_text()
    text = text.replace("/opt/actorlet/.venv/bin/python", "/bin/true").replace(
        "/opt/actorlet", str(ROOT)
    )
    unit = tmp_path / "actorlet.service"
    unit.write_text(text)
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        check=False,
        capture_output=True,
        text=True,
    )
    # It looks at the machine's other units as well: only what it says of ours counts.
    assert [line for line in found.stderr.splitlines() if "actorlet" in line] == []


def test_the_unit_gives_the_agent_flags_that_it_knows() -> None:
    unit = (DEPLOY / "actorlet.service").read_text()
    (command,) = re.findall(r"^ExecStart=\S+ \S+ (.*)$", unit, re.MULTILINE)
    (example,) = re.findall(r"^#\s+ACTORLET_FLAGS=(.*)$", unit, re.MULTILINE)
    line = parse(command.replace("$ACTORLET_FLAGS", example).split())
    assert line.root_dir == Path("/var/lib/actorlet")
    assert line.kubeconfig == Path("/etc/kubernetes/kubelet.conf")
    assert line.without_effect == ()


def test_the_unit_and_a_kubelet_are_never_up_together() -> None:
    # Both would keep the Node of this machine; whichever is started last has it.
    assert "kubelet.service" in settings_of_unit("Conflicts")
    assert "kubelet.service" in settings_of_unit("After")


def test_the_unit_never_gives_up() -> None:
    # A configuration that cannot be used for a moment, code 2 included, costs a node that moment.
    assert settings_of_unit("Restart") == ["always"]
    assert settings_of_unit("StartLimitIntervalSec") == ["0"]
    assert settings_of_unit("RestartPreventExitStatus") == []


def test_the_unit_gives_exec_plugins_a_home_that_is_made_and_visible() -> None:
    (home,) = [each for each in settings_of_unit("Environment") if each.startswith("HOME=")]
    made = [f"HOME=%S/{name}" for name in settings_of_unit("StateDirectory")]
    assert home in made


def test_the_image_gets_everything_that_the_agent_is_made_of() -> None:
    copied = [
        name.rstrip("/")
        for word, rest in instructions()
        if word == "COPY"
        for name in rest.split()[:-1]
    ]
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "tools"}
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert packages - {"benchmarks"} | {"run.py", "pyproject.toml"} <= set(copied)


def test_the_image_runs_as_somebody_without_rights_and_says_how_it_is() -> None:
    last = dict(instructions())
    assert last["USER"] == "actorlet"
    assert last["ENTRYPOINT"] == '["python", "run.py"]'
    assert "127.0.0.1:10248/healthz" in last["HEALTHCHECK"]

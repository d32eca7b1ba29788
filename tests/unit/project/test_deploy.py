"""What the unit, the image and the examples beside them promise, checked against the checkout."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from settings.command_line import parse
from settings.load import load_settings
from tests.support.project.checkout import ROOT
from tools.installing.companions import TEMPLATES, configuration_files
from tools.installing.deb import WHERE
from tools.installing.places import places
from tools.installing.templates import unit

DEPLOY = ROOT / "deploy"
UNIT = unit((TEMPLATES / "actorlet.service").read_text(), WHERE, WHERE.home)


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions and what they say, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def settings_of_unit(key: str) -> list[str]:
    """Return the words that the unit has under ``key``."""
    found = re.findall(rf"^{key}=(.*)$", UNIT, re.MULTILINE)
    return [word for value in found for word in value.split()]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
@pytest.mark.parametrize("prefix", ["opt/actorlet", "a path with $ome 100% odd signs"])
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path, prefix: str) -> None:
    variables = {"PREFIX": f"{tmp_path}/{prefix}", "UNITDIR": str(tmp_path), "BINDIR": ""}
    where = places(variables)
    where.bin.mkdir(parents=True)
    (where.bin / "actorlet").symlink_to("/bin/true")
    file = tmp_path / "actorlet.service"
    file.write_text(unit((TEMPLATES / "actorlet.service").read_text(), where, where.current))
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(file)],
        check=False,
        capture_output=True,
        text=True,
    )
    # It looks at the machine's other units as well: only what it says of ours counts.
    assert [line for line in found.stderr.splitlines() if "actorlet" in line] == []


def test_the_unit_gives_the_agent_flags_that_it_knows() -> None:
    (command,) = re.findall(r"^ExecStart=/usr/bin/actorlet run (.*)$", UNIT, re.MULTILINE)
    texts = {file.path.name: file.content.decode() for file in configuration_files(WHERE)}
    (given,) = re.findall(r"^ACTORLET_FLAGS=(.*)$", texts["actorlet"], re.MULTILINE)
    line = parse(command.replace("$ACTORLET_FLAGS", given.strip('"')).split())
    assert line.others["--root-dir"] == Path("/var/lib/actorlet")
    assert line.config == Path("/etc/actorlet/config.yaml")
    assert line.without_effect == ()


def test_the_example_of_a_configuration_is_one_that_the_agent_obeys(tmp_path: Path) -> None:
    where = places({"PREFIX": f"{tmp_path}/it's odd: # here"})
    (example,) = configuration_files(where)
    file = tmp_path / "config.yaml"
    file.write_bytes(example.content)
    settings = load_settings(parse([f"--config={file}", "--runtime=hollow"]))
    assert settings.static_pod_path == where.configuration / "manifests"
    # What is commented out has to be right as well.
    file.write_text(re.sub(r"^#(?=\w)", "", example.content.decode(), flags=re.MULTILINE))
    whole = load_settings(parse([f"--config={file}", "--runtime=hollow"]))
    assert whole.read_only_port == 10255


def test_the_unit_and_a_kubelet_are_never_up_together() -> None:
    # Both would keep the Node of this machine; whichever is started last has it.
    assert "kubelet.service" in settings_of_unit("Conflicts")
    assert "kubelet.service" in settings_of_unit("After")


def test_the_unit_ends_before_the_container_runtime_does() -> None:
    assert {"containerd.service", "crio.service"} <= set(settings_of_unit("After"))


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
    assert packages - {"benchmarks"} | {"run.py", "actorlet.py", "pyproject.toml"} <= set(copied)


def test_the_image_has_everything_compiled_since_nobody_may_write_there_later() -> None:
    assert ("RUN", "python -m compileall -q .") in instructions()


def test_the_image_runs_as_somebody_without_rights_and_says_how_it_is() -> None:
    last = dict(instructions())
    assert last["USER"] == "actorlet"
    assert last["ENTRYPOINT"] == '["python", "run.py"]'
    assert "127.0.0.1:10248/healthz" in last["HEALTHCHECK"]

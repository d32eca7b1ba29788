"""The Debian package: what it says of itself, and what its scripts do with somebody's data."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tools.installing.companions import TEMPLATES
from tools.installing.deb import SCRIPTS, WHERE, control_file
from tools.installing.places import places
from tools.installing.release import ROOT


def fields(text: str) -> dict[str, str]:
    """Return the fields of one line."""
    lines = [line for line in text.splitlines() if not line.startswith(" ")]
    return {name: value for name, _, value in (line.partition(": ") for line in lines)}


def git(*words: str) -> str:
    """Return what git says of the checkout; nothing if this is none."""
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def test_the_package_needs_the_python_that_it_was_made_for_and_no_other() -> None:
    said = fields(control_file("arm64", "3.13", ["libc6"], 7))
    assert said["Depends"] == "python3 (>= 3.13~), python3 (<< 3.14~), libc6"
    assert (said["Architecture"], said["Installed-Size"]) == ("arm64", "7")


def test_who_built_it_is_said_as_debians_own_tools_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DEBFULLNAME", "NAME", "DEBEMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    author = git("log", "-1", "--format=%an <%ae>") or "the authors of actorlet <root@localhost>"
    assert fields(control_file("a", "3.11", [], 1))["Maintainer"] == author
    monkeypatch.setenv("DEBFULLNAME", "Some Body")
    monkeypatch.setenv("DEBEMAIL", "some@body.example")
    assert "Maintainer: Some Body <some@body.example>\n" in control_file("a", "3.11", [], 1)


def test_the_package_names_what_runs_containers_and_their_network() -> None:
    suggested = fields(control_file("a", "3.11", [], 1))["Suggests"].split(", ")
    assert {"containerd", "containernetworking-plugins"} <= set(suggested)


@pytest.mark.parametrize(
    ("words", "is_told"), [(("configure",), True), (("configure", "0.1"), False)]
)
def test_whoever_installs_it_first_is_told_what_to_do_next(
    words: tuple[str, ...],
    is_told: bool,  # noqa: FBT001
) -> None:
    script = TEMPLATES / "debian" / "postinst"
    done = subprocess.run(["sh", script, *words], capture_output=True, text=True, check=True)
    assert ("systemctl enable --now actorlet" in done.stdout) == is_told


def test_the_package_is_where_make_install_puts_a_prefix_of_the_system() -> None:
    assert places({"PREFIX": "/usr"}) == WHERE


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_of_the_package_is_one_that_a_shell_can_read(name: str) -> None:
    subprocess.run(["sh", "-n", TEMPLATES / "debian" / name], check=True)


@pytest.mark.parametrize(
    ("step", "mounts", "left"),
    [
        ("purge", "", []),
        ("purge", "36 28 0:5 / {state}/pods/1/volumes/a rw - tmpfs tmpfs rw", ["file"]),
        ("purge", "36 28 0:5 / {state}-other/a rw - tmpfs tmpfs rw", []),
        ("remove", "", ["file"]),
    ],
    ids=["purged", "purged while volumes are mounted", "somebody else's mount", "removed"],
)
def test_state_goes_with_a_purge_unless_something_is_mounted_in_it(
    tmp_path: Path, step: str, mounts: str, left: list[str]
) -> None:
    state = tmp_path / "actorlet"
    state.mkdir()
    (state / "file").touch()
    table = tmp_path / "mountinfo"
    table.write_text(mounts.format(state=state) + "\n")
    script = (TEMPLATES / "debian/postrm").read_text()
    script = script.replace("/var/lib/actorlet", str(state))
    script = script.replace("/proc/self/mountinfo", str(table))
    script = script.replace("/run/systemd/system", "/nowhere")
    done = subprocess.run(
        ["sh", "-c", script, "postrm", step],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert [each.name for each in state.glob("*")] == left
    assert ("are still mounted" in done.stderr) == (bool(left) and step == "purge")

"""``make install`` and ``make uninstall``: where things go, what is replaced, kept and taken away."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from settings.version import RELEASE
from tests.support.project.checkout import rooms
from tools.installing import companions, install, release, templates
from tools.installing.failures import InstallError
from tools.installing.install import Installation, next_name
from tools.installing.places import destination, places
from tools.installing.running import users_of

Installing = Callable[[], Installation]


@pytest.mark.parametrize(
    ("variables", "home", "program", "unit"),
    [
        ({}, "/opt/actorlet", "/usr/local/bin", "/usr/local/lib/systemd/system"),
        ({"PREFIX": "/usr"}, "/usr/lib/actorlet", "/usr/bin", "/usr/lib/systemd/system"),
        ({"PREFIX": "/home/a/.local"}, "/home/a/.local/lib/actorlet", "/home/a/.local/bin", None),
        ({"PREFIX": "/srv/actorlet"}, "/srv/actorlet", "/srv/actorlet/bin", None),
        ({"BINDIR": "/b", "UNITDIR": "/u"}, "/opt/actorlet", "/b", "/u"),
        ({"PREFIX": "/x", "UNITDIR": "/u"}, "/x/lib/actorlet", "/x/bin", "/u"),
    ],
)
def test_what_others_look_for_is_where_they_look(
    variables: dict[str, str], home: str, program: str, unit: str | None
) -> None:
    where = places(variables)
    assert (where.home, where.bin) == (Path(home), Path(program))
    assert where.units == (Path(unit) if unit else None)
    assert (where.defaults is None) == (unit is None)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("opt", "PREFIX has to be an absolute path, not 'opt'"),
        ("~/x", "PREFIX has to be an absolute path, not '~/x'"),
        ("/a/../b", "PREFIX has to be a path without '..', not '/a/../b'"),
        ("/a\nb", r"PREFIX has a character in it that no path should have: '/a\nb'"),
    ],
)
def test_a_path_that_cannot_be_one_is_a_sentence(said: str, why: str) -> None:
    with pytest.raises(InstallError, match=r"^PREFIX ") as raised:
        places({"PREFIX": said})
    assert str(raised.value) == why


def test_the_agent_is_made_of_all_rooms() -> None:
    assert set(release.rooms()) == rooms()


def test_nothing_that_an_editor_or_an_interpreter_leaves_is_installed(tmp_path: Path) -> None:
    for name in ("a.py", "b/c.js", "b/.d.swp", "__pycache__/a.pyc", "e.orig", ".hidden/f.py"):
        tmp_path.joinpath(name).parent.mkdir(exist_ok=True)
        tmp_path.joinpath(name).touch()
    assert list(release.source_files(tmp_path)) == [tmp_path / "a.py", tmp_path / "b/c.js"]


def test_a_program_with_spaces_is_one_word_to_systemd() -> None:
    assert templates.systemd_program("/opt/a") == "/opt/a"
    assert templates.systemd_program("/a b/c") == '"/a b/c"'
    assert templates.systemd_program("/100%/x") == "/100%%/x"
    with pytest.raises(InstallError, match="quotes or backslashes"):
        templates.systemd_program("/it's")


def test_the_wrapper_runs_what_its_link_leads_to_and_hands_on_every_word(tmp_path: Path) -> None:
    home, program = tmp_path / 'it\'s a "home"', tmp_path / "program"
    python = home / "one" / "environment/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    (home / "current").symlink_to("one")
    text = templates.wrapper((companions.TEMPLATES / "actorlet.sh").read_text(), home / "current")
    program.write_text(text)
    done = subprocess.run(
        ["sh", program, "a b", "*"], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout.splitlines() == ["-P", f"{home}/one/command/__main__.py", "a b", "*"]
    python.unlink()
    said = subprocess.run(["sh", program], capture_output=True, text=True, check=False)
    assert (said.returncode, "install it again" in said.stderr) == (70, True)
    assert "gone, or not for this user" in said.stderr
    shutil.rmtree(home)
    said = subprocess.run(["sh", program], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr.count("\n")) == (70, 1)
    assert "it is no longer at" in said.stderr


def test_a_new_release_has_a_name_of_its_own() -> None:
    assert next_name("1.0", set()) == "1.0-1"
    assert next_name("1.0", {"1.0-1", "1.0-3", "0.9-2"}) == "1.0-2"


@pytest.fixture
def installing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installing:
    """Return what begins an installation below the test's folder. Its releases have one file alone."""

    def small(target: Path, final: Path) -> None:
        target.joinpath("is").write_text(str(final))

    monkeypatch.setattr(install, "make_release", small)
    monkeypatch.setattr(companions, "completion", lambda _command, shell: shell.encode())
    return lambda: Installation(where=places({}), root=tmp_path / "the root")


def tree(root: Path) -> set[str]:
    """Return every file, link and folder below ``root``."""
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def test_what_was_installed_is_taken_away_again_and_nothing_else(
    installing: Installing, tmp_path: Path
) -> None:
    root = tmp_path / "the root"
    for name in ("usr/local/bin/other", "etc/default/other", "opt/other"):
        root.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        root.joinpath(name).touch()
    before = tree(root)
    installing().install()
    added = tree(root) - before
    assert {"usr/local/bin/actorlet", "etc/actorlet/config.yaml", "etc/default/actorlet"} <= added
    assert (root / "opt/actorlet/current/is").read_text() == "/opt/actorlet/releases/0.1.0-1"
    installing().uninstall()
    assert tree(root) == before


def test_what_somebody_has_changed_or_added_stays_and_is_named(
    installing: Installing, tmp_path: Path
) -> None:
    root = tmp_path / "the root"
    installing().install()
    config = root / "etc/actorlet/config.yaml"
    config.write_text("mine")
    (root / "etc/actorlet/manifests/web.yaml").touch()
    for name in "abcde":
        (root / f"etc/actorlet/objects/{name}.yaml").touch()
    (root / "var/lib/actorlet").mkdir(parents=True)
    again = installing()
    again.install()
    assert again.said == ["/etc/actorlet/config.yaml is as it was: somebody has changed it"]
    gone = installing()
    gone.uninstall()
    assert gone.said == [
        "/etc/actorlet/config.yaml stays: somebody has changed it",
        "/etc/actorlet/objects stays: a.yaml, b.yaml, c.yaml and 2 more in it",
        "/etc/actorlet/manifests stays: web.yaml in it",
        "/var/lib/actorlet stays, with what the agent has kept",
    ]
    assert {path for path in tree(root) if (root / path).is_file()} == {
        "etc/actorlet/config.yaml",
        "etc/actorlet/manifests/web.yaml",
        *(f"etc/actorlet/objects/{name}.yaml" for name in "abcde"),
    }


def test_a_release_that_runs_stays_beside_the_new_one_until_it_has_ended(
    installing: Installing, tmp_path: Path
) -> None:
    releases = tmp_path / "the root/opt/actorlet/releases"
    installing().install()
    path = releases / "0.1.0-1" / "run.py"
    path.write_text("input('runs\\n')")
    command = [sys.executable, "-u", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        # A process that only begins to be another program has no command line for a moment.
        assert agent.stdout is not None
        assert agent.stdout.readline() == b"runs\n"
        second = installing()
        second.install()
        assert {each.name for each in releases.iterdir()} == {"0.1.0-1", "0.1.0-2"}
        assert f"{agent.pid} runs from it" in " ".join(second.said)
        with pytest.raises(InstallError, match=f"pid {agent.pid}"):
            installing().uninstall()
        agent.communicate(b"\n")
    installing().install()
    assert {each.name for each in releases.iterdir()} == {"0.1.0-3"}
    assert releases.with_name("current").readlink() == Path("releases/0.1.0-3")


def test_an_installation_that_fails_leaves_the_one_before_as_it_is(
    installing: Installing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installing().install()
    before = tree(tmp_path)

    def breaks(target: Path, _final: Path) -> None:
        target.joinpath("half").touch()
        raise InstallError("the disk is full")

    monkeypatch.setattr(install, "make_release", breaks)
    with pytest.raises(InstallError, match="full"):
        installing().install()
    assert tree(tmp_path) == before


def test_a_command_of_somebody_else_is_not_replaced(installing: Installing, tmp_path: Path) -> None:
    taken = tmp_path / "the root/usr/local/bin/actorlet"
    taken.parent.mkdir(parents=True)
    taken.write_text("other")
    with pytest.raises(InstallError, match="was not installed by this"):
        installing().install()
    assert tree(tmp_path / "the root") == {"usr", "usr/local", "usr/local/bin", str(taken)[-22:]}


def test_a_record_that_is_damaged_or_missing_is_a_sentence(
    installing: Installing, tmp_path: Path
) -> None:
    with pytest.raises(InstallError, match="nothing was installed at /opt/actorlet"):
        installing().uninstall()
    installing().install()
    (tmp_path / "the root/opt/actorlet/installed.json").write_text("[]")
    with pytest.raises(InstallError, match="it is damaged"):
        installing().uninstall()


@pytest.fixture
def somebody() -> Iterator[None]:
    """Be a user who may not write everywhere, as root may."""
    root = os.geteuid() == 0
    if root:
        os.setresuid(65534, 65534, 0)
    yield
    if root:
        os.setresuid(0, 0, 0)


@pytest.mark.usefixtures("somebody")
def test_a_place_that_is_not_yours_is_a_sentence() -> None:
    with pytest.raises(InstallError, match="be root, or choose a PREFIX that is yours"):
        Installation(where=places({})).install()


def test_a_file_where_a_folder_has_to_be_is_a_sentence(
    installing: Installing, tmp_path: Path
) -> None:
    (tmp_path / "the root").mkdir()
    (tmp_path / "the root/opt").touch()
    with pytest.raises(InstallError, match="is in the way: it is no directory"):
        installing().install()


def test_a_process_that_runs_from_a_folder_is_found_by_its_words(tmp_path: Path) -> None:
    for pid, line in ((7, b"python\0/a/run.py\0"), (8, b"/ab/x\0"), (9, b"/a/bin/python\0")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_bytes(line)
    (tmp_path / "10").mkdir()
    assert users_of(Path("/a"), tmp_path) == [7, 9]


def test_destdir_is_the_root_if_there_is_none() -> None:
    assert destination({}) == Path("/")
    assert destination({"DESTDIR": "/tmp/x"}) == Path("/tmp/x")


def test_a_release_is_told_from_any_other_by_its_code_and_by_what_it_needs(tmp_path: Path) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    for target in (first, again):
        release._copy_code(target)
    said, code = (first / RELEASE).read_text().split()
    assert (said, len(code)) == (release.version(), 12)
    assert (again / RELEASE).read_bytes() == (first / RELEASE).read_bytes()
    files = [release.ROOT / each for each in release.ALONE]
    assert release.code_of(files) != release.code_of(files[1:])


def test_a_release_says_what_it_is_where_the_agent_looks_for_that() -> None:
    assert release.RELEASE == RELEASE


def test_what_installs_runs_without_any_package() -> None:
    words = [sys.executable, "-I", "-S", "-c"]
    program = (
        f"import sys; sys.path.insert(0, {str(release.ROOT)!r}); import tools.installing.doing"
    )
    subprocess.run([*words, program], check=True)

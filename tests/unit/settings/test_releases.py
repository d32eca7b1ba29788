"""Which release runs, and whether another one is installed at its place."""

from __future__ import annotations

from pathlib import Path

from messages.releases import Release, ReleaseState
from settings.version import RELEASE, Releases, version


def checkout(root: Path, said: str, more: str = "") -> Path:
    root.mkdir(parents=True, exist_ok=True)
    root.joinpath("pyproject.toml").write_text(f'[project]\nversion = "{said}"\n{more}')
    return root


def release(root: Path, said: str, code: str) -> Path:
    checkout(root, said)
    beside = root / ".new"
    beside.write_text(f"{said} {code}\n")
    beside.replace(root / RELEASE)
    return root


def test_a_release_that_is_made_the_current_one_makes_a_restart_due(tmp_path: Path) -> None:
    first = release(tmp_path / "releases/1.0-1", "1.0", "aaa")
    current = tmp_path / "current"
    current.symlink_to("releases/1.0-1")
    releases = Releases(first)
    assert releases() == ReleaseState(Release("1.0", "aaa"), Release("1.0", "aaa"))
    assert not releases().is_restart_due

    release(tmp_path / "releases/1.1-1", "1.1", "bbb")
    current.unlink()
    current.symlink_to("releases/1.1-1")
    assert releases() == ReleaseState(Release("1.0", "aaa"), Release("1.1", "bbb"))
    assert releases().is_restart_due
    assert not Releases(tmp_path / "releases/1.1-1")().is_restart_due


def test_the_same_code_installed_once_more_makes_none_due(tmp_path: Path) -> None:
    first = release(tmp_path / "releases/1.0-1", "1.0", "aaa")
    release(tmp_path / "releases/1.0-2", "1.0", "aaa")
    (tmp_path / "current").symlink_to("releases/1.0-2")
    assert not Releases(first)().is_restart_due


def test_files_that_a_package_replaces_make_a_restart_due_also_within_a_version(
    tmp_path: Path,
) -> None:
    home = release(tmp_path / "actorlet", "1.0", "aaa")
    releases = Releases(home)
    assert not releases().is_restart_due
    release(home, "1.0", "bbb")
    assert releases() == ReleaseState(Release("1.0", "aaa"), Release("1.0", "bbb"))
    assert releases().is_restart_due
    release(home, "1.0", "aaa")
    assert not releases().is_restart_due


def test_in_a_checkout_only_another_version_makes_a_restart_due(tmp_path: Path) -> None:
    root = checkout(tmp_path / "releases/mine", "1.0")
    releases = Releases(root)
    assert releases() == ReleaseState(Release("1.0"), Release("1.0"))
    checkout(root, "1.0", "# edited\n")
    assert not releases().is_restart_due
    checkout(root, "1.1")
    assert releases().is_restart_due


def test_what_is_taken_away_or_half_written_is_nothing_to_restart_for(tmp_path: Path) -> None:
    home = release(tmp_path / "actorlet", "1.0", "aaa")
    releases = Releases(home)
    assert releases().installed
    (home / RELEASE).write_text("torn")
    assert releases() == ReleaseState(Release("1.0", "aaa"), None)
    (home / RELEASE).unlink()
    (home / "pyproject.toml").unlink()
    assert not releases().is_restart_due
    release(home, "1.1", "bbb")
    assert releases().is_restart_due


def test_a_release_is_named_by_its_version_and_by_its_code_where_that_is_known() -> None:
    assert (str(Release("1.0")), str(Release("1.0", "aaa"))) == ("1.0", "1.0 (aaa)")
    assert Releases()() == ReleaseState(Release(version()), Release(version()))


def test_a_file_of_a_release_that_is_cut_short_keeps_no_agent_from_starting(tmp_path: Path) -> None:
    home = checkout(tmp_path / "actorlet", "1.0")
    for torn in ("", "1.0", "1.0 aaa bbb"):
        (home / RELEASE).write_text(torn)
        assert Releases(home)() == ReleaseState(Release("1.0"), None)

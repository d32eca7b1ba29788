"""Which directories have to be watched for a manifest path."""

from __future__ import annotations

from pathlib import Path

from files.watching import scanned_path as module
from files.watching.scanned_path import watched_directories


def test_a_directory_is_watched_itself(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").touch()
    (tmp_path / "directory").mkdir()

    assert watched_directories(tmp_path).keys() == {tmp_path}


def test_a_single_file_is_watched_through_its_directory(tmp_path: Path) -> None:
    # Rename-over leaves a watch on the file itself with an inode that nobody writes to (rule F18).
    (tmp_path / "web.yaml").touch()

    assert watched_directories(tmp_path / "web.yaml").keys() == {tmp_path}


def test_the_directory_of_a_links_target_is_watched_too(tmp_path: Path) -> None:
    manifests, elsewhere = tmp_path / "manifests", tmp_path / "elsewhere"
    manifests.mkdir()
    elsewhere.mkdir()
    (elsewhere / "web.yaml").touch()
    (manifests / "web.yaml").symlink_to(elsewhere / "web.yaml")

    assert watched_directories(manifests).keys() == {manifests, elsewhere}


def test_every_link_on_the_way_to_a_file_is_watched(tmp_path: Path) -> None:
    # manifests/web.yaml -> ../hop/web.yaml -> /end/web.yaml
    manifests, hop, end = tmp_path / "manifests", tmp_path / "hop", tmp_path / "end"
    manifests.mkdir()
    hop.mkdir()
    end.mkdir()
    (end / "web.yaml").touch()
    (hop / "web.yaml").symlink_to(end / "web.yaml")
    (manifests / "web.yaml").symlink_to("../hop/web.yaml")

    assert watched_directories(manifests).keys() == {manifests, hop, end}


def test_a_mounted_config_map_is_watched_where_its_data_is_swapped(tmp_path: Path) -> None:
    (tmp_path / "..2030").mkdir()
    (tmp_path / "..2030" / "web.yaml").touch()
    (tmp_path / "..data").symlink_to("..2030")
    (tmp_path / "web.yaml").symlink_to("..data/web.yaml")

    assert watched_directories(tmp_path).keys() == {tmp_path, tmp_path / "..2030"}


def test_a_directory_behind_a_link_is_watched_together_with_the_link(tmp_path: Path) -> None:
    real, links = tmp_path / "real", tmp_path / "links"
    real.mkdir()
    links.mkdir()
    (links / "manifests").symlink_to(real)

    assert watched_directories(links / "manifests").keys() == {links, real}


def test_the_place_where_a_dangling_links_target_would_be_is_watched(tmp_path: Path) -> None:
    manifests, elsewhere = tmp_path / "manifests", tmp_path / "elsewhere"
    manifests.mkdir()
    elsewhere.mkdir()
    (manifests / "web.yaml").symlink_to(elsewhere / "deep" / "web.yaml")

    assert watched_directories(manifests).keys() == {manifests, elsewhere}


def test_a_missing_path_is_watched_for_in_the_nearest_directory_that_exists(tmp_path: Path) -> None:
    assert watched_directories(tmp_path / "etc" / "manifests").keys() == {tmp_path}


def test_a_path_below_a_file_is_watched_for_in_the_files_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert watched_directories(tmp_path / "file" / "manifests").keys() == {tmp_path}


def test_links_of_ignored_names_are_not_followed(tmp_path: Path) -> None:
    manifests, elsewhere = tmp_path / "manifests", tmp_path / "elsewhere"
    manifests.mkdir()
    elsewhere.mkdir()
    (manifests / "web.yaml~").symlink_to(elsewhere / "web.yaml")

    assert watched_directories(manifests).keys() == {manifests}


def test_a_link_to_itself_ends_the_search(tmp_path: Path) -> None:
    (tmp_path / "manifests").symlink_to("manifests")

    assert watched_directories(tmp_path / "manifests").keys() == {tmp_path}


def test_a_directory_replaced_under_the_same_path_has_to_be_watched_anew(tmp_path: Path) -> None:
    manifests, other = tmp_path / "manifests", tmp_path / "other"
    manifests.mkdir()
    other.mkdir()
    before = watched_directories(manifests)

    manifests.rmdir()
    other.rename(manifests)

    assert watched_directories(manifests) != before
    assert watched_directories(manifests) == watched_directories(manifests)


def test_a_directory_that_goes_meanwhile_is_not_watched(tmp_path: Path) -> None:
    assert module._identity(tmp_path / "gone") is None


def test_a_relative_path_is_watched_like_the_absolute_one() -> None:
    assert watched_directories(Path()) == watched_directories(Path.cwd())

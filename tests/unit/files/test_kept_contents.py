"""The last good contents on disk: what the next process finds, and what goes wrong."""

from __future__ import annotations

import resource
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from files.kept_contents import (
    COUNT_LIMIT,
    PAGE_LIMIT,
    PAGES,
    KeptContents,
    Page,
    decoded_page,
    encoded_page,
    fitting,
    page_of,
)
from files.looking.steps import result_of
from files.records import UNUSABLE
from tests.support.files.power import Power

MANIFESTS = Path("/manifests")
CONTENTS = {"web.yaml": b"kind: Pod", "db.yaml": b"kind: Pod # db"}


PAGE = Page(path="/manifests", contents={"web.yaml": b"kind: Pod", "\udcff": b"\xff\xfe"})


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "last-good"


def kept(
    directory: Path, contents: Mapping[str, bytes] = CONTENTS, path: Path = MANIFESTS
) -> KeptContents:
    """Return the contents of a process that has kept ``contents``."""
    process = KeptContents(directory, path)
    result_of(process.reading())
    result_of(process.writing(contents))
    return process


def found(directory: Path, path: Path = MANIFESTS) -> Mapping[str, bytes]:
    """Return what the next process finds."""
    return result_of(KeptContents(directory, path).reading())


def page_file(directory: Path, name: str = "web.yaml") -> Path:
    return directory / f"{page_of(name):02x}.page"


def test_the_next_process_finds_what_was_kept(directory: Path) -> None:
    kept(directory)
    assert found(directory) == CONTENTS


def test_a_first_process_finds_nothing_and_makes_nothing(directory: Path) -> None:
    assert found(directory) == {}
    assert not directory.exists()


def test_a_newer_content_takes_the_place_of_an_older_one(directory: Path) -> None:
    process = kept(directory)
    result_of(process.writing({**CONTENTS, "web.yaml": b"new"}))
    assert found(directory) == {**CONTENTS, "web.yaml": b"new"}


def test_what_was_kept_survives_when_the_power_goes(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    power = Power(monkeypatch)
    process = kept(directory)
    result_of(process.writing({**CONTENTS, "web.yaml": b"new"}))
    power.goes(directory)
    assert found(directory) == {**CONTENTS, "web.yaml": b"new"}


def test_a_file_that_is_gone_is_not_kept(directory: Path) -> None:
    process = kept(directory)
    result_of(process.writing({"db.yaml": CONTENTS["db.yaml"]}))
    assert found(directory) == {"db.yaml": CONTENTS["db.yaml"]}
    assert not page_file(directory).exists()


def test_what_did_not_change_is_not_written_again(directory: Path) -> None:
    process = kept(directory)
    before = page_file(directory).stat().st_ino
    result_of(process.writing(dict(CONTENTS)))
    assert page_file(directory).stat().st_ino == before


def test_only_the_user_of_the_agent_can_read_it(directory: Path) -> None:
    directory.mkdir(mode=0o755)
    kept(directory)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(page.stat().st_mode) for page in directory.iterdir()} == {0o600}


def test_what_was_kept_for_another_path_is_not_found_and_removed(directory: Path) -> None:
    kept(directory)
    assert found(directory, Path("/other")) == {}
    assert [*directory.iterdir()] == []


@pytest.mark.parametrize(
    "data", [b"", b"kind: Pod", encoded_page(Page(path="x", contents={}))[:-1]]
)
def test_an_unusable_page_is_set_aside_said_once_and_done_without(
    directory: Path, data: bytes
) -> None:
    kept(directory)
    page_file(directory).write_bytes(data)

    with capture_logs() as logs:
        assert found(directory) == {"db.yaml": CONTENTS["db.yaml"]}
        assert page_file(directory).with_suffix(UNUSABLE).read_bytes() == data
        assert found(directory) == {"db.yaml": CONTENTS["db.yaml"]}

    assert [line["event"] for line in logs] == ["last good manifests are set aside"]


def test_what_was_set_aside_or_half_written_is_gone_after_the_next_start(directory: Path) -> None:
    """Whatever becomes of its page: it may hold a password."""
    kept(directory)
    page_file(directory).write_bytes(b"torn")
    found(directory)
    unused = next(number for number in range(256) if number not in {*map(page_of, CONTENTS)})
    (directory / f"{unused:02x}.new").write_bytes(b"half a pa")
    page_file(directory, "db.yaml").with_suffix(".new").write_bytes(b"half a pa")
    (directory / "notes.txt").write_text("somebody else's")

    assert found(directory) == {"db.yaml": CONTENTS["db.yaml"]}
    page = page_file(directory, "db.yaml")
    assert {*directory.iterdir()} == {page, directory / "notes.txt"}


def test_a_directory_that_cannot_be_written_is_said_once_until_it_can(directory: Path) -> None:
    directory.write_text("in the way")
    process = KeptContents(directory, MANIFESTS)

    with capture_logs() as logs:
        result_of(process.writing(CONTENTS))
        result_of(process.writing(CONTENTS))
        assert process.is_behind
        directory.unlink()
        result_of(process.writing(CONTENTS))

    assert [(line["log_level"], line["event"]) for line in logs] == [
        ("warning", "last good manifests are not kept for a restart"),
        ("info", "last good manifests are kept again"),
    ]
    assert not process.is_behind
    assert found(directory) == CONTENTS


def test_a_disk_that_is_full_leaves_the_page_as_it_was(directory: Path) -> None:
    process = kept(directory)
    with files_of_at_most(100):
        result_of(process.writing({**CONTENTS, "web.yaml": bytes(1000)}))

    assert process.is_behind
    assert found(directory) == CONTENTS
    assert {file.suffix for file in directory.iterdir()} == {".page"}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Have every write behind this many bytes of a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_content_that_is_too_large_is_left_out_and_said_once(directory: Path) -> None:
    large = {**CONTENTS, "web.yaml": bytes(PAGE_LIMIT + 1)}
    with capture_logs() as logs:
        process = kept(directory, large)
        result_of(process.writing(large))
    assert len(logs) == 1
    assert found(directory) == {"db.yaml": CONTENTS["db.yaml"]}


def test_each_page_is_a_step_of_its_own(directory: Path) -> None:
    process = KeptContents(directory, MANIFESTS)
    many = {f"{number}.yaml": b"kind: Pod" for number in range(1000)}
    pages = len({*map(page_of, many)})
    assert len([*process.writing(many)]) >= pages


# --- pages --------------------------------------------------------------------------------------------------


@given(st.binary(max_size=200))
def test_every_content_comes_back_as_it_was(data: bytes) -> None:
    page = Page(path="/manifests", contents={"web.yaml": data})
    assert decoded_page(encoded_page(page)) == page


def test_names_and_contents_that_are_not_utf_8_come_back() -> None:
    assert decoded_page(encoded_page(PAGE)) == PAGE


def test_no_repr_shows_what_is_on_a_page() -> None:
    assert "Pod" not in repr(PAGE)


def test_a_name_leads_to_the_same_page_in_every_process() -> None:
    assert page_of("web.yaml") == 14
    assert {page_of(f"{number}.yaml") for number in range(10_000)} == {*range(PAGES)}


def test_a_page_has_no_more_than_fits() -> None:
    large, small = bytes(PAGE_LIMIT - 10), b"kind: Pod"
    assert [*fitting({"a": large, "b": bytes(11), "c": small})] == ["a", "c"]
    assert len(fitting({f"{number}": b"" for number in range(COUNT_LIMIT + 1)})) == COUNT_LIMIT

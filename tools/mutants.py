"""Tries whether the tests notice bugs: ``make mutants``.

``tests/mutants.toml`` lists changes of a line or two, each a bug that a user would meet. Each is made in a
copy of the checkout, and the tests that should notice it are run until one fails. What survives is told, and
so are an entry whose line is not in its file any more, and tests that hang: exit code 1. So are tests that
fail before anything is changed: what they notice is not the bug.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final

import click

ROOT: Final = Path(__file__).parents[1]
LIST: Final = ROOT / "tests" / "mutants.toml"
WITHIN: Final = 900
"""Seconds that the tests of one mutant may take. One that hangs has not said what is wrong."""
PREFIX: Final = "actorlet-mutants-"
"""Of the names of folders with copies of the checkout, among the temporary ones of the machine."""
SURVIVED, NO_TEST_RAN = 0, (2, 3, 4, 5)
"""Exit codes of pytest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One bug that the tests have to notice."""

    id: str
    """The rule that it breaks, or a short name."""
    says: str
    """The promise that it breaks, as a sentence about the product as it is."""
    file: str
    old: str
    """Stands in the file exactly once."""
    new: str
    tests: tuple[str, ...]
    """What notices it: files, each the lowest level at which a user would."""

    def apply(self, checkout: Path) -> str:
        """Make the change in a checkout. Return the file's text before. Raise ValueError if it is stale."""
        path = checkout / self.file
        text = path.read_text("utf-8") if path.is_file() else ""
        if text.count(self.old) != 1:
            raise ValueError(f"its line stands in {self.file} {text.count(self.old)} times")
        path.write_text(text.replace(self.old, self.new), "utf-8")
        return text


def read_mutants(text: str) -> list[Mutant]:
    """Return the entries of such a list. Raise TypeError for one that lacks a field or has another."""
    entries = tomllib.loads(text).get("mutant", [])
    return [Mutant(**{**each, "tests": tuple(each["tests"])}) for each in entries]


def verdict_on(mutant: Mutant, checkout: Path) -> str:
    """Try one mutant in a checkout, which is left as it was. Return what is wrong, or nothing."""
    try:
        before = mutant.apply(checkout)
    except ValueError as stale:
        return f"STALE: {stale}"
    try:
        return verdict_of_tests(mutant.tests, checkout)
    finally:
        (checkout / mutant.file).write_text(before, "utf-8")


def verdict_of_tests(tests: Sequence[str], checkout: Path, within: float = WITHIN) -> str:
    """Run tests in a checkout until one fails, for so many seconds. Return nothing if one does."""
    ended = _run_tests(tests, checkout, within, processes=0)
    if ended is None:
        return f"HUNG: its tests take more than {within:.0f} s"
    if ended.returncode in NO_TEST_RAN:
        return f"NO TEST RAN: {ended.stdout[-500:]}{ended.stderr[-500:]}"
    return "SURVIVED" if ended.returncode == SURVIVED else ""


def failing(mutants: Sequence[Mutant], processes: int) -> str:
    """Run the tests of all mutants while nothing is changed. Return what fails; nothing if all is well."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    if not tests:
        return ""
    with folder_for_copies() as folder:
        ended = _run_tests(tests, copied(folder / "0"), WITHIN, processes)
    if ended is None:
        return f"they take more than {WITHIN} s"
    return "" if ended.returncode == SURVIVED else f"{ended.stdout[-2000:]}{ended.stderr[-500:]}"


def _run_tests(
    tests: Sequence[str], checkout: Path, within: float, processes: int
) -> subprocess.CompletedProcess[str] | None:
    """Run tests in a checkout until one fails. Return what they say; None if they have not ended in time."""
    words = [sys.executable, "-m", "pytest", "-x", "-q", f"-n{processes}"]
    words += ["-p", "no:cacheprovider", *tests]
    settings = {**os.environ, "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(  # noqa: S603 - the tests of this checkout
            words,
            cwd=checkout,
            env=settings,
            capture_output=True,
            timeout=within,
            check=False,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return None


def tried(mutants: Sequence[Mutant], processes: int) -> Iterator[tuple[Mutant, str]]:
    """Try mutants, so many side by side, each in a copy of the checkout. Yield the verdicts in order."""
    with folder_for_copies() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(processes):
            copies.put(copied(folder / str(number)))

        def verdict(mutant: Mutant) -> str:
            checkout = copies.get()
            try:
                return verdict_on(mutant, checkout)
            finally:
                copies.put(checkout)

        with ThreadPoolExecutor(processes) as pool:
            yield from zip(mutants, pool.map(verdict, mutants), strict=True)


@contextmanager
def folder_for_copies() -> Iterator[Path]:
    """Make a folder for the ``with`` block, and remove those of processes that were killed in theirs."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError), _held(left):  # else it is in use, or of another user
            shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as made, _held(Path(made)):
        yield Path(made)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock a folder for the ``with`` block. Raise OSError if somebody has. A lock ends with its process."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


def copied(target: Path) -> Path:
    """Copy what git knows of the checkout, and what is new there, to ``target``, and return that."""
    for name in _git("ls-files", "--cached", "--others", "--exclude-standard"):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def _git(what: str, *words: str) -> list[str]:
    """Return the names of files that git tells."""
    command = ("git", what, "-z", *words)
    found = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout  # noqa: S603
    return [each for each in found.split("\0") if each]


@click.command()
@click.option(
    "--since", metavar="REVISION", help="Only those whose file, or a test of it, changed."
)
@click.argument("files", nargs=-1)
def main(since: str | None, files: tuple[str, ...]) -> None:
    """Try all mutants, or those of FILES, which may also be their ids."""
    chosen = {*files} | (set(_git("diff", "--name-only", since)) if since is not None else set())
    mutants = [
        each
        for each in read_mutants(LIST.read_text("utf-8"))
        if not (chosen or since) or chosen & {each.id, each.file, *each.tests}
    ]
    bad, processes = 0, os.cpu_count() or 1
    if fails := failing(mutants, processes):
        raise click.ClickException(f"the tests fail while nothing is changed: {fails}")
    for mutant, verdict in tried(mutants, processes):
        bad += bool(verdict)
        click.echo(f"{mutant.id:8} {verdict or 'noticed'}: {mutant.says} ({mutant.file})")
    click.echo(f"{len(mutants) - bad} noticed, {bad} not")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

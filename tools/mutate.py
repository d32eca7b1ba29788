"""Shows which small changes of one pure module no test notices: ``make mutate FILE=manifests/qos.py``.

A microscope for whoever writes the module, no gate: half of what it shows changes nothing that anybody could
notice. mutmut makes the changes, in a copy of the checkout. The tests are those that import the module, or
those that are named. A hole that a user would meet becomes a case of a test, and an entry of
``tests/mutants.toml``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from tools.mutants import ROOT, copied, folder_for_copies
from tools.purity import Modules

LOOKED_AT: Final = ("tests/unit", "tests/properties", "tests/scenarios")
OPTIONS: Final = (
    "-p no:cacheprovider -p no:xdist -o addopts= --import-mode=importlib --hypothesis-profile=ci"
)
SURVIVED: Final = re.compile(r"^\s*(\S+): survived$", re.MULTILINE)


def refused(file: str, checkout: Path) -> str:
    """Return why a file cannot be looked at, or nothing."""
    if not (checkout / file).is_file():
        return f"{file}: there is no such file"
    reason = Modules(checkout).reasons.get(file)
    return f"{file} does more than decide: {reason}" if reason else ""


def importing_tests(file: str, checkout: Path) -> list[str]:
    """Return the files of tests that import the module."""
    module = re.escape(file.removesuffix(".py").replace("/", "."))
    package, _, name = module.rpartition(r"\.")
    imports = re.compile(
        rf"^(?:from|import) {module}\b|^from {package} import [^\n]*\b{name}\b", re.MULTILINE
    )
    paths = (path for folder in LOOKED_AT for path in (checkout / folder).rglob("test_*.py"))
    return sorted(
        str(path.relative_to(checkout)) for path in paths if imports.search(path.read_text("utf-8"))
    )


def table(file: str, tests: Sequence[str], checkout: Path) -> str:
    """Return mutmut's table of ``pyproject.toml``: only this file changes, and everything is copied."""
    room = file.partition("/")[0]
    others = sorted(path.name for path in checkout.iterdir() if path.name != room)
    values = {
        "source_paths": [room],
        "only_mutate": [file],
        "also_copy": others,
        "pytest_add_cli_args": OPTIONS.split(),
        "pytest_add_cli_args_test_selection": list(tests),
        "use_git_change_detection": False,
    }
    lines = (f"{name} = {json.dumps(value)}" for name, value in values.items())
    return "\n".join(("", "[tool.mutmut]", *lines, ""))


def survivors(file: str, tests: Sequence[str]) -> Iterator[str]:
    """Yield each change that no test notices, as a diff. Raise RuntimeError where the tests do not pass."""
    with folder_for_copies() as folder:
        checkout = copied(folder / "copy")
        with (checkout / "pyproject.toml").open("a", encoding="utf-8") as project:
            project.write(table(file, tests, checkout))
        said = _mutmut(checkout, "run")
        for name in SURVIVED.findall(_mutmut(checkout, "results")):
            yield _mutmut(checkout, "show", name)
        click.echo(said.rpartition("\r")[2].strip().rpartition("\n")[2], err=True)


def _mutmut(checkout: Path, *words: str) -> str:
    command = (sys.executable, "-m", "mutmut", *words)
    ended = subprocess.run(  # noqa: S603 - in a copy of this checkout
        command, cwd=checkout, capture_output=True, check=False, text=True
    )
    if ended.returncode:
        raise RuntimeError(f"mutmut {words[0]}: {ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    return ended.stdout


@click.command(help=__doc__)
@click.argument("file")
@click.argument("tests", nargs=-1)
def main(file: str, tests: tuple[str, ...]) -> None:
    """Print the diffs of what survives in FILE."""
    if why := refused(file, ROOT):
        raise click.ClickException(why)
    chosen = tests or importing_tests(file, ROOT)
    if not chosen:
        raise click.ClickException(f"no test imports {file}: name some with ARGS")
    click.echo(f"{file} by {', '.join(chosen)}", err=True)
    try:
        found = list(survivors(file, chosen))
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    click.echo("\n".join([*found, f"{len(found)} changes that no test notices"]))


if __name__ == "__main__":
    main()

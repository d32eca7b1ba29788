"""The documents name files, headings and flags that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from command.main import SUBCOMMANDS, actorlet
from settings.table import FIELDS, ROWS
from settings.without_effect import SWITCHES, VALUED
from tests.support.project.checkout import ROOT

PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/reference/*.md"),
        *ROOT.joinpath("examples").rglob("README.md"),
    ]
)
OF_RUN = {name for row in ROWS.values() for name in row.flags}
OUR_FLAGS = OF_RUN | {"--help", "--version"}
COMMANDS = [
    actorlet,
    *(import_module(f"command.subcommands.{each}").command for each in SUBCOMMANDS.values()),
]
OUR_FLAGS |= {
    name
    for each in COMMANDS
    for option in each.params
    for name in (*option.opts, *option.secondary_opts)
}
FLAGS_OF_OTHERS = {
    "curl": "--unix-socket",
    "kubectl": "--certificate-authority --cluster --duration --embed-certs --flatten --force"
    " --grace-period --insecure-skip-tls-verify-backend --kubeconfig --minify --raw --server --token --user",
    "kube-apiserver": "--kubelet-certificate-authority --kubelet-client-certificate"
    " --kubelet-preferred-address-types",
    "podman-system-generator": "--dryrun",
    "prometheus": "--agent",
    "rsync": "--chmod --delay-updates --delete-after",
    "systemctl": "--full --now",
    "benchmarks": "--only",
    "nobody: it is misspelt": "--pod-manifest-dir",
    "make simulate": "--seconds --from --jobs",
    "make night": "--minutes --rounds",
}
KNOWN_FLAGS = (OUR_FLAGS | SWITCHES | VALUED).union(
    *(flags.split() for flags in FLAGS_OF_OTHERS.values())
)

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def prose(page: Path) -> str:
    """Return the page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def quoted(text: str) -> list[str]:
    """Return what stands in backticks."""
    return re.findall(r"`([^`\n]+)`", text)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def exists(place: Path) -> bool:
    """Return whether a file, a folder, or a module without its suffix is there."""
    return place.exists() or place.with_name(f"{place.name}.py").exists()


def paths(text: str) -> Iterator[Path]:
    """Yield what stands in backticks and is a path or a module, if it begins with a folder of ours.

    What is below ``.venv`` is made, and may not be there yet.
    """
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - {".venv"}
    for name in quoted(text):
        is_module = re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", name) and name.split(".")[0] in folders
        is_path = re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", name) and name.split("/")[0] in folders
        if is_path or re.fullmatch(r"[\w./-]+\.(md|py|toml|txt)", name):
            yield ROOT / name
        elif is_module:
            yield ROOT / name.replace(".", "/")


@each_page
def test_paths_and_modules_are_there(page: Path) -> None:
    assert [str(path) for path in paths(prose(page)) if not exists(path)] == []


@each_page
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    wrong = []
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", prose(page)):
        linked = (page.parent / target).resolve() if target else page
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            wrong.append(f"{target}#{anchor}")
    assert wrong == []


@each_page
def test_flags_are_ours_or_those_of_a_named_program(page: Path) -> None:
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", page.read_text()))
    assert flags - KNOWN_FLAGS == set()


def test_the_table_of_rooms_names_what_is_in_each() -> None:
    rows = re.findall(
        r"^\| `(\w+(?:/\w+)?)` \| (.+)$", prose(ROOT / "docs/architecture.md"), re.MULTILINE
    )
    # Classes begin with a capital letter; a place in another room has a slash.
    modules = [
        ROOT / r / name
        for r, row in rows
        for name in quoted(row)
        if name.isidentifier() and name.islower()
    ]
    assert len(rows) >= 10
    assert [str(path) for path in modules if not exists(path)] == []


def test_every_flag_and_every_field_has_its_row_in_the_reference() -> None:
    flags = (ROOT / "docs" / "reference" / "flags.md").read_text()
    fields = (ROOT / "docs" / "reference" / "fields.md").read_text()
    assert (OF_RUN | SWITCHES | VALUED) - set(quoted(flags)) == set()
    assert FIELDS.keys() - {"apiVersion", "kind"} - set(quoted(fields)) == set()


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    assert [page.name for page in ROOT.glob("docs/*.md") if f"({page.name})" not in index] == [
        "README.md"
    ]

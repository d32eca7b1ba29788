"""Which pages the site of the documents has beside those in `docs`, and where links lead in it.

A page in `docs` links files beside that folder, such as `../examples/README.md`, as a code host shows them.
The site has the linked files too, below `repository/`: Markdown as it is, any other text and each folder as a
page of its own. So a link is written once, and leads somewhere in both places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

DOCS = PurePosixPath("docs")
BROUGHT_IN = PurePosixPath("repository")
LINK = re.compile(r"(\]\()(?![a-z][a-z0-9+.-]*:|[/#<])([^)\s#]+)((?:#[^)\s]*)?\))")
CODE = re.compile(r"(`+)(?:(?!\1).)+\1")
LANGUAGES = {".yaml": "yaml", ".py": "python", ".service": "ini", ".conflist": "json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePage:
    """One page of the site: where it is in the site, and its Markdown."""

    place: str
    text: str


def place_in_site(root: Path, path: PurePosixPath) -> PurePosixPath | None:
    """Return where the site has ``path`` of the checkout ``root``; None if there is no such thing."""
    if path.parts[:1] == ("..",) or not (root / path).exists():
        return None
    return file_in_site(inside(root, path))


def file_in_site(path: PurePosixPath) -> PurePosixPath:
    """Return where the site has the file ``path`` of a checkout."""
    if DOCS in path.parents:
        return path.relative_to(DOCS)
    return BROUGHT_IN / (path if path.suffix == ".md" else f"{path}.md")


def linked(path: PurePosixPath, text: str) -> list[PurePosixPath]:
    """Return the paths of the checkout that the Markdown ``text`` of the file ``path`` links."""
    return [
        PurePosixPath(normpath(path.parent / found[2]))
        for line in prose_lines(text)
        for found in LINK.finditer(CODE.sub("", line))
    ]


def with_site_links(root: Path, path: PurePosixPath, text: str) -> str:
    """Return the Markdown ``text`` of the file ``path`` with links that lead to the same things in the site.

    What leads to nothing stays as it is: the build refuses it then.
    """
    here = file_in_site(path)

    def moved(found: re.Match[str]) -> str:
        there = place_in_site(root, PurePosixPath(normpath(path.parent / found[2])))
        return found[0] if there is None else found[1] + relpath(there, here.parent) + found[3]

    lines = text.split("\n")
    prose = set(prose_numbers(lines))
    return "\n".join(
        LINK.sub(moved, line) if number in prose else line for number, line in enumerate(lines)
    )


def pages_beside_docs(root: Path) -> tuple[SitePage, ...]:
    """Return a page for each file and folder that a page in ``docs`` links, or that such a page links."""
    waiting = [PurePosixPath(page.relative_to(root)) for page in (root / DOCS).rglob("*.md")]
    seen = set(waiting)
    pages = []
    while waiting:
        file = waiting.pop()
        text = source(root, file)
        if DOCS not in file.parents:
            moved = with_site_links(root, file, text)
            pages.append(SitePage(place=str(file_in_site(file)), text=moved))
        for target in linked(file, text):
            beside = inside(root, target)
            if DOCS not in beside.parents and beside not in seen and place_in_site(root, target):
                seen.add(beside)
                waiting.append(beside)
    return tuple(sorted(pages, key=lambda page: page.place))


def inside(root: Path, path: PurePosixPath) -> PurePosixPath:
    """Return the file that stands for ``path``: of a folder, the page in it, whether there is one or not."""
    return path / "README.md" if (root / path).is_dir() else path


def source(root: Path, file: PurePosixPath) -> str:
    """Return the Markdown of what is at ``file``: a page, a text in a block, or a list of its folder."""
    found = root / file
    if not found.exists():
        return folder_page(root, file.parent)
    text = found.read_text()
    if file.suffix == ".md":
        return text
    return (
        f"# {file.name}\n\n`{file}`:\n\n"
        f"```{LANGUAGES.get(file.suffix, 'text')}\n{text.rstrip()}\n```\n"
    )


def folder_page(root: Path, path: PurePosixPath) -> str:
    """Return a page that links each file of the folder ``path``."""
    names = sorted(each.name for each in (root / path).iterdir() if each.is_file())
    rows = "".join(f"- [{name}]({name})\n" for name in names)
    return f"# {path}\n\n{rows}"


def prose_lines(text: str) -> list[str]:
    """Return the lines of the Markdown ``text`` that are in no block of code."""
    lines = text.split("\n")
    return [lines[number] for number in prose_numbers(lines)]


def prose_numbers(lines: list[str]) -> list[int]:
    """Return the numbers of the ``lines`` that are in no block of code."""
    numbers = []
    fence = ""
    for number, line in enumerate(lines):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        else:
            numbers.append(number)
    return numbers

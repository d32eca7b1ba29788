"""The documents as a site: what is in it, where links lead, and that nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.support.project.checkout import ROOT
from tools.site.addresses import in_page, in_site, in_styles
from tools.site.pages import pages_beside_docs, prose_numbers, with_site_links

DOCS = sorted(ROOT.joinpath("docs").rglob("*.md"))
PICTURES = sorted(ROOT.joinpath("docs/pictures").iterdir())
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with a page that links an example, which links others."""
    (tmp_path / "docs/pictures").mkdir(parents=True)
    (tmp_path / "docs/guide.md").write_text(
        "See [the example](../examples/pod/README.md), also as [a folder](../examples/pod).\n"
    )
    (tmp_path / "examples/pod/files").mkdir(parents=True)
    (tmp_path / "examples/pod/README.md").write_text(
        "[pod](pod.yaml), [files](files), [back](../../docs/guide.md#see)\n"
    )
    (tmp_path / "examples/pod/pod.yaml").write_text("kind: Pod\n")
    (tmp_path / "examples/pod/files/a.txt").write_text("a\n")
    (tmp_path / "examples/pod/alone.yaml").write_text("nobody links it\n")
    return tmp_path


def in_the_guide(checkout: Path, text: str) -> str:
    """Return ``text`` as the site has it if it stands in the guide."""
    return with_site_links(checkout, PurePosixPath("docs/guide.md"), text)


def test_what_a_page_links_is_in_the_site_and_what_that_links_too(checkout: Path) -> None:
    pages = {page.place: page.text for page in pages_beside_docs(checkout)}
    assert list(pages) == [
        "repository/examples/pod/README.md",
        "repository/examples/pod/files/README.md",
        "repository/examples/pod/files/a.txt.md",
        "repository/examples/pod/pod.yaml.md",
    ]
    assert pages["repository/examples/pod/README.md"] == (
        "[pod](pod.yaml.md), [files](files/README.md), [back](../../../guide.md#see)\n"
    )
    assert "[a.txt](a.txt.md)" in pages["repository/examples/pod/files/README.md"]
    assert "```yaml\nkind: Pod\n```" in pages["repository/examples/pod/pod.yaml.md"]


@pytest.mark.parametrize(
    ("written", "in_site"),
    [
        ("[x](../examples/pod/README.md#a)", "[x](repository/examples/pod/README.md#a)"),
        ("[x](../examples/pod/pod.yaml)", "[x](repository/examples/pod/pod.yaml.md)"),
        ("[x](../examples/pod/files/)", "[x](repository/examples/pod/files/README.md)"),
        ("[x](guide.md#a)", "[x](guide.md#a)"),
        ("[x](#a)", "[x](#a)"),
        ("[x](https://host/../examples)", "[x](https://host/../examples)"),
        ("[x](/examples/pod/pod.yaml)", "[x](/examples/pod/pod.yaml)"),
        ("[x](../missing.md)", "[x](../missing.md)"),
        ("[x](../../../../../etc/hostname)", "[x](../../../../../etc/hostname)"),
        (
            "```\n[x](../examples/pod/pod.yaml)\n```",
            "```\n[x](../examples/pod/pod.yaml)\n```",
        ),
    ],
)
def test_a_link_leads_to_the_same_thing_in_the_site(
    checkout: Path, written: str, in_site: str
) -> None:
    assert in_the_guide(checkout, written) == in_site


def test_whatever_is_loaded_from_another_host_is_found() -> None:
    page = """
        <script src="https://a/x.js"></script><img src=//b/x.png srcset="x.png 1x, http://c/x.png 2x">
        <link rel="stylesheet" href="HTTPS://d/x.css"><p style="background: url(//e/x.png)">
        <style>@import "http://f/x.css"; p {background: url('x.png')}</style>
        <link rel="canonical" href="https://its.own.name/"><a href="https://reader.decides/">x</a>
        <img src="x.png"><img src="data:image/png;base64,//8=">
    """
    assert [address.split("/")[2] for address in in_page(page)] == list("abcdef")
    assert in_styles("@font-face {src: url(https://g/x.woff2)} p {color: red}") == [
        "https://g/x.woff2"
    ]


def test_a_site_that_loads_from_another_host_is_named_with_its_page(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/index.html").write_text('<script src="https://cdn/x.js"></script>')
    (tmp_path / "x.css").write_text("p {background: url(//cdn/x.png)}")
    (tmp_path / "x.js").write_text("// https://of.no.interest")
    assert in_site(tmp_path) == [
        "a/index.html loads https://cdn/x.js",
        "x.css loads //cdn/x.png",
    ]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_described_follows_the_colours_of_the_system_and_is_on_a_page(
    picture: Path,
) -> None:
    text = picture.read_text()
    drawing = ET.fromstring(text)
    assert all(drawing.findtext(f"{SVG}{name}") for name in ("title", "desc"))
    assert "prefers-color-scheme: dark" in text
    assert "<script" not in text
    shown = re.compile(rf"!\[.+\]\(pictures/{picture.name}\)")
    assert any(shown.search(page.read_text()) for page in DOCS)


def places(entry: Any) -> list[str]:
    """Return the pages that an entry of the navigation names."""
    if isinstance(entry, str):
        return [entry]
    return [
        place
        for each in (entry if isinstance(entry, list) else entry.values())
        for place in places(each)
    ]


def test_the_navigation_names_each_page_once_and_no_other() -> None:
    # The rest of the file has a tag that only mkdocs reads.
    _, _, navigation = ROOT.joinpath("mkdocs.yml").read_text().partition("\nnav:\n")
    named = places(yaml.safe_load(navigation))
    brought_in = {page.place for page in pages_beside_docs(ROOT)}
    assert sorted(each for each in named if each not in brought_in) == [
        str(page.relative_to(ROOT / "docs")) for page in DOCS
    ]


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_lists_and_tables_begin_after_an_empty_line_as_every_markdown_asks(page: Path) -> None:
    lines = page.read_text().split("\n")
    joined = []
    for number in prose_numbers(lines):
        row = re.match(r"(\||(?:[-*+]|\d+\.) )", lines[number])
        before = lines[number - 1] if number else ""
        # Behind an entry of a list stands the next one, or an indented line of its own.
        if row and before.strip() and not re.match(r"\||[-*+] |\d+\. |\s", before):
            joined.append(f"{number + 1}: {lines[number]}")
    assert joined == []

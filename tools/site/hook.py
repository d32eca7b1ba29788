"""The hook of mkdocs, which calls these functions by their names: see mkdocs.yml."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from tools.site.addresses import in_site
from tools.site.pages import DOCS, pages_beside_docs, with_site_links

ROOT = Path(__file__).resolve().parents[2]


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages that are not in `docs`."""
    file = import_module("mkdocs.structure.files").File
    for page in pages_beside_docs(ROOT):
        files.append(file.generated(config, page.place, content=page.text))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Let the links of a page in `docs` lead to the same things in the site."""
    if page.file.generated_by:
        return markdown
    return with_site_links(ROOT, DOCS / PurePosixPath(page.file.src_uri), markdown)


def on_post_page(output: str, **_: Any) -> str:
    """Give the search a name for screen readers, which the theme does not."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)


def on_post_build(*, config: Any) -> None:
    """Refuse a site of which something is on another host."""
    if found := in_site(Path(config.site_dir)):
        raise import_module("mkdocs.exceptions").PluginError("\n".join(found))

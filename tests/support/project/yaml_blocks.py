"""What a reader gives to kubectl or to the agent: YAML of the pages, and the files of the examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FENCED: Final = re.compile(r"^```yaml\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
TYPED: Final = re.compile(r"^.*\.ya?ml <<'?(\w+)'?\n(.*?)^\1$", flags=re.DOTALL | re.MULTILINE)
"""A file that a command of the page writes, by a here document."""


def yaml_of_page(page: Path) -> Iterator[tuple[int, str]]:
    """Yield each YAML text of a page, with the number of its first line."""
    text = page.read_text()
    found = [(each.start(1), each[1]) for each in FENCED.finditer(text)]
    found += [(each.start(2), each[2]) for each in TYPED.finditer(text)]
    for start, block in sorted(found):
        yield text.count("\n", 0, start) + 1, block

"""The page of the configuration file's fields, from its schema and from what the loader says of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from settings.agent import effective_configuration
from settings.command_line import parse
from settings.explaining import at
from settings.load import settings_of
from settings.situation import Where
from settings.table import API_VERSION, KIND, ROWS, defaults_of_fields
from settings.without_effect import TABLE
from tools.reference.flags import meaning
from tools.reference.markdown import code, codes, page, section, table

INTRODUCTION: Final = f"""\
The configuration file is a kubelet's: `{KIND}` of `{API_VERSION}`, with every field that a kubelet up to
1.36 knows. Unknown fields keep the agent from starting. [`actorlet
explain-node`](../command.md#what-of-my-kubelets-file-is-obeyed) says the same of the fields of one file.
Flags that say the same win: [flags](flags.md). How files are read and merged:
[configuration](../configuration.md).

Zero and empty ask for the default, as in a kubelet, where they do not mean something of their own. The
defaults are those of a node of a cluster with real containers; fields that have an effect elsewhere
alone show theirs."""


def fields_page() -> str:
    """Return the page."""
    return page(
        "Fields of the configuration file",
        INTRODUCTION,
        _obeyed("Obeyed on any node", Where.ANYWHERE),
        _obeyed("Obeyed on a node of a cluster", Where.CLUSTER),
        _obeyed("Obeyed where real containers run", Where.CONTAINERS),
        _obeyed("Obeyed where pods are hollow", Where.HOLLOW),
        section(
            "Without effect",
            "They are read and checked, so that a kubelet's file works unchanged. One warning names those "
            "that were set to something else than a kubelet's default.",
            table(("why", "fields"), _ignored()),
        ),
    )


def _obeyed(title: str, where: Where) -> str:
    columns = ("field", "type", "default", "flag", "what it says")
    return section(title, table(columns, _rows(where)))


def _rows(where: Where) -> Iterator[tuple[str, ...]]:
    effective = _effective()
    plain = dict(defaults_of_fields())
    for row in ROWS.values():
        if row.field and row.where is where:
            value = at(effective, row.field.split("."))
            yield (
                code(row.field),
                row.kind.words,
                code(_text(plain[row.field] if value is None else value)),
                code(row.flags[-1]) if row.flags else "",
                meaning(row),
            )


def _effective() -> dict[str, Any]:
    line = parse(["--kubeconfig=/kubeconfig", "--runtime=cri"])
    document = effective_configuration(settings_of(line, [], hostname="node"))
    return dict(document["kubeletconfig"])


def _text(value: Any) -> str:
    if value in ("", [], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _ignored() -> Iterator[tuple[str, str]]:
    for row in TABLE:
        if row.fields:
            yield row.instead or "not served", codes(sorted(each.field for each in row.fields))

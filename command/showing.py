"""Shows answers in the form that was asked for: a table for people, JSON, YAML or names for scripts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from command.wording import plain
from command.written import as_json, as_yaml

if TYPE_CHECKING:
    from command.drawing import Drawing

TABLE: Final = "table"
WIDE: Final = "wide"
JSON: Final = "json"
YAML: Final = "yaml"
NAME: Final = "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """One answer in each of its forms, made when it is asked for."""

    document: Any
    names: Callable[[], Iterable[str]]
    draw: Callable[[Drawing, bool], None]
    """Draws it for people; with what else there is if that is asked for."""


def show(answer: ShownAnswer, output: str) -> None:
    """Write ``answer`` to the standard output."""
    if output in {TABLE, WIDE}:
        from command.drawing import drawing  # noqa: PLC0415 - only tables need it

        answer.draw(drawing(), output == WIDE)
    elif output == NAME:
        show_names(answer.names())
    else:
        write = as_json if output == JSON else as_yaml
        sys.stdout.writelines(write(answer.document))


def show_names(names: Iterable[str]) -> None:
    """Write one name in each line."""
    sys.stdout.writelines(f"{plain(each)}\n" for each in names)

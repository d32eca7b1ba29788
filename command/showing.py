"""Shows one answer in the form that was asked for: a table for people, JSON, YAML or names for scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from command.wording import plain

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
        from command.drawing import drawing  # noqa: PLC0415 - rich takes 60 ms

        answer.draw(drawing(), output == WIDE)
    elif output == NAME:
        sys.stdout.writelines(f"{plain(each)}\n" for each in answer.names())
    else:
        sys.stdout.writelines(written(answer.document, output))


def written(document: Any, output: str) -> Iterator[str]:
    """Yield the text of ``document`` as JSON or YAML."""
    if output == JSON:
        yield json.dumps(document, indent=2) + "\n"
        return
    import yaml  # noqa: PLC0415 - it takes 30 ms

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    yield yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=False)

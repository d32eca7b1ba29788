"""Reads the first document of a YAML stream as Kubernetes reads it, with the line of every field.

Values are built from parser events on an explicit stack. Nothing recurses, so neither deep nesting nor an
alias bomb can do harm; both are refused as soon as they show. ``yaml_scalars`` reads the scalars. A later
duplicate of a key wins, and a merge key overrides what stands before it, as in Kubernetes' parser. Both
give a warning.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from manifests.findings import KEPT, FieldFinding, Path
from manifests.reading.document import (
    MAX_DEPTH,
    MAX_WEIGHT,
    ONLY_THE_FIRST,
    Document,
    DocumentError,
    Lines,
    Located,
    text_weight,
    too_deep,
    too_heavy,
)
from manifests.reading.yaml_scalars import Scalar, TagError, plain_scalar, tagged_scalar
from manifests.texts import one_line
from messages.sources import RejectReason

# libyaml's parser is many times faster; PyYAML is also built without it.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Quotations of Python's own parser may hold part of a password. libyaml quotes only YAML's own signs.
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")

_MERGE = "<<"
_MAP_TAGS = frozenset({None, "!", "tag:yaml.org,2002:map"})
_LIST_TAGS = frozenset({None, "!", "tag:yaml.org,2002:seq"})

_EMPTY_DOCUMENTS_SKIPPED = 100
"""How many empty documents are skipped to look for another one."""


def read_yaml(text: str, *, first_line: int = 1, most: int = MAX_WEIGHT) -> Document:
    """Return the first document of ``text``, which begins on ``first_line`` and has at most ``most`` values.

    Its warnings tell of duplicate keys, and of documents that follow. Raises ``DocumentError`` if there is no
    document, if Kubernetes' parser would refuse it, or if it is too large.
    """
    builder = _Builder(first_line, most)
    events: Any = None
    try:
        events = _Loader(text)
        builder.read(events)
        _look_behind(events, builder.warnings, first_line)
    except yaml.YAMLError as error:
        raise DocumentError(RejectReason.SYNTAX, _sentence(error)) from error
    finally:
        if events is not None:
            events.dispose()
    if builder.root is None:
        raise DocumentError(RejectReason.EMPTY, _nothing_found(builder.warnings))
    located = Located(builder.root, builder.lines, builder.first_line)
    return Document(builder.root, lambda: located, builder.warnings)


def _nothing_found(warnings: list[FieldFinding]) -> str:
    if warnings:
        return "the first document is empty, and only the first one counts"
    return "there is no document"


@dataclass(slots=True)
class _Frame:
    """A container that is being filled."""

    value: dict[str, Any] | list[Any]
    lines: dict[str | int, int]
    anchor: str | None
    weight_before: int
    key: str | None = None
    key_line: int = 0
    merging: bool = False
    merged: set[str] = field(default_factory=set)
    """Keys that came from a merge. Overriding them is the purpose of merges and gives no warning."""


class _Builder:
    """Builds the value of one document out of parser events."""

    def __init__(self, begins_on: int, most: int) -> None:
        self._begins_on = begins_on
        self._most = most
        self.root: Any = None
        self.first_line = 0
        self.lines: Lines = {}
        self.warnings: list[FieldFinding] = []
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._weight = 0
        self._has_aliases = False

    def read(self, events: Any) -> None:
        """Take in the first document of ``events``."""
        while True:
            event = events.get_event()
            match event:
                case yaml.ScalarEvent():
                    self._scalar(event)
                case yaml.MappingStartEvent():
                    self._open({}, event, _MAP_TAGS)
                case yaml.SequenceStartEvent():
                    self._open([], event, _LIST_TAGS)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._close()
                case yaml.AliasEvent():
                    self._alias(event)
                case yaml.DocumentEndEvent() | yaml.StreamEndEvent():
                    return
                case _:
                    pass  # a start of stream or document says nothing

    def _scalar(self, event: Any) -> None:
        line = event.start_mark.line + self._begins_on
        text: str = event.value
        plain = event.tag is None and event.implicit[0]
        if plain and text == _MERGE and self._wants_key():
            self._stack[-1].key, self._stack[-1].merging = _MERGE, True
            self._stack[-1].key_line = line
            return
        value: Scalar = text
        if plain:
            value = plain_scalar(text)
        elif event.tag is not None:
            try:
                value = tagged_scalar(event.tag, text)
            except TagError as error:
                raise _syntax(line, f"the value {error}") from error
        if isinstance(value, float) and not math.isfinite(value):
            raise _syntax(line, "JSON has no number for infinity or not-a-number")
        self._grow(text_weight(text))
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, text_weight(text))
        self._put(value, line)

    def _open(self, value: Any, event: Any, tags: frozenset[str | None]) -> None:
        line = event.start_mark.line + self._begins_on
        if event.tag not in tags:
            raise _syntax(line, "the value has a tag that manifests cannot use")
        if self._wants_key():
            raise _syntax(line, "a map or a list cannot be a key")
        if len(self._stack) >= MAX_DEPTH:
            raise too_deep()
        if event.anchor is not None:
            # Before it is complete, an alias to it would contain itself.
            self._anchors.pop(event.anchor, None)
        lines: dict[str | int, int] = {}
        self.lines[id(value)] = lines
        if not self._stack:
            self.first_line = line
        elif isinstance(self._stack[-1].value, list):
            self._stack[-1].key_line = line
        self._stack.append(_Frame(value, lines, event.anchor, self._weight))
        self._grow(1)

    def _close(self) -> None:
        frame = self._stack.pop()
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.value, self._weight - frame.weight_before)
        line = self._stack[-1].key_line if self._stack else self.first_line
        self._put(frame.value, line)

    def _alias(self, event: Any) -> None:
        line = event.start_mark.line + self._begins_on
        if any(frame.anchor == event.anchor for frame in self._stack):
            raise _syntax(line, "an alias stands inside of what it repeats")
        if event.anchor not in self._anchors:
            raise _syntax(line, "an alias has no anchor")
        self._has_aliases = True
        value, weight = self._anchors[event.anchor]
        if self._wants_key() and isinstance(value, (dict, list)):
            raise _syntax(line, "a map or a list cannot be a key")
        self._grow(weight)
        self._put(value, line)

    def _wants_key(self) -> bool:
        return bool(self._stack) and (
            isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None
        )

    def _grow(self, weight: int) -> None:
        self._weight += weight
        if self._weight > self._most:
            raise too_heavy(self._most, with_aliases=self._has_aliases)

    def _put(self, value: Any, line: int) -> None:
        """Add a complete value to its container: as a key, a value, or the next item."""
        if not self._stack:
            self.root = value
            self.first_line = self.first_line or line
            return
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.lines[len(frame.value)] = line
            frame.value.append(value)
        elif frame.key is None:
            frame.key, frame.key_line = _key_text(value, line), line
        elif frame.merging:
            self._merge(frame, value)
            frame.key, frame.merging = None, False
        else:
            self._set(frame, frame.key, value, frame.key_line)
            frame.merged.discard(frame.key)
            frame.key = None

    def _set(self, frame: _Frame, key: str, value: Any, line: int) -> None:
        container: Any = frame.value
        if key in container and key not in frame.merged and len(self.warnings) < KEPT:
            first = frame.lines[key]
            self.warnings.append(
                FieldFinding(
                    (*self._path(), key),
                    f"the key stands here twice; this one on line {line} counts,"
                    f" the one on line {first} does not",
                ),
            )
        container[key] = value
        frame.lines[key] = line

    def _merge(self, frame: _Frame, value: Any) -> None:
        maps = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in maps):
            raise _syntax(frame.key_line, "a merge key needs a map or a list of maps")
        # The first of several maps wins, so it comes last.
        for one in reversed(maps):
            for key, item in one.items():
                self._set(frame, key, item, self.lines[id(one)][key])
                frame.merged.add(key)

    def _path(self) -> Path:
        """Return the path of the container that is being filled."""
        return tuple(
            len(frame.value) if isinstance(frame.value, list) else str(frame.key)
            for frame in self._stack[:-1]
        )


def _key_text(value: Scalar, line: int) -> str:
    """Return a key as JSON has it: a string, whatever it was in YAML."""
    if value is None:
        raise _syntax(line, "a key cannot be null")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _look_behind(events: Any, warnings: list[FieldFinding], begins_on: int) -> None:
    """Warn if something follows the first document: Kubernetes does not even parse it."""
    try:
        for _ in range(_EMPTY_DOCUMENTS_SKIPPED):
            start = events.get_event()
            if not isinstance(start, yaml.DocumentStartEvent):
                return
            first, end = events.get_event(), events.get_event()
            empty = isinstance(first, yaml.ScalarEvent) and plain_scalar(first.value) is None
            if not (empty and isinstance(end, yaml.DocumentEndEvent)):
                mark: Any = start.start_mark
                line = mark.line + begins_on
                warnings.append(_only_the_first(f" (another one begins on line {line})"))
                return
        warnings.append(_only_the_first(""))
    except yaml.YAMLError:
        warnings.append(_only_the_first(" (what follows it is not even YAML)"))


def _only_the_first(detail: str) -> FieldFinding:
    return FieldFinding((), f"{ONLY_THE_FIRST}{detail}")


def _syntax(line: int, sentence: str) -> DocumentError:
    return DocumentError(RejectReason.SYNTAX, one_line(f"line {line}: {sentence}"))


def _sentence(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = f"line {mark.line + 1}: " if mark else ""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None)
    problem = str(problem or "it cannot be read")
    return one_line(f"{place}not YAML: {_shown(problem)}")


def _without_quotes(problem: str) -> str:
    return _QUOTED.sub("…", problem)


_shown = _without_quotes if _Loader is yaml.SafeLoader else str

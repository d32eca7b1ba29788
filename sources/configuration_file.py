"""Reads KubeletConfiguration files, and the drop-ins that are merged over them.

Every file is checked by itself, so that a mistake is told with its file, line and field. What comes
out is JSON with only the fields that were set: who merges it with what is for others to say.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from actors.messages.pods import JsonObject
from sources.configuration_types import Part
from sources.errors import UsageError
from sources.kubelet_configuration import API_VERSION, KIND, KubeletConfiguration

_DROP_IN_SUFFIX = ".conf"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFile:
    """One file as it was read."""

    given: JsonObject
    """The fields that it sets, as JSON. A relative ``staticPodPath`` is made absolute."""
    warnings: tuple[str, ...] = ()
    """What its owner should know of it, a sentence each."""


def read_configuration(path: Path) -> ConfigurationFile:
    """Return what the file at ``path`` sets. Raises ``UsageError`` when it cannot be read or is wrong."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the configuration file {path}: {error.strerror}") from None
    try:
        return _decoded(data, path.absolute().parent)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None


def read_drop_ins(folder: Path) -> Iterator[ConfigurationFile]:
    """Yield what each ``*.conf`` below ``folder`` sets, in the order of their names.

    Sub-folders are walked into where their name sorts, and everything else is left alone, as kubelets
    do. Raises ``UsageError`` when the folder or a file cannot be read.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"cannot read the drop-in folder {folder}: {error.strerror}") from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from read_drop_ins(Path(entry))
        elif entry.name.endswith(_DROP_IN_SUFFIX):
            yield read_configuration(Path(entry))


def merged(base: JsonObject, over: JsonObject) -> dict[str, Any]:
    """Return ``base`` with ``over`` on top: objects are merged field by field, all else is replaced."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        both_objects = isinstance(value, Mapping) and isinstance(old, Mapping)
        result[key] = merged(old or {}, value) if both_objects else value
    return result


class _Parsed(NamedTuple):
    document: object
    root: yaml.Node | None
    """The nodes of a YAML document, which know their lines; ``None`` for JSON."""
    warnings: tuple[str, ...]


def _decoded(data: bytes, folder: Path) -> ConfigurationFile:
    document, root, warnings = _parsed(data)
    _check_kind(document)
    try:
        given = KubeletConfiguration.model_validate(document).given()
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=False)
        raise ValueError("; ".join(_complaints(details, root))) from None
    if given.get("staticPodPath"):
        # Relative paths in a kubelet's file start where the file is, wherever the agent was started.
        given["staticPodPath"] = str(folder / given["staticPodPath"])
    return ConfigurationFile(given=given, warnings=warnings)


def _parsed(data: bytes) -> _Parsed:
    try:
        # JSON may be indented with tabs, which YAML refuses.
        return _parsed_json(data) if data.lstrip().startswith(b"{") else _parsed_yaml(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parsed_json(data: bytes) -> _Parsed:
    try:
        return _Parsed(json.loads(data), None, ())
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: not JSON: {error.msg}") from None


def _parsed_yaml(data: bytes) -> _Parsed:
    try:
        nodes = [node for node in yaml.compose_all(data, yaml.SafeLoader) if not _is_empty(node)]
        if len(nodes) != 1:
            raise ValueError("more than one document" if nodes else "the file is empty")
        # Before construction, which writes what merge keys bring into the nodes.
        warnings = tuple(_duplicates(nodes[0]))
        return _Parsed(yaml.SafeLoader("").construct_document(nodes[0]), nodes[0], warnings)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"line {line}: not YAML: {error.problem}") from None
    except yaml.YAMLError:
        raise ValueError("not YAML: it holds bytes that are no text") from None


def _is_empty(node: yaml.Node) -> bool:
    return node.tag == "tag:yaml.org,2002:null"


def _check_kind(document: object) -> None:
    if not isinstance(document, dict):
        raise ValueError(f"not a {KIND}: not an object with fields")  # noqa: TRY004 - told like all else
    for field, wanted in (("kind", KIND), ("apiVersion", API_VERSION)):
        found = document.get(field)
        if found != wanted:
            text = f"{found!r}"[:64] if isinstance(found, str) else "missing"
            raise ValueError(f"not a {KIND}: {field} is {text}, it should be {wanted}")


def _complaints(errors: Iterable[ErrorDetails], root: yaml.Node | None) -> list[str]:
    """Return what is wrong with which fields, in the order of their lines, without any value."""
    found = [(_line_of(error["loc"], root) if root else 0, _complaint(error)) for error in errors]
    return [f"line {line}: {text}" if line else text for line, text in sorted(found)]


def _complaint(error: ErrorDetails) -> str:
    path = ".".join(str(step) for step in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"unknown field {path}{_suggestion(str(error['loc'][-1]))}"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{path} {message}"


def _line_of(path: tuple[int | str, ...], root: yaml.Node) -> int:
    """Return the line of the field at ``path``, or of the innermost part of it that is there."""
    node, line = root, root.start_mark.line
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = [pair for pair in node.value if pair[0].value == str(step)]
            if not found:
                break
            key, node = found[-1]
            line = key.start_mark.line
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
            line = node.start_mark.line
    return line + 1


def _duplicates(root: yaml.Node) -> Iterator[str]:
    """Yield a warning for each field that stands twice in one object; the last one counts."""
    pending = [root]
    seen: set[int] = set()  # an alias leads to a node that was met before
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
        elif isinstance(node, yaml.MappingNode):
            pending += [value for _, value in node.value]
            yield from _repeated_keys(node)


def _repeated_keys(node: yaml.MappingNode) -> Iterator[str]:
    keys: set[object] = set()
    for key, _ in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        if name in keys:
            yield f"line {key.start_mark.line + 1}: {name} is set twice, the last counts"
        keys.add(name)


def _suggestion(name: str) -> str:
    close = difflib.get_close_matches(name, _field_names(KubeletConfiguration), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _field_names(part: type[Part]) -> set[str]:
    names = {field.alias or name for name, field in part.model_fields.items()}
    for field in part.model_fields.values():
        if isinstance(field.default, Part):
            names |= _field_names(type(field.default))
    return names

"""Reads KubeletConfiguration files, and the drop-ins that are merged over them.

Every file is checked by itself, so that a complaint has its file, line and field. The result is JSON with the
fields that the file sets and no others. ``settings.load`` merges the files.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from manifests.findings import shown
from manifests.reading.decoding import read_document
from manifests.reading.document import Document, DocumentError
from manifests.texts import quoted
from messages.pods import JsonObject
from settings.configuration.field_types import Part
from settings.configuration.schema import API_VERSION, KIND, KubeletConfiguration
from settings.errors import StartError, UsageError

_DROP_IN_SUFFIX = ".conf"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFile:
    """One file as it was read."""

    given: JsonObject
    """The fields that it sets, as JSON. A relative ``staticPodPath`` is made absolute."""
    warnings: tuple[str, ...] = ()
    """Sentences for the owner of the file."""


def read_configuration(path: Path) -> ConfigurationFile:
    """Return what the file at ``path`` sets.

    Raises ``StartError`` if it cannot be read, which may pass, and ``UsageError`` if it is wrong.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StartError(f"cannot read the configuration file {path}: {error.strerror}") from None
    try:
        return _decoded(data, path.absolute().parent)
    except (ValueError, DocumentError) as error:
        raise UsageError(f"{path}: {error}") from None


def read_drop_ins(folder: Path) -> Iterator[ConfigurationFile]:
    """Yield what each ``*.conf`` below ``folder`` sets, in the order of their names.

    As in a kubelet, sub-folders are walked in the order of their names too, and other files are ignored.
    Raises ``StartError`` if the folder or a file cannot be read, and ``UsageError`` if a file is wrong.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise StartError(f"cannot read the drop-in folder {folder}: {error.strerror}") from None
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


def _decoded(data: bytes, folder: Path) -> ConfigurationFile:
    document = read_document(data)
    _check_kind(document.value)
    try:
        given = KubeletConfiguration.model_validate(document.value).given()
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=False)
        raise ValueError("; ".join(_complaints(details, document))) from None
    if given.get("staticPodPath"):
        # Relative paths in a kubelet's file start at its directory, not where the agent was started.
        given["staticPodPath"] = str(folder / given["staticPodPath"])
    warnings = tuple(finding.sentence(document.line) for finding in document.warnings)
    return ConfigurationFile(given=given, warnings=warnings)


def _check_kind(document: object) -> None:
    if not isinstance(document, dict):
        raise ValueError(f"not a {KIND}: not an object with fields")  # noqa: TRY004 - told like all else
    for field, wanted in (("kind", KIND), ("apiVersion", API_VERSION)):
        found = document.get(field)
        if found != wanted:
            text = quoted(found) if isinstance(found, str) else "missing"
            raise ValueError(f"not a {KIND}: {field} is {text}, it should be {wanted}")


def _complaints(errors: Iterable[ErrorDetails], document: Document) -> list[str]:
    """Return what is wrong with each field, in the order of lines, without any value."""
    found = sorted((document.line(error["loc"]), _complaint(error)) for error in errors)
    return [f"line {line}: {text}" if line else text for line, text in found]


def _complaint(error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        return f"unknown field {shown(error['loc'])}{_suggestion(str(error['loc'][-1]))}"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{shown(error['loc'])} {message}"


def _suggestion(name: str) -> str:
    close = difflib.get_close_matches(name, _field_names(KubeletConfiguration), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _field_names(part: type[Part]) -> set[str]:
    names = {field.alias or name for name, field in part.model_fields.items()}
    for field in part.model_fields.values():
        if isinstance(field.default, Part):
            names |= _field_names(type(field.default))
    return names

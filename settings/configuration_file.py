"""Reads KubeletConfiguration files, and the drop-ins that are merged over them.

Every file is checked by itself, so that a complaint has its file, line and field. The result is JSON with the
fields that the file sets and no others. ``settings.load`` merges the files.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from manifests.findings import LineOf, Path, shown
from manifests.reading.decoding import read_document
from manifests.reading.document import DocumentError
from manifests.texts import quoted
from messages.pods import JsonObject
from settings.errors import StartError, UsageError
from settings.schema import KubeletConfiguration
from settings.table import API_VERSION, FIELDS, KIND

_DROP_IN_SUFFIX = ".conf"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFile:
    """One file as it was read."""

    given: JsonObject
    """The fields that it sets, as JSON. A relative ``staticPodPath`` is made absolute."""
    warnings: tuple[str, ...] = ()
    """Sentences for the owner of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongField:
    """A field that cannot be read. No value is told."""

    path: Path
    line: int
    """0 if it is unknown."""
    text: str
    """What is wrong, beginning with the name of the field or with that it is unknown."""

    def sentence(self) -> str:
        """Return what is wrong, and on which line."""
        return f"line {self.line}: {self.text}" if self.line else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """A document that is a KubeletConfiguration, right or wrong."""

    value: dict[str, Any]
    wrong: tuple[WrongField, ...]
    """In the order of lines."""
    warnings: tuple[str, ...]
    line: LineOf


def read_configuration(path: FilePath) -> ConfigurationFile:
    """Return what the file at ``path`` sets.

    Raises ``StartError`` if it cannot be read, which may pass, and ``UsageError`` if it is wrong.
    """
    document = read_fields(path)
    if document.wrong:
        raise UsageError(f"{path}: {'; '.join(each.sentence() for each in document.wrong)}")
    return given_by(document.value, path, document.warnings)


def read_fields(path: FilePath) -> ReadDocument:
    """Return the document in the file at ``path``, with each field that is wrong.

    Raises ``StartError`` if it cannot be read, and ``UsageError`` if it is no KubeletConfiguration at all.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StartError(f"cannot read the configuration file {path}: {error.strerror}") from None
    try:
        document = read_document(data)
        value = _checked_kind(document.value)
    except (ValueError, DocumentError) as error:
        raise UsageError(f"{path}: {error}") from None
    warnings = tuple(finding.sentence(document.line) for finding in document.warnings)
    wrong = wrong_fields(value, document.line)
    return ReadDocument(value=value, wrong=wrong, warnings=warnings, line=document.line)


def wrong_fields(value: dict[str, Any], line: LineOf = lambda _: 0) -> tuple[WrongField, ...]:
    """Return each field of ``value`` that is wrong, in the order of lines."""
    try:
        KubeletConfiguration.model_validate(value)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=False)
        found = (
            WrongField(path=each["loc"], line=line(each["loc"]), text=_complaint(each))
            for each in details
        )
        return tuple(sorted(found, key=lambda each: (each.line, each.text)))
    return ()


def given_by(
    value: dict[str, Any], path: FilePath, warnings: tuple[str, ...] = ()
) -> ConfigurationFile:
    """Return what ``value`` sets, in which nothing is wrong, for the file at ``path``."""
    given = KubeletConfiguration.model_validate(value).given()
    if given.get("staticPodPath"):
        # Relative paths in a kubelet's file start at its directory, not where the agent was started.
        given["staticPodPath"] = str(path.absolute().parent / given["staticPodPath"])
    return ConfigurationFile(given=given, warnings=warnings)


def drop_ins(folder: FilePath) -> Iterator[FilePath]:
    """Yield the path of each ``*.conf`` below ``folder``, in the order of their names.

    As in a kubelet, sub-folders are walked in the order of their names too, and other files are ignored.
    Raises ``StartError`` if the folder cannot be read.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise StartError(f"cannot read the drop-in folder {folder}: {error.strerror}") from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from drop_ins(FilePath(entry))
        elif entry.name.endswith(_DROP_IN_SUFFIX):
            yield FilePath(entry)


def merged(base: JsonObject, over: JsonObject) -> dict[str, Any]:
    """Return ``base`` with ``over`` on top: objects are merged field by field, all else is replaced."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        both_objects = isinstance(value, Mapping) and isinstance(old, Mapping)
        result[key] = merged(old or {}, value) if both_objects else value
    return result


def _checked_kind(document: object) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise ValueError(f"not a {KIND}: not an object with fields")  # noqa: TRY004 - told like all else
    for field, wanted in (("kind", KIND), ("apiVersion", API_VERSION)):
        found = document.get(field)
        if found != wanted:
            text = quoted(found) if isinstance(found, str) else "missing"
            raise ValueError(f"not a {KIND}: {field} is {text}, it should be {wanted}")
    return document


def _complaint(error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        return f"unknown field {shown(error['loc'])}{_suggestion(str(error['loc'][-1]))}"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{shown(error['loc'])} {message}"


def _suggestion(name: str) -> str:
    names = {part for path in FIELDS for part in path.split(".")}
    close = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""

"""Decodes a file that holds a Secret or ConfigMap: the object, or the reason why there is none.

Pure. Its stages are like those of ``manifests.pod_manifest``: document, types and fields, metadata, values,
and the rules of a Secret's type. What an API server refuses is refused, with one difference: a file holds
one object, so a second document or a List is an error and not silently left out.

No text of this module shows what stands under ``data``, ``stringData`` or ``binaryData``, except for names of
keys.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from manifests.findings import Findings, Place
from manifests.names import dns_label, dns_subdomain
from manifests.objects.values import UnusableObjectError, object_value
from manifests.reading.decoding import read_document
from manifests.reading.document import Document, DocumentError
from manifests.refusals import (
    RefusalError,
    Refused,
    reason_of,
    sentences,
    stop_on_problems,
    stop_on_unknown_fields,
)
from manifests.schema import conform_fields
from manifests.static_pods import DEFAULT_NAMESPACE, validate_uid
from manifests.texts import quoted
from manifests.validation.metadata import validate_metadata
from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin
from messages.sources import RejectReason

_COMMON: Final = {
    "apiVersion": "str",
    "kind": "str",
    "metadata": "V1ObjectMeta",
    "data": "{str}",
    "immutable": "bool",
}
_FIELDS: Final = {
    ObjectKind.SECRET: {**_COMMON, "stringData": "{str}", "type": "str"},
    ObjectKind.CONFIG_MAP: {**_COMMON, "binaryData": "{str}"},
}
OPAQUE: Final = "Opaque"
"""The type of a Secret that has none in its document."""

_ALL_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON_TYPES: Final = {"kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson"}
_BASIC_AUTH: Final = "kubernetes.io/basic-auth"
_TOKEN: Final = "kubernetes.io/service-account-token"  # noqa: S105  # a type of Secret
_TOKEN_OWNER: Final = "kubernetes.io/service-account.name"  # noqa: S105  # an annotation

_NO_VERSION: Final = "0"
"""The holder of local objects gives them versions later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalObject:
    """The object that a file describes. Two are equal if the object and all of its content are the same."""

    object: ObjectId
    value: ObjectValue = field(hash=False)
    """Its ``resource_version`` has no meaning."""
    written: int = field(default=0, compare=False)
    """When the file was last written, in nanoseconds since 1970."""

    @property
    def uid(self) -> str:
        """The UID in the file, or one made of its kind and name, so that it survives edits."""
        return self.value.uid

    @property
    def namespace(self) -> str:
        """``default`` unless the file says otherwise."""
        return self.object.namespace

    @property
    def name(self) -> str:
        """Unique among the kind in its namespace."""
        return self.object.name

    @property
    def display_name(self) -> str:
        """``Secret default/db``."""
        return display_name(self.object)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedObject:
    """A file's content that can be used, and what its owner should know."""

    described: LocalObject
    warnings: tuple[str, ...]


def display_name(object_id: ObjectId) -> str:
    """Return what an object is called in verdicts and logs: ``Secret default/db``."""
    return f"{object_id.kind} {object_id.display_name}"


def decode_object(data: bytes, *, strict: bool) -> DecodedObject | Refused:
    """Return the object that ``data`` describes, or why it describes none. Never raises.

    ``strict`` refuses unknown fields, instead of a warning.
    """
    try:
        document = read_document(data)
    except DocumentError as error:
        return Refused(code=error.code, reason=error.sentence)
    findings = Findings()
    try:
        described = _local_object(document, findings, strict=strict)
    except RefusalError as refusal:
        told = reason_of(refusal, findings, document)
        return Refused(code=refusal.code, reason=told, pod=_claimed_name(document.value))
    except UnusableObjectError as error:
        name = _claimed_name(document.value)
        return Refused(code=RejectReason.INVALID, reason=str(error), pod=name)
    return DecodedObject(described=described, warnings=sentences(findings, document))


# The stages of one document.


def _local_object(document: Document, findings: Findings, *, strict: bool) -> LocalObject:
    """Return the object; raises ``RefusalError`` at the first stage that finds problems."""
    kind = _kind(document, findings)
    value = conform_fields(_FIELDS[kind], document.value, findings)
    stop_on_problems(findings)
    if strict:
        stop_on_unknown_fields(findings)
    metadata = Place(value.setdefault("metadata", {}), ("metadata",), findings)
    object_id = _complete(metadata, kind)
    validate_metadata(metadata)
    validate_uid(metadata)
    top = Place(value, (), findings)
    plain = _join_string_data(top)
    stop_on_problems(findings)
    described = _value(top, plain, object_id)
    if kind is ObjectKind.SECRET:
        described = replace(described, type=described.type or OPAQUE)
        _validate_type(top, plain, described)
        stop_on_problems(findings)
    return LocalObject(object=object_id, value=described)


def _complete(metadata: Place, kind: ObjectKind) -> ObjectId:
    """Fill in what ``metadata`` lacks, in place; return what the object is called."""
    metadata.value["namespace"] = metadata.get("namespace") or DEFAULT_NAMESPACE
    metadata.required("name")
    stop_on_problems(metadata.findings)
    object_id = ObjectId(
        kind=kind,
        namespace=metadata.get("namespace"),
        name=metadata.get("name"),
        origin=Origin.LOCAL,
    )
    metadata.value["uid"] = metadata.get("uid") or derived_uid(object_id)
    metadata.value["resourceVersion"] = _NO_VERSION
    return object_id


def _value(top: Place, plain: Collection[str], object_id: ObjectId) -> ObjectValue:
    """Return the value in the document. Its keys ``plain`` come from ``stringData``.

    Raises ``RefusalError`` if one entry is wrong, else ``UnusableObjectError``.
    """
    try:
        return object_value(top.value, object_id)
    except UnusableObjectError as error:
        if error.entry is not None:
            field, key = error.entry
            top.wrong(error.flaw, "stringData" if key in plain else field, key)
            stop_on_problems(top.findings)
        raise


def _kind(document: Document, findings: Findings) -> ObjectKind:
    value = document.value
    kind = value.get("kind") if isinstance(value, dict) else None
    wanted = "apiVersion: v1 and kind: Secret or ConfigMap"
    if not isinstance(value, dict):
        findings.problem((), f"must be an object with {wanted}")
    elif isinstance(kind, str) and kind.endswith("List"):
        findings.problem(("kind",), f"a file holds exactly one object, not a {quoted(kind)}")
    elif kind not in tuple(ObjectKind):
        instead = f", not {quoted(kind)}" if kind and isinstance(kind, str) else ""
        findings.problem(("kind",), f"must be Secret or ConfigMap{instead}")
    elif value.get("apiVersion") != "v1":
        findings.problem(("apiVersion",), "must be v1")
    elif document.has_followers:
        findings.problem((), "a file holds exactly one object: put each into a file of its own")
    stop_on_problems(findings, RejectReason.NOT_A_POD)
    return ObjectKind(str(kind))


def derived_uid(object_id: ObjectId) -> str:
    """Return the UID of an object whose file has none: the same for the same kind, namespace and name."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"actorlet:{display_name(object_id)}"))


def _join_string_data(top: Place) -> Collection[str]:
    """Put ``stringData`` into ``data``, in place: it wins over what stands there (as in the API).

    Return its keys.
    """
    plain: Mapping[str, str] = top.value.pop("stringData", None) or {}
    if not plain:
        return ()
    data = top.value.setdefault("data", {})
    for key, text in plain.items():
        try:
            data[key] = base64.b64encode(text.encode()).decode()
        except UnicodeEncodeError:
            top.wrong("holds half a surrogate pair, which is no character", "stringData", key)
    return plain


def _validate_type(top: Place, plain: Collection[str], secret: ObjectValue) -> None:
    """Tell if a Secret lacks what its type requires."""
    for key in _ALL_OF.get(secret.type, ()):
        if key not in secret.data:
            top.wrong(f"a Secret of type {secret.type} must have it", "data", key)
        elif secret.type in _JSON_TYPES and not _is_json_object(secret.data[key]):
            top.wrong("must be a JSON object", "stringData" if key in plain else "data", key)
    if secret.type == _BASIC_AUTH and not {"username", "password"} & secret.data.keys():
        top.wrong(f"a Secret of type {secret.type} must have username or password", "data")
    annotations = top.get("metadata").get("annotations", {})
    if secret.type == _TOKEN and not annotations.get(_TOKEN_OWNER):
        path = ("metadata", "annotations", _TOKEN_OWNER)
        top.wrong(f"a Secret of type {secret.type} must have it", *path)


def _is_json_object(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


def _claimed_name(value: Any) -> str:
    """Return the display name of what a refused document is about; empty when that cannot be told."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or value.get("kind") not in tuple(ObjectKind):
        return ""
    name, namespace = metadata.get("name"), metadata.get("namespace") or DEFAULT_NAMESPACE
    if not _obeys(dns_subdomain, name) or not _obeys(dns_label, namespace):
        return ""
    return f"{value['kind']} {namespace}/{name}"


def _obeys(rule: Callable[[str], str], text: Any) -> bool:
    return isinstance(text, str) and bool(text) and not rule(text)

"""Decodes the manifest of a static pod: from bytes to a validated pod, or to the reason why there is none.

Puts the stages of a manifest in order: document, types and fields, defaults, identity, validation,
references. Each stage has modules of its own. Pure: the same bytes and rules always give the same answer,
and there is an answer for any bytes. It decides as a kubelet does, and warns where a kubelet says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

from manifests.defaults import fill_defaults
from manifests.findings import Findings, Place
from manifests.names import dns_label, dns_subdomain
from manifests.reading.decoding import canonical_json, read_document
from manifests.reading.document import Document, DocumentError
from manifests.refusals import (
    RefusalError,
    Refused,
    reason_of,
    sentences,
    stop_on_problems,
    stop_on_unknown_fields,
)
from manifests.schema import conform_pod
from manifests.static_pods import (
    DEFAULT_NAMESPACE,
    LOCAL,
    api_references,
    content_digest,
    digested_containers,
    keep_uid,
    make_static,
    static_name,
    validate_uid,
    warn_of_node,
    warn_of_priority,
)
from manifests.texts import quoted
from manifests.validation.metadata import warn_of_change_hook
from manifests.validation.pod import validate_pod
from manifests.validation.volumes import refuse_unknown_volumes
from messages.objects import ObjectKind
from messages.pods import CONFIG_MIRROR, JsonObject, Pod, PodUid, SourceName
from messages.sources import RejectReason

_OBJECTS_BELONG: Final = "; Secrets and ConfigMaps belong into the directory of --local-objects-dir"
_FILES_PROVIDE: Final = " unless files provide them (--local-objects-dir)"


class GivesUids(Protocol):
    """Knows the UIDs that static pods keep. It gives the same content the same UID, always."""

    def uid_of(self, pod: JsonObject, digest: str) -> PodUid | None:
        """Return the UID that a pod keeps while its manifest has this digest; None for its own."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRules:
    """The settings that a manifest is decoded by."""

    node_name: str
    """The name of the node; names of pods get it in lower case."""
    source: SourceName
    """Which source reads it: pods of ``file`` tolerate every NoExecute taint, others do not."""
    strict: bool = False
    """Refuse unknown fields, instead of a warning."""
    allow_references: bool = False
    """The pod may reference Secrets and ConfigMaps: local files provide them."""
    uids: GivesUids | None = None
    """Which pods keep a UID that is not their own; None if none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A manifest that can be used: its complete pod, and what its owner should know.

    ``kubernetes.io/config.source`` and ``config.seen`` are not set. The merge of the sources sets them.
    """

    pod: Pod
    warnings: tuple[str, ...]

    @property
    def described(self) -> Pod:
        """The pod, by the name that the content of any usable file has (``files.verdicts.state.Usable``)."""
        return self.pod


def decode_manifest(data: bytes, rules: ManifestRules) -> Decoded | Refused:
    """Return the static pod that ``data`` describes, or why it describes none. Never raises."""
    try:
        document = read_document(data)
    except DocumentError as error:
        return Refused(code=error.code, reason=error.sentence)
    return decode_document(document, rules)


def decode_document(document: Document, rules: ManifestRules) -> Decoded | Refused:
    """Return the static pod that a document describes, or why it describes none. Never raises."""
    findings = Findings()
    try:
        _refuse_other_kinds(document.value, findings)
        pod = _static_pod(document.value, rules, findings)
    except DocumentError as error:
        return Refused(code=error.code, reason=error.sentence)
    except RefusalError as refusal:
        return Refused(
            code=refusal.code,
            reason=reason_of(refusal, findings, document),
            pod=_claimed_name(document.value, rules),
        )
    return Decoded(pod=Pod.of(pod), warnings=sentences(findings, document))


def _refuse_other_kinds(value: Any, findings: Findings) -> None:
    if not isinstance(value, dict):
        findings.problem((), "must be an object with apiVersion: v1 and kind: Pod")
    elif (kind := value.get("kind")) in ("PodList", "List"):
        findings.problem(("kind",), f"a file holds exactly one Pod, not a {kind}")
    else:
        for name, wanted in (("apiVersion", "v1"), ("kind", "Pod")):
            if value.get(name) != wanted:
                hint = _OBJECTS_BELONG if value.get(name) in tuple(ObjectKind) else ""
                findings.problem((name,), f"must be {wanted}{_instead(value.get(name))}{hint}")
    stop_on_problems(findings, RejectReason.NOT_A_POD)


def _instead(value: Any) -> str:
    return f", not {quoted(value)}" if value and isinstance(value, str) else ""


def _static_pod(value: dict[str, Any], rules: ManifestRules, findings: Findings) -> dict[str, Any]:
    """Return the complete pod; raises ``RefusalError`` at the first stage that finds problems."""
    canonical = canonical_json(value)
    pod = conform_pod(value, findings)
    stop_on_problems(findings)
    metadata = Place(pod.setdefault("metadata", {}), ("metadata",), findings)
    spec = Place(pod.setdefault("spec", {}), ("spec",), findings)
    _refuse_mirrors(metadata)
    if rules.strict:
        stop_on_unknown_fields(findings)
    refuse_unknown_volumes(spec, findings)
    # The name is checked before the node's is appended, which would make an empty name a good one.
    metadata.required("name")
    stop_on_problems(findings)
    digests = digested_containers(pod)
    fill_defaults(pod)
    warn_of_node(spec, rules.node_name)
    has_own_uid = bool(metadata.get("uid"))
    make_static(
        pod,
        canonical=canonical,
        digests=digests,
        node_name=rules.node_name,
        source=rules.source,
    )
    validate_pod(pod, findings)
    validate_uid(metadata)
    stop_on_problems(findings)
    _refuse_references(spec, allowed=LOCAL if rules.allow_references else frozenset())
    warn_of_priority(spec)
    warn_of_change_hook(metadata, spec)
    if rules.uids is not None and not has_own_uid:
        keep_uid(pod, rules.uids.uid_of(pod, content_digest(canonical)))
    return pod


def _refuse_mirrors(metadata: Place) -> None:
    if CONFIG_MIRROR in metadata.get("annotations", {}):
        text = "this is the mirror of a static pod, not a pod of its own"
        metadata.wrong(text, "annotations", CONFIG_MIRROR)
        stop_on_problems(metadata.findings, RejectReason.NOT_A_POD)


def _refuse_references(spec: Place, *, allowed: frozenset[str]) -> None:
    for resource, path in api_references(spec):
        if resource not in allowed:
            hint = _FILES_PROVIDE if resource in LOCAL else ""
            spec.findings.problem(path, f"static pods may not reference {resource}{hint}")
            stop_on_problems(spec.findings, RejectReason.API_REFERENCE)


def _claimed_name(value: Any, rules: ManifestRules) -> str:
    """Return ``<namespace>/<name>`` where both are good names, else nothing."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict):
        return ""
    name, namespace = metadata.get("name"), metadata.get("namespace") or DEFAULT_NAMESPACE
    if not isinstance(name, str) or not isinstance(namespace, str):
        return ""
    name = static_name(name, rules.node_name)
    return "" if dns_subdomain(name) or dns_label(namespace) else f"{namespace}/{name}"

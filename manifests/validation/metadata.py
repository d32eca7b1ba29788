"""What the API server would refuse in a pod's ``metadata``, and change hooks without effect.

With a wrong change hook the pod runs, but changes of its Secrets and ConfigMaps do nothing. Nobody would
notice that before it matters, so there is a warning.
"""

from __future__ import annotations

from manifests.change_hooks import ON_OBJECT_CHANGE, ChangeHookError, change_hook
from manifests.findings import Place
from manifests.names import dns_label, dns_subdomain, label_value, qualified_name
from manifests.references import pod_references
from manifests.texts import quoted
from messages.objects import ChangeAction

MAX_ANNOTATION_BYTES = 256 * 1024
"""Keys and values of all annotations together."""


def validate_metadata(metadata: Place) -> None:
    """Tell what is wrong with names, labels, annotations and owners."""
    metadata.named("name", dns_subdomain)
    metadata.named("namespace", dns_label)
    metadata.obeys("generateName", _prefix)
    metadata.within("generation", 0)
    metadata.within("deletionGracePeriodSeconds", 0)
    metadata.each_obeys("finalizers", qualified_name)
    validate_labels(metadata, "labels")
    _validate_annotations(metadata)
    for owner in metadata.each("ownerReferences"):
        owner.required("apiVersion", "kind", "name", "uid")


def validate_labels(place: Place, name: str) -> None:
    """Tell which keys and values of the map in the field ``name`` could be no label."""
    for key, value in place.get(name, {}).items():
        if complaint := qualified_name(key):
            place.wrong(f"the key {complaint}", name, key)
        if complaint := label_value(value):
            place.wrong(complaint, name, key)


def _validate_annotations(metadata: Place) -> None:
    size = 0
    for key, value in metadata.get("annotations", {}).items():
        # Annotations may have upper-case prefixes, from before prefixes were DNS names.
        if complaint := qualified_name(key.lower()):
            metadata.wrong(f"the key {complaint}", "annotations", key)
        size += len(key.encode()) + len(value.encode())
    if size > MAX_ANNOTATION_BYTES:
        metadata.wrong(f"must be no more than {MAX_ANNOTATION_BYTES} bytes in all", "annotations")


def _prefix(text: str) -> str:
    # The generated part follows the prefix, so the prefix may end in a way that a name may not.
    return dns_subdomain(f"{text}x") and f"must begin a DNS name, not {quoted(text)}"


_WITHOUT_EFFECT = {
    ChangeAction.SIGNAL: "has no effect: no file that the pod mounts changes with a Secret or a ConfigMap,"
    " and a program that runs sees no other changes",
    ChangeAction.RESTART: "has no effect: the containers of the pod use no Secret and no ConfigMap",
}


def warn_of_change_hook(metadata: Place, spec: Place) -> None:
    """Warn of a change hook that cannot be read, and of one that no change can ever concern."""
    annotation = metadata.get("annotations", {}).get(ON_OBJECT_CHANGE, "")
    try:
        hook = change_hook(annotation)
    except ChangeHookError as error:
        metadata.warn(f"{error}; as it is, changes do nothing", "annotations", ON_OBJECT_CHANGE)
        return
    uses = {reference.use for reference in pod_references({"spec": spec.value})}
    if hook and not hook.concerns(uses):
        metadata.warn(_WITHOUT_EFFECT[hook.action], "annotations", ON_OBJECT_CHANGE)

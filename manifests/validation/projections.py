"""What the API server would refuse in volumes made of files: keys, field references, projections."""

from __future__ import annotations

from manifests.names import file_in_volume, object_key
from manifests.places import Place, told_twice
from manifests.validation.environment import (
    VOLUME_FIELDS,
    validate_field_ref,
    validate_resource_ref,
)
from manifests.validation.selectors import validate_label_selector

MAX_MODE = 0o777
_MIN_TOKEN_SECONDS = 10 * 60
_MAX_TOKEN_SECONDS = 2**32
_MIN_CERTIFICATE_SECONDS = 3600
_MAX_CERTIFICATE_SECONDS = 91 * 24 * 3600

PROJECTIONS = (
    "secret",
    "configMap",
    "downwardAPI",
    "serviceAccountToken",
    "clusterTrustBundle",
    "podCertificate",
)


def validate_mode(place: Place, name: str) -> None:
    """Tell when the field ``name`` is set and no file mode."""
    mode = place.get(name)
    if mode is not None and not 0 <= mode <= MAX_MODE:
        place.wrong("must be a file mode between 0 and 0777, which is 511", name)


def validate_keys(source: Place) -> None:
    """Tell what is wrong with the ``items`` that pick keys of a Secret or ConfigMap."""
    for item in source.each("items"):
        item.named("key", object_key)
        item.named("path", file_in_volume)
        validate_mode(item, "mode")


def validate_downward_items(source: Place) -> None:
    """Tell what is wrong with the ``items`` that project fields of the pod."""
    for item in source.each("items"):
        item.named("path", file_in_volume)
        validate_mode(item, "mode")
        kind = item.only_one(("fieldRef", "resourceFieldRef"))
        reference = item.child(kind) if kind else None
        if reference is None:
            continue
        if kind == "fieldRef":
            validate_field_ref(reference, VOLUME_FIELDS)
        else:
            validate_resource_ref(reference, in_volume=True)


def validate_projected(volume: Place) -> None:
    """Tell what is wrong with a volume that several sources are projected into."""
    validate_mode(volume, "defaultMode")
    files: list[Place] = []
    for source in volume.each("sources"):
        if not source.value:
            source.warn(f"projects nothing: it has none of {', '.join(PROJECTIONS)}")
            continue
        kind = str(source.only_one(PROJECTIONS))
        projection = Place(source.get(kind), (*source.path, kind), source.findings)
        _validate_projection(kind, projection)
        files += projection.each("items")
        files += [projection] if projection.has("path") else []
    told_twice(files, "path", "is the path of more than one file of the volume")


def _validate_projection(kind: str, projection: Place) -> None:
    match kind:
        case "secret" | "configMap":
            projection.required("name")
            validate_keys(projection)
        case "downwardAPI":
            validate_downward_items(projection)
        case "serviceAccountToken":
            projection.named("path", file_in_volume)
            projection.within("expirationSeconds", _MIN_TOKEN_SECONDS, _MAX_TOKEN_SECONDS)
        case "clusterTrustBundle":
            projection.named("path", file_in_volume)
            projection.only_one(("name", "signerName"))
            validate_label_selector(projection)
        case _:
            _validate_certificate(projection)


def _validate_certificate(projection: Place) -> None:
    projection.required("signerName", "keyType")
    projection.within("maxExpirationSeconds", _MIN_CERTIFICATE_SECONDS, _MAX_CERTIFICATE_SECONDS)
    for name in ("credentialBundlePath", "keyPath", "certificateChainPath"):
        projection.obeys(name, file_in_volume)

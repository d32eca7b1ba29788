"""What the API server would refuse in a pod's volumes, their keys and their projections."""

from __future__ import annotations

from collections.abc import Callable

from manifests.findings import REQUIRED, Findings, Place, told_twice
from manifests.names import (
    dns_label,
    file_in_volume,
    iscsi_name,
    no_backsteps,
    object_key,
    printable_text,
)
from manifests.quantities import amount
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


_REQUIRED: dict[str, tuple[str, ...]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "configMap": ("name",),
    "csi": ("driver",),
    "ephemeral": ("volumeClaimTemplate",),
    "fc": (),
    "flexVolume": ("driver",),
    "flocker": (),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "hostPath": ("path",),
    "image": ("reference",),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "secret": ("secretName",),
    "storageos": (),
    "vsphereVolume": ("volumePath",),
}
"""For each kind of volume: the fields without which it is nothing."""

_HOST_PATH_TYPES = (
    "",
    "DirectoryOrCreate",
    "Directory",
    "FileOrCreate",
    "File",
    "Socket",
    "CharDevice",
    "BlockDevice",
)
PULL_POLICIES = ("Always", "Never", "IfNotPresent")


def refuse_unknown_volumes(spec: Place, findings: Findings) -> None:
    """Tell of volumes whose kind is not known.

    Without this they would be taken for an ``emptyDir``, as volumes of no kind are, and what the
    pod writes would be lost with it. Must come before defaults.
    """
    kindless = {
        volume.path for volume in spec.each("volumes") if not any(k != "name" for k in volume.value)
    }
    for finding in findings.unknown.first:
        if finding.path[:-1] in kindless:
            findings.problem(finding.path, f"no kind of volume: {finding.text}")


def validate_volumes(spec: Place) -> None:
    """Tell what is wrong with the volumes of a pod."""
    volumes = list(spec.each("volumes"))
    for volume in volumes:
        volume.named("name", dns_label)
        kinds = [kind for kind in volume.value if kind != "name"]
        for kind in kinds[1:]:
            volume.wrong(f"cannot stand beside {kinds[0]}", kind)
        source = volume.child(kinds[0])
        if source is not None:
            source.required(*_REQUIRED.get(kinds[0], ()))
            if special := _SPECIAL.get(kinds[0]):
                special(source)
    told_twice(volumes, "name", "is the name of more than one volume")


def _host_path(source: Place) -> None:
    source.obeys("path", no_backsteps)
    source.one_of("type", _HOST_PATH_TYPES)


def _empty_dir(source: Place) -> None:
    if amount(source.get("sizeLimit", "0")) < 0:
        source.wrong("must not be negative", "sizeLimit")


def _secret(source: Place) -> None:
    validate_mode(source, "defaultMode")
    validate_keys(source)


def _downward(source: Place) -> None:
    validate_mode(source, "defaultMode")
    validate_downward_items(source)


def _git_repo(source: Place) -> None:
    source.obeys("directory", file_in_volume)


def _nfs(source: Place) -> None:
    if source.get("path") and not source.get("path").startswith("/"):
        source.wrong("must be an absolute path", "path")


def _iscsi(source: Place) -> None:
    source.within("lun", 0, 255)
    source.obeys("iqn", iscsi_name)
    if source.has("initiatorName") and (complaint := iscsi_name(source.get("initiatorName"))):
        source.wrong(complaint, "initiatorName")
    chap = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if chap and not source.has("secretRef"):
        source.wrong(REQUIRED, "secretRef")


def _fc(source: Place) -> None:
    if source.only_one(("targetWWNs", "wwids")) == "targetWWNs":
        if not source.has("lun"):
            source.wrong(REQUIRED, "lun")
        source.within("lun", 0, 255)


def _flocker(source: Place) -> None:
    source.only_one(("datasetName", "datasetUUID"))


def _image(source: Place) -> None:
    source.one_of("pullPolicy", PULL_POLICIES)
    source.obeys("reference", printable_text)


def _azure_disk(source: Place) -> None:
    source.one_of("cachingMode", ("None", "ReadOnly", "ReadWrite"))
    source.one_of("kind", ("Shared", "Dedicated", "Managed"))


def _claim_template(source: Place) -> None:
    template = source.child("volumeClaimTemplate")
    if template is not None:
        template.required("spec")


_SPECIAL: dict[str, Callable[[Place], None]] = {
    "azureDisk": _azure_disk,
    "configMap": _secret,
    "downwardAPI": _downward,
    "emptyDir": _empty_dir,
    "ephemeral": _claim_template,
    "fc": _fc,
    "flocker": _flocker,
    "gitRepo": _git_repo,
    "hostPath": _host_path,
    "image": _image,
    "iscsi": _iscsi,
    "nfs": _nfs,
    "projected": validate_projected,
    "secret": _secret,
}
"""What each kind needs beyond its required fields."""

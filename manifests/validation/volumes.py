"""What the API server would refuse in a pod's volumes, except for the projected ones."""

from __future__ import annotations

from collections.abc import Callable

from manifests.findings import Findings
from manifests.names import dns_label, file_in_volume, iscsi_name, no_backsteps, printable_text
from manifests.places import REQUIRED, Place, told_twice
from manifests.quantities import amount
from manifests.validation.projections import (
    validate_downward_items,
    validate_keys,
    validate_mode,
    validate_projected,
)

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

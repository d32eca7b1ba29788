"""Who may have an image that is there: what we remember of its pulls, and what a kubelet does. Pure.

Credentials are remembered as a digest with a salt of this node, and by the coordinates of their Secret. An
image without a record is one that this agent did not pull.

A kubelet has a file for each image, and one for each pull that is under way, below its own directory.
Whatever is in them is read with care: nothing here may keep the agent from starting. Where it cannot be told
who may have an image, nobody may.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from manifests.image_names import ImageName, parse_image_name
from runtimes.cri.images.keyring import Credential, RegistryAuth, SecretSource
from runtimes.cri.images.options import VerificationOptions, VerificationPolicy

GROUP: Final = "kubelet.config.k8s.io/"
"""Of ``apiVersion``. All versions so far have the same fields."""
UNREADABLE: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a document of another form raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletAccess:
    """Who may have an image of one repository."""

    is_for_all: bool
    secrets: tuple[SecretSource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletPulled:
    """An image that a kubelet has pulled."""

    image_id: str
    by_repository: Mapping[str, KubeletAccess]


def pulled_image(data: bytes) -> KubeletPulled | None:
    """Return what a file of a pulled image says; None for what a kubelet cannot have written.

    The hashes of credentials are left: they have no salt, and those of one Secret are known by its UID. Who
    came by the token of a service account has to pull the image again.
    """
    try:
        document = _document(data, "ImagePulledRecord")
        image_id = str(document["imageRef"])
    except UNREADABLE:
        return None
    try:
        accesses = {
            name.repository: _access(access)
            for key, access in document["credentialMapping"].items()
            if (name := parse_image_name(key)) is not None
        }
    except UNREADABLE:
        accesses = {}
    return KubeletPulled(image_id=image_id, by_repository=accesses)


def begun_pull(data: bytes) -> ImageName | None:
    """Return which image a file of a pull is about; None for what a kubelet cannot have written."""
    try:
        return parse_image_name(str(_document(data, "ImagePullIntent")["image"]))
    except UNREADABLE:
        return None


def _document(data: bytes, kind: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(data)
    if document["kind"] != kind or not document["apiVersion"].startswith(GROUP):
        raise ValueError
    return document


def _access(access: dict[str, Any]) -> KubeletAccess:
    secrets = tuple(
        SecretSource(namespace=str(each["namespace"]), name=str(each["name"]), uid=str(each["uid"]))
        for each in access.get("kubernetesSecrets") or ()
    )
    return KubeletAccess(is_for_all=access.get("nodePodsAccessible") is True, secrets=secrets)


VERSION: Final = 1
SALT_BYTES: Final = 16
MOST_SECRETS: Final = 100
"""Secrets that are remembered for one image. The oldest one is dropped first."""
NO_DIGEST: Final = ""
"""The digest of credentials that only a kubelet has seen. No credentials have it."""


@dataclass(slots=True)
class ImageAccess:
    """Who may have an image of one repository."""

    is_for_all: bool = False
    """It was pulled with the node's own credentials, or with none."""
    secrets: dict[SecretSource, str] = field(default_factory=dict)
    """The digests of the credentials that it was pulled with."""


class PullRecords:
    """What is known of the pulls of this agent, in this process and those before, and of a kubelet's."""

    def __init__(self, salt: bytes) -> None:
        self._salt = salt
        self._begun: dict[str, int] = {}
        """By name: how many pulls are under way."""
        self._unknown: set[str] = set()
        """Names with a pull whose end nobody knows: an image of this name may be somebody's."""
        self._pulled: dict[str, dict[str, ImageAccess]] = {}
        """By id of the image and by repository."""
        self._new: set[str] = set()
        """Ids of images that were pulled since ``begin_look``."""

    # --- what happened ---------------------------------------------------------------------------------

    def note_begin(self, image: ImageName) -> None:
        """Note that a pull begins: should nobody note its end, the image counts as pulled by somebody."""
        self._begun[image.asked_for] = self._begun.get(image.asked_for, 0) + 1

    def note_failure(self, image: ImageName, *, is_certain: bool) -> None:
        """Note that a pull failed, for certain or maybe. That of another pod settles nothing."""
        left = self._begun.pop(image.asked_for, 0) - 1
        if left > 0:
            self._begun[image.asked_for] = left
        if not is_certain:
            self._unknown.add(image.asked_for)

    def note_absent(self, image: ImageName) -> None:
        """Note that there is no image of this name: whatever nobody knew the end of has failed."""
        self._unknown.discard(image.asked_for)

    def note_pulled(
        self,
        image: ImageName,
        image_id: str,
        credential: Credential | None,
        offered: Iterable[Credential],
    ) -> None:
        """Note that a pull succeeded, and with which of those credentials that were ``offered``."""
        self.note_failure(image, is_certain=True)
        self._unknown.discard(image.asked_for)
        self._new.add(image_id)
        accesses = self._pulled.setdefault(image_id, {})
        access = accesses.setdefault(image.repository, ImageAccess())
        if credential is None or credential.source is None:
            access.is_for_all = True
            return
        same = {each.source for each in offered if each.auth == credential.auth}
        for source in (credential.source, *same):
            if source is not None:
                self._note(access, source, credential.auth)

    def note_of_kubelet(self, pulled: KubeletPulled) -> None:
        """Note what a kubelet has pulled, and with which Secrets. What this agent knows of them stays."""
        accesses = self._pulled.setdefault(pulled.image_id, {})
        for repository, told in pulled.by_repository.items():
            access = accesses.setdefault(repository, ImageAccess())
            access.is_for_all |= told.is_for_all
            for source in told.secrets[-MOST_SECRETS:]:
                access.secrets.setdefault(source, NO_DIGEST)
            _cut(access)

    def note_uncertain(self, image: ImageName) -> None:
        """Note that nobody knows the end of a pull that somebody else has begun."""
        self._unknown.add(image.asked_for)

    def begin_look(self) -> None:
        """Note that somebody begins to look which images there are: a list may be old when it comes."""
        self._new.clear()

    def keep_only(self, image_ids: Iterable[str]) -> bool:
        """Forget images that were not there at the last look. Return whether there were any."""
        gone = self._pulled.keys() - set(image_ids) - self._new
        for image_id in gone:
            del self._pulled[image_id]
        return bool(gone)

    # --- what follows ----------------------------------------------------------------------------------

    def may_have(
        self,
        image: ImageName,
        image_id: str,
        credentials: Sequence[Credential],
        options: VerificationOptions,
    ) -> bool:
        """Return whether a pod with these ``credentials`` gets the image without pulling it."""
        if not self._is_verified(image, image_id, options):
            return True
        access = self._pulled.get(image_id, {}).get(image.repository)
        if access is None:
            return False
        return access.is_for_all or any(self._is_known(access, each) for each in credentials)

    def _is_verified(self, image: ImageName, image_id: str, options: VerificationOptions) -> bool:
        match options.policy:
            case VerificationPolicy.NEVER:
                return False
            case VerificationPolicy.NOT_PRELOADED:
                name = image.asked_for
                return image_id in self._pulled or name in self._begun or name in self._unknown
            case VerificationPolicy.NOT_ALLOWLISTED:
                return not is_listed(image.repository, options.allowlist)
            case VerificationPolicy.ALWAYS:
                return True

    def _is_known(self, access: ImageAccess, credential: Credential) -> bool:
        """Return whether it was pulled with these credentials, or with others of the same Secret."""
        if credential.source in access.secrets:
            return True
        return self._digest(credential.auth) in access.secrets.values()

    def _note(self, access: ImageAccess, source: SecretSource, auth: RegistryAuth) -> None:
        access.secrets.pop(source, None)
        access.secrets[source] = self._digest(auth)
        _cut(access)

    def _digest(self, auth: RegistryAuth) -> str:
        parts = (auth.username, auth.password, auth.identity_token, auth.registry_token)
        return hmac.new(self._salt, json.dumps(parts).encode(), hashlib.sha256).hexdigest()

    def replace_by(self, other: PullRecords) -> None:
        """Take over all that the ``other`` ones know."""
        self._salt, self._begun, self._pulled = other._salt, other._begun, other._pulled
        self._unknown = other._unknown

    # --- on disk ---------------------------------------------------------------------------------------

    def encoded(self) -> bytes:
        """Return all of it as it is on disk."""
        document = {
            "version": VERSION,
            "salt": self._salt.hex(),
            "begun": sorted({*self._begun, *self._unknown}),
            "pulled": {
                image_id: {repository: _shown(access) for repository, access in accesses.items()}
                for image_id, accesses in self._pulled.items()
            },
        }
        return json.dumps(document, indent=1).encode()

    @classmethod
    def decoded(cls, data: bytes) -> PullRecords | None:
        """Return what is on disk; None for what this agent cannot have written."""
        try:
            document = json.loads(data)
            if document["version"] != VERSION:
                return None
            records = cls(bytes.fromhex(document["salt"]))
            records._unknown = {str(name) for name in document["begun"]}
            records._pulled = {
                str(image_id): {str(name): _read(access) for name, access in accesses.items()}
                for image_id, accesses in document["pulled"].items()
            }
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return records


def is_listed(repository: str, allowlist: Iterable[str]) -> bool:
    """Return whether a list of repositories has this one. ``/*`` at an end is all below it."""
    return any(
        repository.startswith(each[:-1]) if each.endswith("/*") else repository == each
        for each in allowlist
    )


def _cut(access: ImageAccess) -> None:
    while len(access.secrets) > MOST_SECRETS:
        del access.secrets[next(iter(access.secrets))]


def _shown(access: ImageAccess) -> dict[str, Any]:
    return {
        "isForAll": access.is_for_all,
        "secrets": [
            {"namespace": each.namespace, "name": each.name, "uid": each.uid, "digest": digest}
            for each, digest in access.secrets.items()
        ],
    }


def _read(access: dict[str, Any]) -> ImageAccess:
    sources = {
        SecretSource(
            namespace=str(each["namespace"]), name=str(each["name"]), uid=str(each["uid"])
        ): str(each["digest"])
        for each in access["secrets"]
    }
    return ImageAccess(bool(access["isForAll"]), sources)

"""What a pod references: rules R1 to R7, and whether they are all that its schema has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.references import PodReference, Use, pod_references
from messages.objects import ObjectKind
from messages.pods import JsonObject
from tools.generate_pod_schema import pod_schema

Schema = Mapping[str, Mapping[str, str]]
Walk = Callable[[JsonObject], Iterator[PodReference]]

SCHEMA: Schema = pod_schema()
"""As the installed kubernetes client has it."""

SECRET, CONFIG_MAP = ObjectKind.SECRET, ObjectKind.CONFIG_MAP
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
SECRET_MOUNTS = ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos")

REFERENCES: dict[str, tuple[ObjectKind, Use]] = {
    "spec.imagePullSecrets[].name": (SECRET, Use.PULL),
    **{f"spec.{c}[].envFrom[].secretRef.name": (SECRET, Use.START) for c in CONTAINERS},
    **{f"spec.{c}[].envFrom[].configMapRef.name": (CONFIG_MAP, Use.START) for c in CONTAINERS},
    **{f"spec.{c}[].env[].valueFrom.secretKeyRef.name": (SECRET, Use.START) for c in CONTAINERS},
    **{
        f"spec.{c}[].env[].valueFrom.configMapKeyRef.name": (CONFIG_MAP, Use.START)
        for c in CONTAINERS
    },
    "spec.volumes[].azureFile.secretName": (SECRET, Use.MOUNT),
    "spec.volumes[].configMap.name": (CONFIG_MAP, Use.VOLUME),
    "spec.volumes[].csi.nodePublishSecretRef.name": (SECRET, Use.MOUNT),
    "spec.volumes[].projected.sources[].configMap.name": (CONFIG_MAP, Use.VOLUME),
    "spec.volumes[].projected.sources[].secret.name": (SECRET, Use.VOLUME),
    "spec.volumes[].secret.secretName": (SECRET, Use.VOLUME),
    **{f"spec.volumes[].{kind}.secretRef.name": (SECRET, Use.MOUNT) for kind in SECRET_MOUNTS},
}
"""Rules R1, R2, R3, R5 and R6."""

CLAIM = "spec.volumes[].ephemeral.volumeClaimTemplate.spec"
EXCEPTIONS = {
    "spec.volumes[].cephfs.secretFile": "a path on the node",
    f"{CLAIM}.dataSource.name": "a claim or a snapshot that a claim is filled from (rule R4)",
    f"{CLAIM}.dataSourceRef.name": "the same",
}
"""Fields that sound like references (rule R4), and why they are none."""

A_REFERENCE = re.compile(r"secret|configmap|localobjectref|objectreference", re.IGNORECASE)


def texts(
    schema: Schema, model: str = "V1PodSpec", path: str = "spec", *, told: bool = False
) -> Iterator[tuple[str, bool]]:
    """Yield the path of each text below ``model``, and whether it sounds like the name of an object.

    It does when it is called so, or when it is the name in something that is called so or whose type is.
    What is called so and has no such text below counts as one.
    """
    for field, kind in schema[model].items():
        inner = kind.strip("[]{}")
        here = f"{path}.{field}{'[]' * kind.startswith('[')}"
        sounds = bool(A_REFERENCE.search(f"{field} {inner}"))
        if inner in schema:
            below = list(texts(schema, inner, here, told=sounds))
            yield from below
            if sounds and not any(other for _, other in below):
                yield here, True
        elif inner == "str":
            yield here, sounds or (told and field == "name")


def named_in(schema: Schema) -> list[str]:
    """Return the paths of all texts that sound like names of objects."""
    return [path for path, sounds in texts(schema) if sounds]


def filled(path: str, value: object = "a-name") -> dict[str, Any]:
    """Return a pod that has nothing but a value at ``path``."""
    document: Any = value
    for step in reversed(path.split(".")):
        document = {step.removesuffix("[]"): [document] if step.endswith("[]") else document}
    return dict(document)


def shape(path: tuple[str | int, ...]) -> str:
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def found_in(document: JsonObject, walk: Walk = pod_references) -> list[tuple[str, str]]:
    return [(shape(reference.path), reference.name) for reference in walk(document)]


def overlooked(schema: Schema, walk: Walk = pod_references) -> list[str]:
    """Return which names of objects a walk does not find, though nobody says that they are none."""
    fields = [field for field in named_in(schema) if field not in EXCEPTIONS]
    return [field for field in fields if found_in(filled(field), walk) != [(field, "a-name")]]


def test_every_field_that_names_an_object_is_found() -> None:
    assert overlooked(SCHEMA) == []
    assert set(named_in(SCHEMA)) == {*REFERENCES, *EXCEPTIONS}


@pytest.mark.parametrize("field", REFERENCES)
def test_a_walk_that_overlooks_a_field_is_found_out(field: str) -> None:
    def walk(document: JsonObject) -> Iterator[PodReference]:
        return (found for found in pod_references(document) if shape(found.path) != field)

    assert overlooked(SCHEMA, walk) == [field]


@pytest.mark.parametrize(
    ("model", "field", "kind", "path"),
    [
        ("V1Volume", "newFS", "V1SecretVolumeSource", "spec.volumes[].newFS.secretName"),
        ("V1NFSVolumeSource", "auth", "V1LocalObjectReference", "spec.volumes[].nfs.auth.name"),
        ("V1NFSVolumeSource", "auth", "[V1SecretReference]", "spec.volumes[].nfs.auth[].name"),
        ("V1NFSVolumeSource", "keySecretName", "str", "spec.volumes[].nfs.keySecretName"),
        ("V1PodSpec", "settings", "[V1ConfigMapEnvSource]", "spec.settings[].name"),
        ("V1PodSpec", "settingsConfigMaps", "[str]", "spec.settingsConfigMaps[]"),
        ("V1PodSpec", "secretKey", "V1KeyToPath", "spec.secretKey"),
        ("V1PodDNSConfig", "key", "V1SecretKeySelector", "spec.dnsConfig.key.name"),
        ("V1PodDNSConfig", "more", "V1ObjectReference", "spec.dnsConfig.more.name"),
    ],
)
def test_a_field_that_another_release_adds_is_found_out(
    model: str, field: str, kind: str, path: str
) -> None:
    added = {model: {**SCHEMA[model], field: kind}}
    others = {"V1SecretReference": {"name": "str"}, "V1ObjectReference": {"name": "str"}}
    assert overlooked({**others, **SCHEMA, **added}) == [path]


def test_a_kind_of_container_that_another_release_adds_is_found_out() -> None:
    added = {"V1PodSpec": {**SCHEMA["V1PodSpec"], "lateContainers": "[V1Container]"}}
    assert overlooked({**SCHEMA, **added}) == [
        "spec.lateContainers[].env[].valueFrom.configMapKeyRef.name",
        "spec.lateContainers[].env[].valueFrom.secretKeyRef.name",
        "spec.lateContainers[].envFrom[].configMapRef.name",
        "spec.lateContainers[].envFrom[].secretRef.name",
    ]


@pytest.mark.parametrize(("field", "meaning"), REFERENCES.items())
def test_a_reference_says_what_it_names_and_what_for(
    field: str, meaning: tuple[ObjectKind, Use]
) -> None:
    (reference,) = pod_references(filled(field))
    assert (reference.kind, reference.use) == meaning


def test_no_other_text_of_a_pod_is_taken_for_a_name() -> None:
    # Rule R4: claims, service accounts, tokens, certificates, images, claim templates.
    paths = [path for path, _ in texts(SCHEMA)]
    assert len(paths) > 500
    assert {path for path in paths if found_in(filled(path))} == set(REFERENCES)


def test_references_come_in_one_order_whatever_the_order_of_the_fields() -> None:
    container = {
        "env": [{"valueFrom": {"secretKeyRef": {"name": "e"}, "configMapKeyRef": {"name": "f"}}}],
        "envFrom": [{"configMapRef": {"name": "d"}}, {"secretRef": {"name": "c"}}],
    }
    projected = {"sources": [{"configMap": {"name": "h"}}, {"secret": {"name": "i"}}]}
    spec = {
        "volumes": [{"secret": {"secretName": "g"}}, {"projected": projected}],
        "ephemeralContainers": [{"envFrom": [{"secretRef": {"name": "f2"}}]}],
        "containers": [{"name": "without"}, container],
        "initContainers": [{"envFrom": [{"secretRef": {"name": "b"}}]}],
        "imagePullSecrets": [{"name": "a"}, {"name": "a2"}],
    }
    names = [reference.name for reference in pod_references({"spec": spec})]
    assert names == ["a", "a2", "b", "d", "c", "e", "f", "f2", "g", "h", "i"]


def test_a_path_counts_what_names_nothing_too() -> None:
    spec = {"containers": [{}, {"envFrom": ["x", {"prefix": "A"}, {"secretRef": {"name": "a"}}]}]}
    (reference,) = pod_references({"spec": spec})
    assert reference.path == ("spec", "containers", 1, "envFrom", 2, "secretRef", "name")


def test_an_object_that_is_named_twice_comes_twice() -> None:
    container = {"envFrom": [{"secretRef": {"name": "a"}}, {"secretRef": {"name": "a"}}]}
    assert len(list(pod_references({"spec": {"containers": [container, container]}}))) == 4


@pytest.mark.parametrize(
    ("spec", "is_optional"),
    [
        ({"volumes": [{"secret": {"secretName": "a", "optional": True}}]}, True),
        ({"volumes": [{"secret": {"secretName": "a", "optional": False}}]}, False),
        ({"volumes": [{"secret": {"secretName": "a", "optional": "true"}}]}, False),
        (
            {
                "volumes": [
                    {"projected": {"sources": [{"secret": {"name": "a", "optional": True}}]}}
                ]
            },
            True,
        ),
        ({"containers": [{"envFrom": [{"secretRef": {"name": "a", "optional": True}}]}]}, True),
        (
            {
                "containers": [
                    {"env": [{"valueFrom": {"secretKeyRef": {"name": "a", "optional": True}}}]}
                ]
            },
            True,
        ),
        ({"imagePullSecrets": [{"name": "a"}]}, False),
    ],
    ids=str,
)
def test_an_optional_object_is_referenced_and_said_to_be_so(
    spec: JsonObject, *, is_optional: bool
) -> None:
    (found,) = pod_references({"spec": spec})
    assert (found.name, found.is_optional) == ("a", is_optional)


@pytest.mark.parametrize(
    ("volume", "name"),
    [
        ({"secret": {"secretName": "s"}, "configMap": {"name": "c"}}, ["c"]),
        ({"rbd": {"secretRef": {"name": "r"}}, "cephfs": {"secretRef": {"name": "e"}}}, ["e"]),
        ({"secret": {"secretName": "s"}, "azureFile": {"shareName": "a"}}, []),
        ({"secret": {"secretName": "s"}, "azureFile": None}, ["s"]),
        ({"secret": {"secretName": "s"}, "emptyDir": {}}, ["s"]),
        ({"storageos": {"secretRef": {"name": "o"}}, "projected": {"sources": []}}, []),
    ],
    ids=str,
)
def test_a_volume_of_two_kinds_is_of_the_first_in_the_alphabet(
    volume: JsonObject, name: list[str]
) -> None:
    # Rule R7.
    assert [found.name for found in pod_references({"spec": {"volumes": [volume]}})] == name


WHOLE = {"name": "v", "mountPath": "/etc/a"}
PART = WHOLE | {"subPath": "a.conf"}
SOME_PART = WHOLE | {"subPathExpr": "$(NAME).conf"}
OTHER = WHOLE | {"name": "w"}


@pytest.mark.parametrize(
    ("mounts", "use"),
    [
        ([], Use.VOLUME),
        ([WHOLE], Use.VOLUME),
        ([WHOLE | {"subPath": ""}], Use.VOLUME),
        ([PART], Use.PART),
        ([SOME_PART, PART, OTHER], Use.PART),
        ([PART, WHOLE], Use.VOLUME),
        ([OTHER | {"subPath": "a"}], Use.VOLUME),
    ],
)
@pytest.mark.parametrize("containers", CONTAINERS)
@pytest.mark.parametrize(
    "source",
    [
        {"secret": {"secretName": "a"}},
        {"configMap": {"name": "a"}},
        {"projected": {"sources": [{"secret": {"name": "a"}}]}},
    ],
    ids=str,
)
def test_files_that_are_mounted_by_a_path_in_their_volume_stay_what_they_were(
    source: JsonObject, containers: str, mounts: list[JsonObject], use: Use
) -> None:
    spec = {"volumes": [{**source, "name": "v"}], containers: [{}, {"volumeMounts": mounts}]}
    assert [found.use for found in pod_references({"spec": spec})] == [use]


def test_a_volume_without_a_name_is_none_that_is_mounted_in_parts() -> None:
    spec = {
        "volumes": [{"name": ["v"], "secret": {"secretName": "a"}}],
        "containers": [{"volumeMounts": [{"name": ["v"], "subPath": "a"}]}],
    }
    assert [found.use for found in pod_references({"spec": spec})] == [Use.VOLUME]


@pytest.mark.parametrize("field", REFERENCES)
@pytest.mark.parametrize("name", ["", None, 5, True, ["a"], {"name": "a"}], ids=str)
def test_what_is_no_name_references_nothing(field: str, name: object) -> None:
    assert list(pod_references(filled(field, name))) == []


FIELD_NAMES = sorted({"spec", *(step for fields in SCHEMA.values() for step in fields)})
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)


def somehow(names: list[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        SCALARS,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(names), inner, max_size=4)
        ),
        max_leaves=20,
    )


@given(st.sampled_from(list(REFERENCES)), st.integers(1, 8), somehow(FIELD_NAMES))
def test_whatever_stands_anywhere_nothing_is_raised(field: str, depth: int, value: Any) -> None:
    above = ".".join(field.split(".")[:depth])
    assert all(
        found.name and isinstance(found.name, str) for found in pod_references(filled(above, value))
    )

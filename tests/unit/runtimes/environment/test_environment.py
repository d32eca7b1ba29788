"""What a container is started with: variables, command and arguments, in a kubelet's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages.cluster import ClusterPort, ClusterService
from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin
from messages.pod_runtime import UsedObject
from runtimes.environment.assembling import LONGEST_TEXT, environment_of
from runtimes.environment.objects import Environment, EnvironmentSituation, used_objects
from tests.support.builders import make_pod

SECRET: Final = ObjectKind.SECRET
CONFIG_MAP: Final = ObjectKind.CONFIG_MAP


def known(
    kind: ObjectKind, name: str, data: dict[str, bytes], *binary: str
) -> tuple[ObjectId, ObjectValue]:
    of = ObjectId(kind=kind, namespace="default", name=name, origin=Origin.LOCAL)
    keys = frozenset(binary)
    return of, ObjectValue(uid="u", resource_version="1", data=data, binary_keys=keys)


OBJECTS: Final[Mapping[ObjectId, ObjectValue]] = dict(
    [
        known(SECRET, "db", {"user": b"ann", "password": b"hunter2"}),
        known(CONFIG_MAP, "settings", {"LEVEL": b"debug", "LOGO": b"text"}, "LOGO"),
    ]
)
API: Final = ClusterService(
    namespace="default",
    name="kubernetes",
    address="10.0.0.1",
    ports=(ClusterPort(443, name="https"),),
)


def environment(objects: Mapping[ObjectId, ObjectValue] = OBJECTS, **container: Any) -> Environment:
    situation = EnvironmentSituation(
        pod=make_pod(), container={"name": "main", **container}, objects=objects, services=(API,)
    )
    return environment_of(situation)


def own(**container: Any) -> dict[str, str]:
    """Return the variables, without those of Services."""
    made = environment(**container)
    assert made.failure == ""
    return {name: v for name, v in made.variables.items() if not name.startswith("KUBERNETES_")}


def literal(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "value": value}


def of_secret(name: str, key: str, **more: object) -> dict[str, Any]:
    return {"name": "V", "valueFrom": {"secretKeyRef": {"name": name, "key": key, **more}}}


def of_config_map(name: str, key: str, **more: object) -> dict[str, Any]:
    return {"name": "V", "valueFrom": {"configMapKeyRef": {"name": name, "key": key, **more}}}


def test_variables_come_in_the_order_of_their_sources_and_services_last() -> None:
    made = environment(
        envFrom=[{"secretRef": {"name": "db"}, "prefix": "DB_"}],
        env=[literal("B", "1"), literal("A", "2")],
    )
    names = list(made.variables)
    assert names[:4] == ["DB_user", "DB_password", "B", "A"]
    assert all(name.startswith("KUBERNETES_") for name in names[4:])
    assert made.variables["KUBERNETES_SERVICE_HOST"] == "10.0.0.1"


def test_of_two_with_one_name_the_later_counts_and_sees_the_earlier_one() -> None:
    env = [literal("A", "1"), literal("B", "x"), literal("A", "$(A)2")]
    assert list(own(env=env).items()) == [("A", "12"), ("B", "x")]


def test_a_later_object_wins_over_an_earlier_one_and_env_over_both() -> None:
    objects = dict(
        [
            known(SECRET, "one", {"A": b"1", "B": b"1"}),
            known(CONFIG_MAP, "two", {"A": b"2", "C": b"2"}),
        ]
    )
    sources = [{"secretRef": {"name": "one"}}, {"configMapRef": {"name": "two"}}]
    assert own(objects=objects, envFrom=sources, env=[literal("C", "3")]) == {
        "A": "2",
        "B": "1",
        "C": "3",
    }


def test_what_a_container_sets_itself_takes_the_place_of_a_services_variable() -> None:
    host = "KUBERNETES_SERVICE_HOST"
    made = environment(env=[literal(host, "here"), literal("A", f"$({host})")])
    assert made.variables["A"] == "here"
    assert made.variables[host] == "here"
    assert made.variables["KUBERNETES_SERVICE_PORT"] == "443"


def test_a_value_may_use_earlier_ones_and_those_of_services_and_no_later_ones() -> None:
    env = [
        literal("A", "1"),
        literal("B", "$(A)$(C)$$(A)"),
        literal("C", "$(KUBERNETES_SERVICE_PORT)"),
    ]
    assert own(env=env) == {"A": "1", "B": "1$(C)$(A)", "C": "443"}


def test_variables_that_name_each_other_or_themselves_end_nowhere() -> None:
    env = [literal("A", "$(B)"), literal("B", "$(A)"), literal("C", "$(C)"), literal("A", "$(B)")]
    assert own(env=env) == {"A": "$(B)", "B": "$(B)", "C": "$(C)"}


def test_only_literal_values_are_expanded() -> None:
    objects = dict([known(SECRET, "s", {"key": b"$(A) $$"})])
    env = [literal("A", "1"), of_secret("s", "key")]
    assert own(objects=objects, env=env) == {"A": "1", "V": "$(A) $$"}


def test_command_and_arguments_see_all_variables() -> None:
    made = environment(
        command=["run", "$(A)", "$(KUBERNETES_SERVICE_HOST)"],
        args=["$$(A)", "$(none)", "50%"],
        env=[literal("A", "1")],
    )
    assert made.command == ("run", "1", "10.0.0.1")
    assert made.args == ("$(A)", "$(none)", "50%")


def test_a_container_that_says_nothing_gets_what_its_image_says() -> None:
    made = environment()
    assert (made.command, made.args, made.failure) == ((), (), "")


@pytest.mark.parametrize(
    ("container", "sentence"),
    [
        ({"env": [of_secret("none", "a")]}, 'secret "none" not found'),
        ({"env": [of_config_map("none", "a")]}, 'configmap "none" not found'),
        ({"env": [of_secret("db", "a")]}, "couldn't find key a in Secret default/db"),
        (
            {"env": [of_config_map("settings", "a")]},
            "couldn't find key a in ConfigMap default/settings",
        ),
        (
            {"env": [of_config_map("settings", "LOGO")]},
            "couldn't find key LOGO in ConfigMap default/settings",
        ),
        ({"envFrom": [{"secretRef": {"name": "none"}}]}, 'secret "none" not found'),
        ({"envFrom": [{"configMapRef": {"name": "none"}}]}, 'configmap "none" not found'),
        (
            {"envFrom": [{"newRef": {"name": "none"}}]},
            "an item of envFrom names no object that is known here",
        ),
        (
            {"env": [{"name": "V", "valueFrom": {"fileKeyRef": {"key": "k"}}}]},
            "variable V: fileKeyRef is not supported",
        ),
        (
            {"env": [{"name": "V", "valueFrom": {"newKeyRef": {"key": "k"}}}]},
            "variable V comes from a place that is not known here",
        ),
        ({"env": [literal("a\nb", "1")]}, r"'a\nb' is no name of a variable"),
        (
            {"env": [literal("A", "a\0b")]},
            "variable A has a NUL, which no process can be given",
        ),
        (
            {"env": [literal("A", "x" * (LONGEST_TEXT + 1))]},
            "variable A is longer than a process can be given",
        ),
        (
            {"args": ["é" * (LONGEST_TEXT // 2 + 1)]},
            "args is longer than a process can be given",
        ),
        ({"command": ["\udcff"]}, "command must be UTF-8, with the values of variables"),
    ],
)
def test_what_keeps_a_container_from_being_created_is_said_in_a_kubelets_words(
    container: dict[str, Any], sentence: str
) -> None:
    assert environment(**container) == Environment(failure=sentence)


@pytest.mark.parametrize("name", ["db", "none"])
def test_what_is_optional_may_be_missing_and_leaves_an_earlier_value(name: str) -> None:
    env = [literal("V", "before"), of_secret(name, "none", optional=True)]
    assert own(env=env) == {"V": "before"}
    source = {"secretRef": {"name": "none", "optional": True}}
    assert own(envFrom=[source]) == {}


def test_variables_are_never_set_from_binary_data() -> None:
    assert own(envFrom=[{"configMapRef": {"name": "settings"}}]) == {"LEVEL": "debug"}
    assert own(env=[of_config_map("settings", "LOGO", optional=True)]) == {}


def test_keys_that_no_variable_can_have_as_a_name_are_skipped_and_told() -> None:
    data = {"1bad": b"1", "a-b": b"2", "a=b": b"3", "a\nb": b"4"}
    objects = dict([known(CONFIG_MAP, "c", data), known(SECRET, "s", {"é": b"5"})])
    made = environment(
        objects, envFrom=[{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}}]
    )
    assert [name for name in made.variables if "KUBERNETES" not in name] == ["1bad", "a-b"]
    skipped = "were skipped since they are considered invalid environment variable names."
    assert [each.message for each in made.skipped] == [
        rf"Keys ['a\nb', a=b] from the EnvFrom configMap default/c {skipped}",
        f"Keys [é] from the EnvFrom secret default/s {skipped}",
    ]


def test_a_prefix_is_part_of_the_name() -> None:
    objects = dict([known(CONFIG_MAP, "c", {"key": b"1"})])
    source = {"prefix": "=", "configMapRef": {"name": "c"}}
    made = environment(objects, envFrom=[source])
    assert [each.names for each in made.skipped] == [("=key",)]


def test_bytes_that_are_no_text_reach_the_process_as_they_are() -> None:
    objects = dict([known(SECRET, "s", {"key": b"a\xff\xfe"})])
    made = environment(objects, env=[of_secret("s", "key"), literal("W", "$(V)!")])
    assert dict(made.encoded())["V"] == b"a\xff\xfe"
    assert dict(made.encoded())["W"] == b"a\xff\xfe!"
    failed = environment(objects, env=[of_secret("s", "key")], args=["$(V)"])
    assert failed.failure == "args must be UTF-8, with the values of variables"


def test_half_a_character_as_json_can_hold_it_is_replaced() -> None:
    assert dict(environment(env=[literal("A", "x\ud800")]).encoded())["A"] == b"x\xef\xbf\xbd"


def test_an_object_of_the_other_origin_is_not_meant() -> None:
    api = ObjectId(kind=SECRET, namespace="default", name="db", origin=Origin.API)
    objects = {api: ObjectValue(uid="u", resource_version="1", data={"a": b"1"})}
    assert environment(objects, env=[of_secret("db", "a")]).failure == 'secret "db" not found'


def test_variables_that_grow_from_line_to_line_are_stopped_in_time() -> None:
    env = [literal("A0", "x" * 1000)]
    env += [literal(f"A{n}", f"$(A{n - 1})" * 10) for n in range(1, 20)]
    assert environment(env=env).failure == "variable A4 is longer than a process can be given"


def test_many_long_variables_are_stopped_in_time() -> None:
    env = [literal(f"A{n}", "x" * 1_000_000) for n in range(9)]
    together = "variables and arguments together are longer than a process can be given"
    assert environment(env=env).failure == together


def test_no_value_is_shown() -> None:
    made = environment(env=[of_secret("db", "password")], command=["$(V)"])
    assert made.command == ("hunter2",)
    assert "hunter2" not in repr(made)
    assert "'V'" in repr(made)
    situation = EnvironmentSituation(
        pod=make_pod(), container={"env": [literal("A", "hunter2")]}, objects=OBJECTS
    )
    assert "hunter2" not in repr(situation)


NAMES = st.sampled_from(["A", "B", "a-b", "", "=", "\n", "\0", "é", "\ud800"])
TEXTS = st.text(st.sampled_from("$()AB \0\udcff\ud800é")) | st.none()
REFERENCES = st.fixed_dictionaries(
    {"name": st.sampled_from(["db", "settings", "none", ""])},
    optional={"key": NAMES, "optional": st.sampled_from([True, False, None, "yes"])},
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "fieldPath": st.sampled_from(
            ["metadata.name", "metadata.labels['x']", "status.podIPs", "status.", "", "spec.host"]
        ),
        "apiVersion": st.sampled_from(["v1", "v2"]),
        "resource": st.sampled_from(
            ["limits.cpu", "requests.hugepages-2Mi", "limits.hugepages-", ""]
        ),
        "divisor": st.sampled_from(["0", "1m", "-1", "x", "1" * 200]),
        "containerName": st.sampled_from(["web", "none"]),
    },
)
ORIGINS = st.dictionaries(
    st.sampled_from(
        ["secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef", "other"]
    ),
    REFERENCES | FIELDS,
    max_size=2,
)
VARIABLES = st.fixed_dictionaries({"name": NAMES}, optional={"value": TEXTS, "valueFrom": ORIGINS})
SOURCES = st.fixed_dictionaries(
    {}, optional={"prefix": NAMES, "secretRef": REFERENCES, "configMapRef": REFERENCES}
)


@given(
    env=st.lists(VARIABLES),
    sources=st.lists(SOURCES, max_size=3),
    words=st.lists(TEXTS.filter(bool)),
    data=st.dictionaries(NAMES, st.binary()),
)
def test_whatever_a_container_says_there_is_an_environment_or_a_sentence(
    env: list[Any], sources: list[Any], words: list[str], data: dict[str, bytes]
) -> None:
    objects = dict([known(SECRET, "db", data), known(CONFIG_MAP, "settings", data)])
    made = environment(objects, env=env, envFrom=sources, command=words, args=words)
    if made.failure:
        assert made == Environment(failure=made.failure)
    else:
        assert len(made.command) == len(words)
        assert all(b"\0" not in value for _, value in made.encoded())
        assert all(word.encode() is not None for word in (*made.command, *made.args))


def test_what_variables_are_made_from_is_told_by_version_once_each_and_without_values() -> None:
    container = {
        "name": "main",
        "envFrom": [{"configMapRef": {"name": "settings"}}],
        "env": [
            of_secret("db", "user"),
            of_secret("db", "password"),
            of_config_map("no", "a", optional=True),
        ],
    }
    assert used_objects(make_pod(), container, OBJECTS) == (
        UsedObject(CONFIG_MAP, "settings", "1"),
        UsedObject(SECRET, "db", "1"),
        UsedObject(CONFIG_MAP, "no", ""),
    )
    assert used_objects(make_pod(), {"name": "main"}, OBJECTS) == ()

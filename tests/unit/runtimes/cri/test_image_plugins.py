"""Credential plugins: their configuration, what they answer, and how long an answer is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from messages.units import Seconds
from runtimes.cri.images.keyring import LocatedAuth, RegistryAuth
from runtimes.cri.images.node_credentials import loaded_plugins, places, read_node_files
from runtimes.cri.images.plugins import (
    API_VERSION,
    MOST_CACHED,
    CacheKeyType,
    CredentialPlugin,
    PluginAnswer,
    PluginAnswerError,
    PluginCache,
    PluginConfigError,
    asked_about,
    question,
    read_answer,
    read_plugin_config,
)

CANARY = "hunter2-" + "x" * 20
PROVIDER: dict[str, Any] = {
    "name": "ecr",
    "matchImages": ["*.dkr.ecr.*.amazonaws.com", "quay.io"],
    "defaultCacheDuration": "12h",
    "apiVersion": API_VERSION,
    "args": ["get"],
    "env": [{"name": "REGION", "value": "eu"}],
}
ECR = CredentialPlugin(
    name="ecr",
    match_images=("*.dkr.ecr.*.amazonaws.com", "quay.io"),
    default_cache=Seconds(43_200.0),
    args=("get",),
    env={"REGION": "eu"},
)


def config(*providers: Any, **changed: Any) -> bytes:
    document = {
        "apiVersion": "kubelet.config.k8s.io/v1",
        "kind": "CredentialProviderConfig",
        "providers": list(providers),
        **changed,
    }
    return json.dumps(document).encode()


# --- the configuration --------------------------------------------------------------------------------------


def test_a_configuration_lists_plugins() -> None:
    assert read_plugin_config(config(PROVIDER)) == (ECR,)
    yaml = f"""
apiVersion: kubelet.config.k8s.io/v1beta1
kind: CredentialProviderConfig
providers:
- {{name: plain, matchImages: [quay.io], defaultCacheDuration: "0", apiVersion: {API_VERSION}}}
"""
    (plain,) = read_plugin_config(yaml.encode())
    assert (plain.name, plain.default_cache, plain.args, plain.env) == ("plain", 0.0, (), {})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"name": None}, "providers[0].name: is required"),
        ({"name": "../ecr"}, "providers[0].name: should be the name of a file"),
        ({"name": "a b"}, "providers[0].name: should be the name of a file"),
        ({"matchImages": []}, "providers[0].matchImages: should list at least one image"),
        ({"matchImages": "quay.io"}, "providers[0].matchImages: should be a list of texts"),
        ({"defaultCacheDuration": None}, "defaultCacheDuration: should be a duration such as 12h"),
        ({"defaultCacheDuration": "-1h"}, "defaultCacheDuration: should be a duration such as 12h"),
        ({"defaultCacheDuration": "soon"}, "defaultCacheDuration: should be a duration such as"),
        ({"apiVersion": "credentialprovider.kubelet.k8s.io/v1alpha1"}, f"should be {API_VERSION}"),
        ({"args": [1]}, "providers[0].args: should be a list of texts"),
        ({"env": {"A": "b"}}, "providers[0].env: should be a list of names and values"),
        ({"env": [{"value": "b"}]}, "providers[0].env: should be a list of names and values"),
        ({"tokenAttributes": {}}, "tokens of service accounts are not given to plugins"),
        ({"matchImage": []}, "providers[0].matchImage: is no field of a plugin"),
    ],
)
def test_what_is_wrong_with_a_plugin_is_one_sentence(
    changed: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(PluginConfigError) as error:
        read_plugin_config(config({**PROVIDER, **changed}))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"kind: Pod", "should be of kind CredentialProviderConfig"),
        (b"[]", "should be of kind CredentialProviderConfig"),
        (config(PROVIDER, apiVersion=[]), "apiVersion: should be kubelet.config.k8s.io/v1"),
        (config(PROVIDER, apiVersion="v1"), "apiVersion: should be kubelet.config.k8s.io/v1"),
        (config(), "providers: should list at least one plugin"),
        (config("ecr"), "providers[0]: should be an object"),
        (config(PROVIDER, PROVIDER), "providers: more than one is called ecr"),
        (b"\xff", "UTF-8"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_one_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(PluginConfigError) as error:
        read_plugin_config(data)
    assert sentence in str(error.value)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a directory with a program called ``ecr`` and a file that is none."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, mode in (("ecr", 0o755), ("gcr", 0o755), ("broken", 0o644)):
        folder.joinpath(name).touch()
        folder.joinpath(name).chmod(mode)
    return folder


def test_a_configuration_is_a_file_or_a_directory_of_files(tmp_path: Path, programs: Path) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    folder.joinpath("b.yaml").write_bytes(config(PROVIDER))
    folder.joinpath("a.json").write_bytes(config({**PROVIDER, "name": "gcr"}))
    folder.joinpath("readme.txt").write_text("not this one")
    assert [each.name for each in loaded_plugins(folder, programs)] == ["gcr", "ecr"]
    assert loaded_plugins(folder / "b.yaml", programs) == (ECR,)
    folder.joinpath("c.yml").write_bytes(config(PROVIDER))
    with pytest.raises(PluginConfigError, match="more than one is called ecr"):
        loaded_plugins(folder, programs)


def test_a_configuration_that_cannot_be_used_names_the_file(tmp_path: Path, programs: Path) -> None:
    file = tmp_path / "config.yaml"
    with pytest.raises(PluginConfigError, match=r"config\.yaml: cannot be read: No such file"):
        loaded_plugins(file, programs)
    file.write_bytes(config())
    with pytest.raises(PluginConfigError, match=r"config\.yaml: providers: should list"):
        loaded_plugins(file, programs)
    for name in ("missing", "broken"):
        file.write_bytes(config({**PROVIDER, "name": name}))
        with pytest.raises(PluginConfigError, match=f"{name}: there is no such program"):
            loaded_plugins(file, programs)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(PluginConfigError, match="has no file of a configuration"):
        loaded_plugins(empty, programs)


def test_a_plugin_is_asked_about_the_images_that_its_locations_cover() -> None:
    for repository, asked in (
        ("quay.io/team/app", (ECR,)),
        ("1.dkr.ecr.eu.amazonaws.com/app", (ECR,)),
        ("docker.io/library/app", ()),
    ):
        assert asked_about([ECR], repository) == asked
    assert json.loads(question("quay.io/app")) == {
        "kind": "CredentialProviderRequest",
        "apiVersion": API_VERSION,
        "image": "quay.io/app",
    }


# --- answers ------------------------------------------------------------------------------------------------


def printed(**changed: Any) -> bytes:
    document = {
        "kind": "CredentialProviderResponse",
        "apiVersion": API_VERSION,
        "cacheKeyType": "Registry",
        "cacheDuration": "6h",
        "auth": {"quay.io": {"username": "me", "password": "p"}},
        **changed,
    }
    return json.dumps(document).encode()


def test_an_answer_has_credentials_and_says_how_long_they_are_good() -> None:
    answer = read_answer(ECR, printed())
    auth = RegistryAuth(username="me", password="p")
    assert answer.entries == (LocatedAuth("quay.io", auth),)
    assert (answer.key_type, answer.cached_for) == (CacheKeyType.REGISTRY, 6 * 3600.0)
    assert read_answer(ECR, printed(cacheDuration=None)).cached_for == ECR.default_cache
    assert read_answer(ECR, printed(auth=None)).entries == ()
    assert "me" not in repr(answer)


@pytest.mark.parametrize(
    "output",
    [
        CANARY.encode(),
        b"[" * 100_000,
        b"[]",
        printed(kind=CANARY),
        printed(apiVersion=CANARY),
        printed(cacheKeyType=CANARY),
        printed(cacheKeyType=[]),
        printed(cacheDuration=CANARY),
        printed(cacheDuration=7),
        printed(auth=CANARY),
        printed(auth={"quay.io": CANARY}),
        printed(auth={"quay.io": {"username": [CANARY]}}),
    ],
)
def test_an_answer_that_cannot_be_used_is_said_without_its_content(output: bytes) -> None:
    with pytest.raises(PluginAnswerError) as error:
        read_answer(ECR, output)
    assert CANARY not in str(error.value)


def answer(key_type: CacheKeyType, cached_for: float = 10.0) -> PluginAnswer:
    return PluginAnswer(entries=(), key_type=key_type, cached_for=Seconds(cached_for))


@pytest.mark.parametrize(
    ("key_type", "good_for"),
    [
        (CacheKeyType.IMAGE, {"quay.io/a"}),
        (CacheKeyType.REGISTRY, {"quay.io/a", "quay.io/b"}),
        (CacheKeyType.GLOBAL, {"quay.io/a", "quay.io/b", "ghcr.io/a"}),
    ],
)
def test_an_answer_is_good_for_what_it_says(key_type: CacheKeyType, good_for: set[str]) -> None:
    cache = PluginCache()
    cache.keep("ecr", "quay.io/a", answer(key_type), Seconds(0.0))
    repositories = ("quay.io/a", "quay.io/b", "ghcr.io/a")
    found = {each for each in repositories if cache.find("ecr", each, Seconds(9.0)) is not None}
    assert found == good_for
    assert cache.find("gcr", "quay.io/a", Seconds(9.0)) is None
    assert cache.find("ecr", "quay.io/a", Seconds(10.0)) is None


def test_an_answer_that_is_good_for_no_time_is_not_kept() -> None:
    cache = PluginCache()
    cache.keep("ecr", "quay.io/a", answer(CacheKeyType.IMAGE, 0.0), Seconds(0.0))
    assert cache.find("ecr", "quay.io/a", Seconds(0.0)) is None


def test_of_very_many_answers_the_oldest_is_dropped() -> None:
    cache = PluginCache()
    for number in range(MOST_CACHED + 1):
        cache.keep("ecr", f"quay.io/{number}", answer(CacheKeyType.IMAGE), Seconds(0.0))
    assert cache.find("ecr", "quay.io/0", Seconds(1.0)) is None
    assert cache.find("ecr", "quay.io/1", Seconds(1.0)) is not None


# --- files of the node --------------------------------------------------------------------------------------


def test_the_first_file_that_can_be_used_counts(tmp_path: Path) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    directories = places(root, home)
    assert directories == (root, home / ".docker", home, Path("/.docker"), Path("/"))
    assert places(root, None) == (root, Path("/.docker"), Path("/"))
    home.joinpath(".docker").mkdir(parents=True)
    root.mkdir()
    mine = directories[:3]
    assert read_node_files(mine) == ((), ())
    home.joinpath(".dockercfg").write_text('{"quay.io": {"username": "old"}}')
    assert [each.auth.username for each in read_node_files(mine).entries] == ["old"]
    home.joinpath(".docker/config.json").write_text('{"auths": {"quay.io": {"username": "new"}}}')
    assert [each.auth.username for each in read_node_files(mine).entries] == ["new"]
    root.joinpath("config.json").write_text(f'{{"auths": {CANARY}')
    entries, complaints = read_node_files(mine)
    assert [each.auth.username for each in entries] == ["new"]
    assert complaints == (f"{root / 'config.json'}: is not a JSON object",)


def test_a_file_that_cannot_be_read_is_said_and_passed_over(tmp_path: Path) -> None:
    tmp_path.joinpath("config.json").mkdir()
    tmp_path.joinpath(".dockercfg").write_text('{"quay.io": {"username": "old"}}')
    entries, complaints = read_node_files([tmp_path])
    assert [each.auth.username for each in entries] == ["old"]
    assert complaints == (f"{tmp_path / 'config.json'}: cannot be read: Is a directory",)

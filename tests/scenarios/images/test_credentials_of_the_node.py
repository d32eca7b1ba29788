"""The node's own credentials: of docker's files, and of plugins that are real programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernel.commands import output_of
from messages.units import Seconds
from runtimes.cri.images.node_credentials import ask_plugin
from runtimes.cri.images.options import GarbageOptions, ImageOptions, NodeCredentials
from runtimes.cri.images.plugins import API_VERSION, CredentialPlugin
from runtimes.cri.operations.flow import DiskError
from tests.support.images.image_stage import (
    ImageStage,
    image_id,
    image_stage,
    pod_with,
    pull_secret,
)

APP = "quay.io/team/app:1"
WEB = pod_with("web", "alice")
ALICE = pull_secret("alice", "alice")

PROGRAM = """#!/bin/sh
read request
echo "$request $1 $REGION" >> "$0.asked"
cat <<END
{{"kind": "CredentialProviderResponse", "apiVersion": "{version}", "cacheKeyType": "Registry",
  "auth": {{"quay.io": {{"username": "plugin", "password": "canary-plugin"}}}}}}
END
exit {code}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def write_program(folder: Path, code: int = 0, text: str = PROGRAM) -> None:
    file = folder / "ecr"
    file.write_text(text.format(version=API_VERSION, code=code))
    file.chmod(0o755)


def options(folder: Path, *, with_plugin: bool = True) -> ImageOptions:
    plugin = CredentialPlugin(
        name="ecr",
        match_images=("quay.io",),
        default_cache=Seconds(100.0),
        args=("get",),
        env={"REGION": "eu"},
    )
    return ImageOptions(
        credentials=NodeCredentials(
            directories=(folder,),
            plugins=(plugin,) if with_plugin else (),
            plugin_directory=folder,
            environment=os.environ,
            run=output_of,
        ),
        garbage=GarbageOptions(high_percent=100),
    )


def asked(folder: Path) -> list[str]:
    file = folder / "ecr.asked"
    return file.read_text().splitlines() if file.exists() else []


def users(stage: ImageStage) -> list[str]:
    return [user for _, user in stage.service.pulls()]


def test_a_plugin_gives_credentials_once_for_many_pulls(folder: Path) -> None:
    write_program(folder)
    with image_stage(options=options(folder)) as stage:
        stage.service.offer(APP, users=("plugin",))
        stage.service.offer("quay.io/other:1", users=("plugin",))
        assert image_id(stage.pull(APP))
        assert image_id(stage.pull("quay.io/other:1"))
        request = '{"kind": "CredentialProviderRequest", "apiVersion": "%s", "image": "%s"} get eu'
        assert asked(folder) == [request % (API_VERSION, "quay.io/team/app")]
        stage.play.advance(100.0)
        stage.pull(APP)
        assert len(asked(folder)) == 2


def test_a_plugin_is_not_asked_about_other_images(folder: Path) -> None:
    write_program(folder)
    with image_stage(options=options(folder)) as stage:
        stage.service.offer("ghcr.io/app:1")
        assert image_id(stage.pull("ghcr.io/app:1"))
        assert asked(folder) == []


def test_an_image_that_the_node_may_pull_is_every_pods(folder: Path) -> None:
    write_program(folder)
    with image_stage(options=options(folder)) as stage:
        stage.service.offer(APP, users=("plugin",))
        stage.pull(APP, WEB, ALICE)
        assert users(stage) == ["alice", "plugin"]
        assert image_id(stage.find(APP, pod_with("other")))


@pytest.mark.parametrize(
    ("code", "text"),
    [(3, PROGRAM), (0, "#!/bin/sh\necho canary-plugin"), (0, "#!/no/such/shell\n")],
)
def test_a_plugin_that_fails_is_said_and_counted_and_the_pull_goes_on(
    folder: Path, code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_program(folder, code, text)
    with image_stage(options=options(folder)) as stage:
        stage.service.offer(APP)
        assert image_id(stage.pull(APP))
        assert users(stage) == [""]
        assert stage.memory.figures.plugin_errors == {"ecr": 1}
    assert "canary" not in capsys.readouterr().out


def test_without_anything_to_run_them_plugins_give_nothing(folder: Path) -> None:
    (plugin,) = options(folder).credentials.plugins
    with pytest.raises(DiskError, match="there is nothing to run it with"):
        ask_plugin(NodeCredentials(), plugin, "quay.io/app")


def test_the_nodes_file_is_read_for_each_pull(folder: Path) -> None:
    with image_stage(options=options(folder, with_plugin=False)) as stage:
        stage.service.offer(APP, users=("node",))
        stage.pull(APP)
        folder.joinpath("config.json").write_text('{"auths": {"quay.io": {"username": "node"}}}')
        stage.answered()
        assert image_id(stage.pull(APP))
        assert users(stage) == ["", "node"]


def test_a_file_system_that_hangs_holds_a_pull_up_for_a_while_only(folder: Path) -> None:
    with image_stage(options=options(folder, with_plugin=False)) as stage:
        stage.service.offer(APP)
        stage.jobs.hangs = True
        stage.ask(APP)
        stage.play.advance(89.0)
        assert stage.answered() == {}
        stage.service.holds_pulls = True
        stage.play.advance(11.0)
        (late,) = stage.jobs.waiting
        late.do()
        stage.play.settle()
        stage.service.let_go()
        stage.play.settle()
        assert image_id(stage.answer())

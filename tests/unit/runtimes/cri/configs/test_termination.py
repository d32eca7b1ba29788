"""Where the message of a container that ended is to be read."""

from __future__ import annotations

import pytest

from runtimes.cri.configs.termination import last_words, message_of
from runtimes.cri.disk.tasks import LastWords
from runtimes.cri.wire import cri_pb2 as cri

FILE = "/r/pods/u1/containers/main/00000001"
LOG = "/var/log/pods/shop_web_u1/main/1.log"


def ended(
    host_path: str = FILE, policy: str = "File", inside: str = "/words", log_path: str = LOG
) -> cri.ContainerStatus:
    return cri.ContainerStatus(
        state=cri.CONTAINER_EXITED,
        exit_code=1,
        labels={"io.kubernetes.pod.uid": "u1", "io.kubernetes.container.name": "main"},
        annotations={
            "io.kubernetes.container.terminationMessagePath": inside,
            "io.kubernetes.container.terminationMessagePolicy": policy,
        },
        mounts=[cri.Mount(container_path="/words", host_path=host_path)],
        log_path=log_path,
    )


def words_of(status: cri.ContainerStatus) -> LastWords | None:
    return last_words(status, "/var/log/pods")


@pytest.mark.parametrize("inside", ["/words", "words"])
def test_the_message_is_in_the_file_that_was_mounted_for_it(inside: str) -> None:
    words = words_of(ended(inside=inside))
    assert words == LastWords(file=FILE, logs_dir="/var/log/pods")


def test_a_kubelets_file_in_a_directory_of_its_own_counts() -> None:
    words = words_of(ended("/var/lib/kubelet/pods/u1/containers/main/3f2a0b1c"))
    assert words is not None
    assert words.file == "/var/lib/kubelet/pods/u1/containers/main/3f2a0b1c"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/shadow",
        "/r/pods/u2/containers/main/x",
        "/r/elsewhere/u1/containers/main/x",
        "/r/pods/u1/containers/other/x",
        "/r/pods/u1/containers/main/x/y",
        "/r/../pods/u1/containers/main/x",
        "",
    ],
)
def test_a_file_where_no_agent_puts_one_is_not_read(path: str) -> None:
    assert words_of(ended(path)) is None


def test_a_container_without_a_file_for_it_leaves_no_message() -> None:
    assert words_of(ended(inside="")) is None


def test_only_what_has_ended_has_last_words() -> None:
    status = ended()
    status.state = cri.CONTAINER_RUNNING
    assert words_of(status) is None


def test_the_log_counts_for_an_error_where_the_pod_says_so() -> None:
    words = words_of(ended(policy="FallbackToLogsOnError"))
    assert words is not None
    assert words.log == ("shop_web_u1", "main", "1.log")


@pytest.mark.parametrize("reason", ["ContainerCannotRun", "StartError"])
def test_what_never_ran_wrote_no_log(reason: str) -> None:
    status = ended("", policy="FallbackToLogsOnError")
    status.reason = reason
    assert words_of(status) is None


def test_who_ended_well_has_no_need_of_the_log() -> None:
    status = ended("", policy="FallbackToLogsOnError")
    status.exit_code = 0
    assert words_of(status) is None


@pytest.mark.parametrize("path", ["/etc/shadow", "/var/log/pods/../../../etc/shadow", "", "x.log"])
def test_a_log_elsewhere_is_not_read(path: str) -> None:
    status = ended("", policy="FallbackToLogsOnError", log_path=path)
    assert words_of(status) is None


@pytest.mark.parametrize(
    ("told", "written", "message"),
    [("a", "b", "a: b"), ("", "b", "b"), ("a", "", "a"), ("", "", "")],
)
def test_what_the_runtime_told_comes_first(told: str, written: str, message: str) -> None:
    assert message_of(told, written) == message

"""Labels of the Node: those that every Node has, and what is patched."""

from __future__ import annotations

from actors.node.document import default_labels, label_patch


def test_every_node_has_its_name_system_and_architecture_as_labels() -> None:
    assert default_labels("n1", "arm64") == {
        "kubernetes.io/hostname": "n1",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "arm64",
    }


def test_a_name_that_is_too_long_for_a_label_is_left_out() -> None:
    assert "kubernetes.io/hostname" not in default_labels("n" * 64, "amd64")
    assert "kubernetes.io/hostname" in default_labels("n" * 63, "amd64")


def test_only_what_differs_is_patched() -> None:
    present = {"same": "1", "other": "1", "foreign": "1"}
    assert label_patch(present, {"same": "1", "other": "2", "new": ""}) == {"other": "2", "new": ""}

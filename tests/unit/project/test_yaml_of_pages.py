"""kubectl takes the YAML of the pages, and the files beside them, as it stands there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.client import models

from tests.support.project.checkout import ROOT
from tests.support.project.examples import as_the_client_reads
from tests.support.project.yaml_blocks import yaml_of_page

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")])
FILES = sorted([*ROOT.glob("examples/**/*.yaml"), *ROOT.glob("deploy/**/*.yaml")])
WRONG_ON_PURPOSE = {"examples/troubles/broken.yaml", "examples/troubles/quoting.yaml"}
TEXTS = {
    **{
        f"{page.relative_to(ROOT)}:{line}": text
        for page in PAGES
        for line, text in yaml_of_page(page)
    },
    **{str(path.relative_to(ROOT)): path.read_text() for path in FILES},
}

each_text = pytest.mark.parametrize("place", TEXTS)


def documents(text: str) -> list[Any]:
    """Return the documents of a text."""
    return [each for each in yaml.safe_load_all(text) if each is not None]


def is_json_to_kubectl(text: str) -> bool:
    """Return whether kubectl, and a kubelet, take a text for JSON: by its first sign that is no space."""
    return text.lstrip().startswith("{")


@each_text
def test_a_text_is_yaml_and_not_what_kubectl_takes_for_json(place: str) -> None:
    assert not is_json_to_kubectl(TEXTS[place])
    assert documents(TEXTS[place]) != []


@each_text
def test_an_object_of_the_api_has_no_field_that_the_client_does_not_know(place: str) -> None:
    if place in WRONG_ON_PURPOSE:
        return
    for each in documents(TEXTS[place]):
        model = getattr(models, f"V1{each.get('kind')}", None)
        if model is not None:
            assert as_the_client_reads(model, each) == each


def test_the_files_that_pages_have_typed_are_among_the_texts(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\ncat > a.yaml <<'EOF'\n{kind: Pod}\nEOF\n```\n\n```yaml\nb: 1\n```\n")
    assert list(yaml_of_page(page)) == [(3, "{kind: Pod}\n"), (8, "b: 1\n")]
    assert is_json_to_kubectl("\n  {kind: Pod}\n")
    assert not is_json_to_kubectl("---\n{kind: Pod}\n")

"""The examples, and what others make of them."""

from __future__ import annotations

from typing import Any, Final

from tests.support.project.checkout import ROOT

EXAMPLES: Final = ROOT / "examples"


def as_the_client_reads(model: Any, manifest: Any) -> Any:
    """Return what is left of a manifest that went through a model of the Kubernetes client."""
    read = model.model_validate(manifest)
    return read.model_dump(by_alias=True, exclude_unset=True, mode="json")

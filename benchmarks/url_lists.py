"""What a long list of the manifest URL costs to read, as a whole and when a single pod of it changed."""

from __future__ import annotations

import json
from functools import partial
from time import perf_counter
from typing import Any

import yaml

from benchmarks.pods import manifest
from benchmarks.row import WORST, Peer, Row, Target, spread
from manifests.pod_manifest import ManifestRules, decode_document
from messages.pods import HTTP
from sources.http.verdicts import HttpState, judge

_DECODE = partial(decode_document, rules=ManifestRules(node_name="node1", source=HTTP))
_URL = "http://127.0.0.1/pods"


def url_list_rows(*, quick: bool) -> list[Row]:
    """Return the time to read a list of pods for the first time, and again with one of them changed."""
    size, repetitions = (1_000, 1) if quick else (10_000, 5)
    one = json.dumps(yaml.safe_load(manifest("NAME")))
    items = [json.loads(one.replace("NAME", f"pod-{number}")) for number in range(size)]
    all_new, one_new = [], []
    for revision in range(repetitions):
        state, seconds = _judged(HttpState(), items)
        all_new.append(seconds)
        items[size // 2]["spec"]["containers"][0]["image"] = f"registry.example/web:r{revision}"
        after, seconds = _judged(state, items)
        one_new.append(seconds)
        assert (
            sum(new is not old for new, old in zip(after.pods or (), state.pods or (), strict=True))
            == 1
        )
    what = f"URL list of {size:,} pods"
    return [
        Row(
            what=f"{what}: decoded and validated",
            unit="s",
            figures=spread(all_new),
            samples=repetitions,
            target=Target(5.0),
            judged=WORST,
        ),
        Row(
            what=f"{what}: one of them changed",
            unit="ms",
            figures=spread(one_new, 1e3),
            samples=repetitions,
            target=Target(500.0),
            judged=WORST,
            peer=Peer("the whole list anew", min(all_new) * 1e3),
        ),
    ]


def _judged(state: HttpState, items: list[dict[str, Any]]) -> tuple[HttpState, float]:
    body = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": items}).encode()
    began = perf_counter()
    after = judge(state, body, _DECODE, _URL)
    assert not after.error
    return after, perf_counter() - began

"""Which modules only decide is computed from what they use."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.project.checkout import ROOT, modules
from tools.purity import Modules

SAYS_SO = re.compile(r"\bPure\b[.,:;]|\bPure functions\b")
TABLE = '[tool.importlinter]\nroot_packages = ["kernel", "rooms"]\n'


@pytest.fixture(scope="module")
def product() -> Modules:
    return Modules(ROOT)


def test_every_module_that_says_it_is_pure_is(product: Modules) -> None:
    told = {path: ast.get_docstring(module) or "" for path, module in modules().items()}
    pure = {path for path, text in told.items() if SAYS_SO.search(text)}
    assert len(pure) > 150
    assert {path: why for path, why in product.reasons.items() if path in pure} == {}


def test_no_actor_and_nothing_that_reads_the_disk_is_pure(product: Modules) -> None:
    pure = product.pure()
    assert "actors/mirrors/plan.py" in pure
    assert "actors/pod_manager.py" not in pure
    assert "actors/volumes/mounts/places.py" not in pure


def reasons(checkout: Path, **texts: str) -> dict[str, str]:
    """Return why modules of a room are not pure."""
    (checkout / "pyproject.toml").write_text(TABLE)
    for name, text in {"kernel__actor": "class BaseActor: ...", **texts}.items():
        path = checkout / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = Modules(checkout).reasons
    return {Path(path).stem: why for path, why in found.items()}


@pytest.mark.parametrize(
    ("text", "touched"),
    [
        ("import os\ndef one(): os.unlink('a')", "os.unlink"),
        ("import os as system\none = system.getpid()", "os.getpid"),
        ("from resource import getrusage as used\none = [used]", "resource.getrusage"),
        ("def one(path): return path.read_text()", "path.read_text"),
        ("class One:\n    def two(self): print(self)", "print"),
        ("def one():\n    import select\n    return select.epoll()", "select.epoll"),
        ("from kernel.actor import BaseActor\nclass One(BaseActor): ...", "kernel.actor.BaseActor"),
        ("import random\nfor _ in range(random.getrandbits(2)): ...", "random.getrandbits"),
    ],
)
def test_what_touches_the_world_is_not_pure(tmp_path: Path, text: str, touched: str) -> None:
    (found,) = [
        each for name, each in reasons(tmp_path, rooms__acts=text).items() if name == "acts"
    ]
    assert found.endswith(touched)


@pytest.mark.parametrize(
    "text",
    [
        "import os, pathlib\ndef one(path): return pathlib.Path(os.fspath(path)).name",
        "import threading\nclass One:\n    thread: threading.Thread | None = None",
        "import threading\ndef one(lock: threading.Lock) -> threading.Thread: return lock",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rooms.acts import leave",
        "from rooms.acts import PATH\ndef one(): return PATH",
        "from functools import partial\nfrom rooms.acts import leave\ndef one(): return partial(leave, 3)",
        "from typing import TypeAlias\nfrom rooms.acts import leave\nLeaving: TypeAlias = leave",
    ],
)
def test_what_only_names_such_things_is_pure(tmp_path: Path, text: str) -> None:
    acts = "import os\nPATH = '/'\ndef leave(code): os._exit(code)"
    assert "decides" not in reasons(tmp_path, rooms__acts=acts, rooms__decides=text)


def test_who_uses_such_a_thing_at_second_hand_is_not_pure_and_others_of_its_module_are(
    tmp_path: Path,
) -> None:
    found = reasons(
        tmp_path,
        rooms__acts="import os\nSOON = 3\ndef leave(): os._exit(3)",
        rooms__between="from rooms.acts import SOON, leave\ndef soon(): return SOON\ndef go(): leave()",
        rooms__far="from rooms import between\ndef far(): between.go()",
        rooms__near="from rooms.between import soon\ndef near(): soon()",
    )
    assert set(found) - {"actor"} == {"acts", "between", "far"}
    assert found["far"] == "far: go of rooms/between.py"
    assert found["between"] == "go: leave of rooms/acts.py"


def test_what_runs_when_a_module_is_imported_counts_for_who_imports_it(tmp_path: Path) -> None:
    found = reasons(
        tmp_path,
        rooms__loud="ONE = 1\nprint(ONE)",
        rooms__decides="from rooms.loud import ONE\ndef one(): return ONE",
    )
    assert set(found) - {"actor"} == {"loud", "decides"}

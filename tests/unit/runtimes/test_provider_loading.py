"""What ``--runtime MODULE:CLASS`` may name, and the sentence for each mistake."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtimes.provider.loading import ProviderLoadError, attached, load_provider
from runtimes.provider.memory import ProviderMemory, RuntimeContext
from runtimes.provider.plan import Abilities
from tests.support.kernel.probe import Probe

METHODS = """
    def run(self, pod): pass
    def stop(self, pod, grace): pass
    def observe(self): return {}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the current directory, in which modules are written. What was imported is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        del sys.modules[name]


def write(here: Path, text: str, name: str = "my_node.py") -> None:
    (here / name).write_text(text)


def said(name: str) -> str:
    """Return the sentence that ``name`` is refused with."""
    with pytest.raises(ProviderLoadError) as found:
        load_provider(name)
    text = str(found.value)
    assert "\n" not in text
    return text


def test_a_class_in_the_current_directory_is_found_and_made(here: Path) -> None:
    write(here, f"__version__ = '1.2'\nclass MyNode:{METHODS}    def node(self): pass\n")
    loaded = load_provider("my_node:MyNode")
    assert type(loaded.provider).__name__ == "MyNode"
    assert (loaded.name, loaded.version) == ("my_node:MyNode", "1.2")
    assert loaded.can == Abilities(node=True)


def test_a_class_in_a_file_anywhere_is_found_with_what_is_beside_it(here: Path) -> None:
    (here / "elsewhere").mkdir()
    write(here, "ANSWER = 42\n", "elsewhere/beside.py")
    write(here, f"import beside\nclass MyNode:{METHODS}", "elsewhere/my_node.py")
    loaded = load_provider("./elsewhere/my_node.py:MyNode")
    assert loaded.can == Abilities()


def test_optional_methods_of_the_base_class_are_none_of_ones_own(here: Path) -> None:
    write(
        here,
        "from actorlet import PodProvider\n"
        f"class MyNode(PodProvider):{METHODS}    def forget(self, pod): pass\n",
    )
    assert load_provider("my_node:MyNode").can == Abilities(forget=True)


@pytest.mark.parametrize("name", ["my_node", "my_node:", ":MyNode", "my_node:My Node", ""])
def test_a_name_without_module_and_class_is_refused(name: str) -> None:
    assert said(name) == f"{name!r} names no class: expected MODULE:CLASS, or FILE.py:CLASS"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "my_node cannot be imported: ModuleNotFoundError: No module named 'my_node'"),
        (
            "import nowhere_to_be_found\n",
            "my_node cannot be imported: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        ),
        (
            "raise SystemExit('I am a script')\n",
            "my_node cannot be imported: SystemExit: I am a script",
        ),
        ("raise KeyboardInterrupt\n", "my_node cannot be imported: KeyboardInterrupt"),
        ("", "my_node has no class MyNode"),
        ("MyNode = 3\n", "my_node has something that is no class, called MyNode"),
        (
            "class MyNode:\n    def run(self, pod): pass\n    def observe(self): pass\n",
            "my_node:MyNode has no method stop(pod, grace)",
        ),
        (
            (
                "from actorlet import PodProvider\n"
                "class MyNode(PodProvider):\n    def run(self, pod): pass\n"
            ),
            "my_node:MyNode has no method stop(pod, grace)",
        ),
        (f"class MyNode:{METHODS}    run = 3\n", "my_node:MyNode has no method run(pod)"),
        (
            f"class MyNode:{METHODS}    def stop(self, pod): pass\n",
            "my_node:MyNode: its method stop cannot be called as stop(pod, grace)",
        ),
        (
            f"class MyNode:{METHODS}    def node(self, more): pass\n",
            "my_node:MyNode: its method node cannot be called as node()",
        ),
        (
            f"class MyNode:{METHODS}    def __init__(self, url): pass\n",
            (
                "my_node:MyNode cannot be made without arguments: TypeError: "
                "MyNode.__init__() missing 1 required positional argument: 'url'"
            ),
        ),
        (
            f"class MyNode:{METHODS}    def __init__(self): raise KeyboardInterrupt\n",
            "my_node:MyNode cannot be made without arguments: KeyboardInterrupt",
        ),
        (
            f"class MyNode:{METHODS}    def __init__(self): raise OSError('no\\nservice')\n",
            "my_node:MyNode cannot be made without arguments: OSError: no service",
        ),
    ],
)
def test_each_mistake_is_one_sentence(here: Path, text: str | None, sentence: str) -> None:
    if text is not None:
        write(here, text)
    assert said("my_node:MyNode") == sentence


@pytest.mark.parametrize("place", ["../my_node", "./nodes/my_node", "/etc/passwd"])
def test_a_path_that_is_no_file_of_python_is_said(here: Path, place: str) -> None:
    write(here, "class MyNode: ...\n")
    assert said(f"{place}:MyNode") == f"{place} is no file of Python: its name should end with .py"


def test_a_syntax_error_is_said_with_its_place(here: Path) -> None:
    write(here, "class MyNode(\n")
    assert said("my_node:MyNode").startswith("my_node cannot be imported: SyntaxError: ")
    assert "my_node.py, line 1" in said("my_node.py:MyNode")


def test_a_file_that_is_missing_or_has_the_name_of_a_module_is_refused(here: Path) -> None:
    assert said("none.py:MyNode").endswith(f"there is no file {here / 'none.py'}")
    write(here, f"class MyNode:{METHODS}", "json.py")
    assert said("json.py:MyNode").endswith("the name json is taken by a module of the agent")


def test_static_methods_and_any_number_of_arguments_will_do(here: Path) -> None:
    write(
        here,
        "class MyNode:\n"
        "    @staticmethod\n    def run(pod): pass\n"
        "    @classmethod\n    def stop(cls, *what): pass\n"
        "    def observe(self, *, fresh=True): return {}\n",
    )
    assert load_provider("my_node:MyNode").can == Abilities()


def test_a_class_gets_its_context_unless_it_wants_none(here: Path) -> None:
    write(
        here,
        f"class Plain:{METHODS}\n"
        f"class Attached:{METHODS}    def attach(self, context): self.context = context\n"
        f"class Refusing:{METHODS}    def attach(self, context): raise ValueError('no')\n",
    )
    context = RuntimeContext(ProviderMemory(), Probe)
    attached(load_provider("my_node:Plain"), context)
    loaded = attached(load_provider("my_node:Attached"), context)
    assert vars(loaded.provider) == {"context": context}
    with pytest.raises(ProviderLoadError, match="my_node:Refusing: attach raised ValueError: no"):
        attached(load_provider("my_node:Refusing"), context)

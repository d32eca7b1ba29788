"""What happens to the files and the URL that pods come from. Nothing, on a node that has neither."""

from __future__ import annotations

from typing import Final

from tests.environment.oracle.rule import LOCAL
from tests.environment.origins import FromDirectory
from tests.simulation.events.event import TOLD_WITHIN, Kinds, World
from tests.simulation.reading import MAYBE, OBJECTS

FILE: Final = "source/file"
HTTP: Final = "source/http"
BROKEN: Final = ("kind: Pod\nmetadata: [", "{}", "kind: Pod\napiVersion: v1\nspec: {}\n")
GARBAGE: Final = (b"<html>", b'{"kind": "PodList", "apiVersion": "v1", "items": 3}', b"\xff")


def _of_files(world: World) -> list[str]:
    return sorted(name for name, each in world.places.items() if isinstance(each, FromDirectory))


def _rename(world: World) -> None:
    """Rename the file of a pod, mended if it was broken: under a new name nobody knows whose it was."""
    if names := _of_files(world):
        name = world.random.choice(names)
        world.node.directory.write(name, world.manifests[name].document)
        world.node.directory.rename(name)
        world.renamed_at[name] = world.node.wall
        world.hears_late()


def _break(world: World) -> None:
    """Write what is no manifest into the file of a pod, which stays as it was, or into another one.

    Not into one that was just renamed: until the agent has read it, nothing says which pod it is of.
    """
    is_read_by = world.node.wall - TOLD_WITHIN
    read = [each for each in _of_files(world) if world.renamed_at.get(each, 0.0) < is_read_by]
    name = world.random.choice([*read, "stray"])
    world.node.directory.write(name, world.random.choice(BROKEN))
    world.troubles()


def _hide(world: World) -> None:
    world.troubles()
    world.oracle.wishes.outages.setdefault(FILE, world.node.wall)
    world.node.directory.hide()


def _show(world: World) -> None:
    world.troubles()
    world.node.directory.show()
    world.node.directory.loses_events = world.random.random() < 0.3
    world.is_told_again(FILE)


def _fail(world: World) -> None:
    world.troubles()
    url = world.node.url
    world.oracle.wishes.outages.setdefault(HTTP, world.node.wall)
    if world.random.random() < 0.5:
        url.trouble = world.random.choice(["answered with status 500", "no answer within 10 s"])
    else:
        url.garbage = world.random.choice(GARBAGE)


def _recover(world: World) -> None:
    world.troubles()
    url = world.node.url
    url.trouble, url.garbage = "", b""
    url.slowness = world.random.choice([0.0, 0.3, 8.0])
    world.is_told_again(HTTP)


def mend_sources(world: World) -> None:
    """Have files and URL be as their pods are wanted."""
    directory, url = world.node.directory, world.node.url
    directory.show()
    directory.loses_events = False
    url.trouble, url.garbage, url.slowness = "", b"", 0.0
    for name in _of_files(world):
        directory.write(name, world.manifests[name].document)


def _say_here(world: World) -> None:
    world.says_here(*world.random.choice(OBJECTS + MAYBE))


def _unsay_here(world: World) -> None:
    kind, name = world.random.choice(OBJECTS + MAYBE)
    world.node.objects.goes(kind, name)
    world.oracle.objects_say(LOCAL, kind, name, "")


def _break_object(world: World) -> None:
    """Write what is no object into a file: the last good version stays."""
    if world.node.objects.directory.files:
        world.node.objects.breaks(*world.random.choice(OBJECTS + MAYBE))


FILES: Final[Kinds] = {
    "a file is renamed": (2, _rename),
    "a file is broken": (2, _break),
    "the directory goes": (1, _hide),
    "the directory comes back": (2, _show),
}
URL: Final[Kinds] = {"the URL fails": (2, _fail), "the URL answers again": (3, _recover)}
OBJECTS_OF_FILES: Final[Kinds] = {
    "an object of a file changes": (4, _say_here),
    "an object of a file is deleted": (1, _unsay_here),
    "an object of a file is broken": (1, _break_object),
}
SOURCES: Final[Kinds] = {**FILES, **URL, **OBJECTS_OF_FILES}

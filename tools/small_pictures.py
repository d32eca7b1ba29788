"""Makes pictures of screens small: a palette of the colours that there are. Pure but for the file."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
COLOURS: Final = 224
"""Of a palette. A page has a dozen; the rest are the edges of its letters."""
RGB: Final = 2
RGBA: Final = 6

Colour = tuple[int, int, int]


def shrink(path: Path) -> None:
    """Write a picture that a browser took again, with a palette."""
    width, rows = _read(path.read_bytes())
    found = Counter(pixel for row in rows for pixel in row)
    palette = [colour for colour, _ in found.most_common(COLOURS)]
    places = {colour: place for place, colour in enumerate(palette)}
    for colour in found:
        places.setdefault(colour, _nearest(colour, palette))
    lines = b"".join(b"\0" + bytes(places[pixel] for pixel in row) for row in rows)
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0)
    path.write_bytes(
        SIGNATURE
        + _chunk(b"IHDR", header)
        + _chunk(b"PLTE", bytes(part for colour in palette for part in colour))
        + _chunk(b"IDAT", zlib.compress(lines, 9))
        + _chunk(b"IEND", b"")
    )


def _nearest(colour: Colour, palette: list[Colour]) -> int:
    def distance(place: int) -> int:
        return sum((one - other) ** 2 for one, other in zip(colour, palette[place], strict=True))

    return min(range(len(palette)), key=distance)


def _read(data: bytes) -> tuple[int, list[list[Colour]]]:
    """Return the width of a picture of 8 bits a colour, and its lines."""
    chunks = dict(_chunks(data))
    width, height, _, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    size = {RGB: 3, RGBA: 4}[kind]
    raw = zlib.decompress(chunks[b"IDAT"])
    length = width * size
    before = bytearray(length)
    rows = []
    for start in range(0, height * (length + 1), length + 1):
        line = bytearray(raw[start + 1 : start + 1 + length])
        _unfilter(raw[start], line, before, size)
        rows.append(list(zip(line[0::size], line[1::size], line[2::size], strict=True)))
        before = line
    return width, rows


def _unfilter(kind: int, line: bytearray, above: bytearray, size: int) -> None:
    """Undo what the writer did to a line, in place: section 9 of the specification of PNG."""
    for place in range(len(line)):
        left = line[place - size] if place >= size else 0
        corner = above[place - size] if place >= size else 0
        guess = (0, left, above[place], (left + above[place]) // 2, 0)[kind]
        if kind == 4:
            guess = _paeth(left, above[place], corner)
        line[place] = (line[place] + guess) & 0xFF


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda each: abs(guess - each))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the chunks of a picture; those of its pixels as one, the last."""
    place, pixels = len(SIGNATURE), b""
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        name, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        place += length + 12
        if name == b"IDAT":
            pixels += body
        else:
            yield name, body
    yield b"IDAT", pixels


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

"""Heads of HTTP/2, compressed as HPACK says, as far as a client needs it that allows no table. Pure.

The client tells its peer that the table of earlier fields has no room. So each head can be read by itself,
and what is written here takes nothing for granted either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

_STATIC: Final = {
    **{
        index: (b":status", status)
        for index, status in enumerate(
            (b"200", b"204", b"206", b"304", b"400", b"404", b"500"), start=8
        )
    },
    31: (b"content-type", b""),
}
"""Of the 61 fields that are always known: those that matter here. Others have no name."""
_STATIC_FIELDS: Final = 61
_LENGTHS: Final = bytes.fromhex(
    "0d171c1c1c1c1c1c1c181e1c1c1e1c1c1c1c1c1c1c1c1e1c1c1c1c1c1c1c1c1c"
    "060a0a0c0d06080b0a0a080b080606060505050606060606060607080f060c0a"
    "0d06070707070707070707070707070707070707070707070807080d130d0e06"
    "0f05060506050606060507070606060506070605050607070707070f0b0e0d1c"
    "1416141416161617161717171717181718181617181717171715161716171718"
    "1615141616171715171616181516171715151615171617171416161617161617"
    "1a1a1413161716191a1a1a1b1b1a181913151a1b1b1a1b1815151a1a1c1b1b1b"
    "14181415161515171616191918181a171a1b1a1a1b1b1b1b1b1c1b1b1b1b1b1a"
    "1e"
)
"""How many bits each byte has in the code of strings; the last is the end, which never occurs. Codes of one
length follow each other in the order of their bytes, and the shorter ones come first."""


class HeaderCompressionError(Exception):
    """What came is no head. The text is for people."""


def written(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a head of ``fields``, none of them compressed or to be remembered."""
    return b"".join(
        b"\x00" + _number_written(len(name)) + name + _number_written(len(value)) + value
        for name, value in fields
    )


def read(head: bytes) -> list[tuple[bytes, bytes]]:
    """Return the fields of ``head``. Raises ``HeaderCompressionError``."""
    return list(_fields(head))


def _fields(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at < len(head):
        first = head[at]
        if first & 0x80:
            index, at = _number(head, at, 7)
            yield _static(index)
        elif first & 0xE0 == 0x20:  # the table gets another size, which is none
            _, at = _number(head, at, 5)
        else:
            index, at = _number(head, at, 6 if first & 0x40 else 4)
            if index:
                name = _static(index)[0]
            else:
                name, at = _string(head, at)
            value, at = _string(head, at)
            yield name, value


def _static(index: int) -> tuple[bytes, bytes]:
    if not 0 < index <= _STATIC_FIELDS:
        raise HeaderCompressionError("a head refers to a field that is not there")
    return _STATIC.get(index, (b"", b""))


def _number(head: bytes, at: int, bits: int) -> tuple[int, int]:
    """Return the number at ``at``, which begins with the last ``bits`` of a byte, and where it ends."""
    most = (1 << bits) - 1
    value = _byte(head, at) & most
    at += 1
    if value < most:
        return value, at
    for shift in (0, 7, 14):
        byte = _byte(head, at)
        at += 1
        value += (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
    raise HeaderCompressionError("a head has too large a number")


def _number_written(value: int) -> bytes:
    """Return the length of a string that is not compressed."""
    if value < 0x7F:
        return bytes((value,))
    value -= 0x7F
    found = bytearray((0x7F,))
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _byte(head: bytes, at: int) -> int:
    if at >= len(head):
        raise HeaderCompressionError("a head breaks off")
    return head[at]


def _string(head: bytes, at: int) -> tuple[bytes, int]:
    is_compressed = _byte(head, at) & 0x80
    length, at = _number(head, at, 7)
    data = head[at : at + length]
    if len(data) < length:
        raise HeaderCompressionError("a head breaks off")
    return (_expanded(data) if is_compressed else data), at + length


def _codes() -> dict[tuple[int, int], int]:
    """Return the byte of each code, by its length and its bits."""
    found: dict[tuple[int, int], int] = {}
    code = length = 0
    for byte in sorted(range(len(_LENGTHS)), key=lambda each: (_LENGTHS[each], each)):
        code <<= _LENGTHS[byte] - length
        length = _LENGTHS[byte]
        found[length, code] = byte
        code += 1
    return found


_CODES: Final = _codes()
_END: Final = len(_LENGTHS) - 1
_SHORTEST: Final = min(_LENGTHS)


def _expanded(data: bytes) -> bytes:
    """Return a string of which the bytes are written as bits of a code."""
    found = bytearray()
    bits = length = 0
    for each in data:
        for shift in range(7, -1, -1):
            bits, length = bits << 1 | each >> shift & 1, length + 1
            byte = _CODES.get((length, bits)) if length >= _SHORTEST else None
            if byte is not None:
                if byte == _END:
                    raise HeaderCompressionError("a head has a string that is no text")
                found.append(byte)
                bits = length = 0
    if length > 7 or bits != (1 << length) - 1:
        raise HeaderCompressionError("a head has a string that is no text")
    return bytes(found)

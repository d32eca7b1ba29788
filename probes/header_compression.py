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
MOST_LENGTH: Final = 65_536
_LENGTHS: Final = (
    13,
    23,
    28,
    28,
    28,
    28,
    28,
    28,
    28,
    24,
    30,
    28,
    28,
    30,
    28,
    28,
    28,
    28,
    28,
    28,
    28,
    28,
    30,
    28,
    28,
    28,
    28,
    28,
    28,
    28,
    28,
    28,
    6,
    10,
    10,
    12,
    13,
    6,
    8,
    11,
    10,
    10,
    8,
    11,
    8,
    6,
    6,
    6,
    5,
    5,
    5,
    6,
    6,
    6,
    6,
    6,
    6,
    6,
    7,
    8,
    15,
    6,
    12,
    10,
    13,
    6,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    7,
    8,
    7,
    8,
    13,
    19,
    13,
    14,
    6,
    15,
    5,
    6,
    5,
    6,
    5,
    6,
    6,
    6,
    5,
    7,
    7,
    6,
    6,
    6,
    5,
    6,
    7,
    6,
    5,
    5,
    6,
    7,
    7,
    7,
    7,
    7,
    15,
    11,
    14,
    13,
    28,
    20,
    22,
    20,
    20,
    22,
    22,
    22,
    23,
    22,
    23,
    23,
    23,
    23,
    23,
    24,
    23,
    24,
    24,
    22,
    23,
    24,
    23,
    23,
    23,
    23,
    21,
    22,
    23,
    22,
    23,
    23,
    24,
    22,
    21,
    20,
    22,
    22,
    23,
    23,
    21,
    23,
    22,
    22,
    24,
    21,
    22,
    23,
    23,
    21,
    21,
    22,
    21,
    23,
    22,
    23,
    23,
    20,
    22,
    22,
    22,
    23,
    22,
    22,
    23,
    26,
    26,
    20,
    19,
    22,
    23,
    22,
    25,
    26,
    26,
    26,
    27,
    27,
    26,
    24,
    25,
    19,
    21,
    26,
    27,
    27,
    26,
    27,
    24,
    21,
    21,
    26,
    26,
    28,
    27,
    27,
    27,
    20,
    24,
    20,
    21,
    22,
    21,
    21,
    23,
    22,
    22,
    25,
    25,
    24,
    24,
    26,
    23,
    26,
    27,
    26,
    26,
    27,
    27,
    27,
    27,
    27,
    28,
    27,
    27,
    27,
    27,
    27,
    26,
    30,
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
_LONGEST: Final = max(_LENGTHS)


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
            elif length > _LONGEST:
                raise HeaderCompressionError("a head has a string that is no text")
    if length > 7 or bits != (1 << length) - 1:
        raise HeaderCompressionError("a head has a string that is no text")
    return bytes(found)

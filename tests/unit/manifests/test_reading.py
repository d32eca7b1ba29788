from __future__ import annotations

import json

import pytest

from manifests.reading.decoding import canonical_json, read_document
from manifests.reading.document import MAX_BYTES, MAX_DEPTH, MAX_WEIGHT, DocumentError
from messages.sources import RejectReason
from tests.support.manifests.manifest_text import refused


@pytest.mark.parametrize(
    ("data", "code", "sentence"),
    [
        (b"a: 1\nb: \xff", "syntax", "line 2: not UTF-8"),
        ("a: 1".encode("utf-16"), "syntax", "not UTF-8: it looks like UTF-16, save it as UTF-8"),
        ("a: 1".encode("utf-16-be"), "syntax", "not YAML: control characters are not allowed"),
        (b"\x01\x02\x03", "syntax", "not YAML: control characters are not allowed"),
        (b"x" * MAX_BYTES, "too_large", "10 MiB or more"),
        (b"{" * 100_000, "too_large", f"nested more than {MAX_DEPTH} levels deep"),
        (b'{"a":' * 100_000, "too_large", f"nested more than {MAX_DEPTH} levels deep"),
        (b'{"a":' + b"[" * MAX_DEPTH, "too_large", f"nested more than {MAX_DEPTH} levels deep"),
        (b'{"a":[' + b"1," * MAX_WEIGHT + b"1]}", "too_large", "more than 100,000 values"),
        (b'{"a":[' + b"[]," * MAX_WEIGHT + b"1]}", "too_large", "more than 100,000 values"),
        (
            json.dumps({str(n): "" for n in range(60_000)}).encode(),
            "too_large",
            "more than 100,000",
        ),
        (b'{"a":[' + b'"",' * MAX_WEIGHT + b"1]}", "too_large", "more than 100,000 values"),
        (b'{"a":"' + b"[" * (MAX_DEPTH + 1) + b'\\"{"}', "accepted", ""),
        (b'{"a":' + b"[" + b"[]," * (MAX_DEPTH + 1) + b"1]}", "accepted", ""),
        (b'{"a":[' + b"{}," * MAX_WEIGHT + b"1]}", "too_large", "more than 100,000 values"),
        (b'{"a":{' + b'"a":"",' * MAX_WEIGHT + b'"b":""}}', "accepted", ""),
        (b'{"a": 1', "syntax", "line 1: not JSON, which it begins like: Expecting ',' delimiter"),
        (b'\n\n{"a": 1}\n---\n{}', "syntax", "line 4: not JSON, which it begins like: Extra data"),
        (b"{a: 1}", "syntax", "line 1: not JSON, which it begins like: Expecting property name"),
        (b'{"a": NaN}', "syntax", "not JSON: NaN is no number"),
        (b'{"a": 1e999}', "syntax", "not JSON: a number is too large"),
        (b'{"a": ' + b"9" * 350 + b"}", "syntax", "not JSON: a number is too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "syntax", "not JSON: a number is too large"),
        (b'{"a": "\x01"}', "syntax", "line 1: not JSON, which it begins like: Invalid control"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bytes_that_are_no_document_have_a_sentence(data: bytes, code: str, sentence: str) -> None:
    try:
        read_document(data)
    except DocumentError as error:
        told = (str(error.code), error.sentence)
    else:
        told = ("accepted", "")
    assert (told[0], told[1][: len(sentence)]) == (code, sentence)


def test_a_byte_order_mark_is_no_content() -> None:
    assert read_document(b"\xef\xbb\xbfa: 1").value == {"a": 1}
    assert read_document(b'\xef\xbb\xbf{"a": 1}').value == {"a": 1}


def test_json_and_yaml_of_one_document_are_equal() -> None:
    as_json = b'{"a": [1, 1.0, 1e3, 2.5, null, true, "\\u00e9"], "b": {"c": -0.0}}'
    as_yaml = "a: [1, 1.0, 1e3, 2.5, ~, on, é]\nb: {c: -0.0}\n".encode()
    one, other = read_document(as_json).value, read_document(as_yaml).value
    assert canonical_json(one) == canonical_json(other)
    assert canonical_json(one) == '{"a":[1,1,1000,2.5,null,true,"é"],"b":{"c":0}}'


def test_fields_of_json_have_lines_too() -> None:
    document = read_document(b'{\n  "a": [\n    {"b": 1},\n    {"c": 2}\n  ]\n}\n')
    paths = [("a",), ("a", 1), ("a", 1, "c"), ("a", 7), ("x",)]
    assert [document.line(path) for path in paths] == [2, 4, 4, 2, 1]


def test_json_may_be_indented_with_tabs() -> None:
    document = read_document(b'{\n\t"a":1,\n\t"b":[\n\t\t{"c":2}\n\t]\n}\n')
    assert document.line(("b", 0, "c")) == 4


def test_json_that_is_no_yaml_has_no_lines_unless_there_is_one_only() -> None:
    assert read_document(b'{\n"a": "\\ud83d\\ude00"}').line(("a",)) == 0
    assert read_document(b'{"a": "\\ud83d\\ude00"}').line(("a",)) == 1


def test_a_repeated_key_in_json_is_warned_of() -> None:
    document = read_document(b'{\n"a": 1,\n"a": 2}')
    assert document.value == {"a": 2}
    assert [warning.path for warning in document.warnings] == [("a",)]


def test_a_repeated_key_in_json_that_is_no_yaml_is_warned_of_without_its_path() -> None:
    document = read_document(b'{\n"a": "\\ud83d\\ude00", "a": 2}')
    assert [warning.sentence(document.line) for warning in document.warnings] == [
        "the document: a key stands twice in one object; the last one counts",
    ]


def test_half_a_surrogate_pair_is_refused() -> None:
    answer = refused(json.dumps({"apiVersion": "v1", "kind": "Pod", "x": "\ud800"}))
    assert (answer.code, answer.reason) == (
        RejectReason.SYNTAX,
        "a string holds half a surrogate pair, which is no character",
    )


def test_aliases_are_blamed_for_the_weight_of_a_document_only_where_there_are_any() -> None:
    for plain in (b"a: [" + b"1," * MAX_WEIGHT + b"1]", b"[" + b"{}," * MAX_WEIGHT + b"1]"):
        with pytest.raises(DocumentError) as caught:
            read_document(plain)
        assert caught.value.sentence == "more than 100,000 values"
    with pytest.raises(DocumentError) as caught:
        read_document(b"a: &a [" + b"1," * 50_000 + b"1]\nb: *a\nc: *a\n")
    assert caught.value.sentence == "more than 100,000 values once its aliases are written out"

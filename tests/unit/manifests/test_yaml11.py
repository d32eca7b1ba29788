from __future__ import annotations

import textwrap

import pytest
import yaml

from manifests.reading import yaml11
from manifests.reading.document import MAX_DEPTH, MAX_WEIGHT, DocumentError
from manifests.reading.yaml11 import read_yaml
from messages.sources import RejectReason


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, True) for word in ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("n", "N", "no", "No", "NO", "off", "Off", "OFF")),
        *((word, False) for word in ("false", "False", "FALSE")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        # Words in a case of their own are words.
        ("yES", "yES"),
        ("nULL", "nULL"),
        ("oN", "oN"),
        ("0", 0),
        ("-12", -12),
        ("+12", 12),
        ("010", 8),
        ("-010", -8),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0x10", -16),
        ("0b101", 5),
        ("1_000", 1000),
        ("0_7", 7),
        # No octal number, so it is the decimal one.
        ("08", 8),
        ("1e3", 1000),
        ("1E-2", 0.01),
        ("1.", 1),
        (".5", 0.5),
        ("-.5", -0.5),
        ("2.50", 2.5),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 1.8446744073709552e19),
        ("0xFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFF"),
        # YAML 1.1 has these as numbers and times; Kubernetes has not.
        ("1:30", "1:30"),
        ("190:20:30.15", "190:20:30.15"),
        ("2001-12-14", "2001-12-14"),
        ("2001-12-14T21:59:43Z", "2001-12-14T21:59:43Z"),
        ("1.2.3", "1.2.3"),
        ("1__x", "1__x"),
        ("-", ["-"]),
        ("._5", "._5"),
        ("+", "+"),
        ("=", "="),
        ("'y'", "y"),
        ('"010"', "010"),
        ("'~'", "~"),
        ("!!str 123", "123"),
        ("!!str y", "y"),
        ("! 12", "12"),
        ("!!timestamp 2001-12-14", "2001-12-14"),
        ("!!int 0x10", 16),
        ("!!float 1", 1),
        ("!!bool off", False),
        ("!!null ~", None),
        ("!!binary aGVsbG8=", "hello"),
        ("!!map {}", {}),
        ("!!seq []", []),
        ('"\\x41\\u00e9"', "Aé"),
    ],
)
def test_a_scalar_means_what_it_means_to_kubernetes(text: str, value: object) -> None:
    read = read_yaml(f"field: {text}\n" if text != "-" else "field: ['-']").value["field"]
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("key", "text"),
    [("1", "1"), ("y", "true"), ("off", "false"), ("1.5", "1.5"), ("'on'", "on"), ("0x10", "16")],
)
def test_a_key_that_is_no_string_becomes_one(key: str, text: str) -> None:
    assert read_yaml(f"{key}: value").value == {text: "value"}


def test_of_equal_keys_the_last_one_counts_and_the_owner_is_warned() -> None:
    document = read_yaml("a:\n  - b: 1\n    c: 2\n    b: 3\n")
    assert document.value == {"a": [{"b": 3, "c": 2}]}
    [warning] = document.warnings
    assert warning.sentence(document.line) == (
        "a[0].b (line 4): the key stands here twice; this one on line 4 counts,"
        " the one on line 2 does not"
    )


def test_an_anchor_repeats_its_value() -> None:
    text = "one: &name value\ntwo: *name\nmap: &map {a: 1}\ncopy: *map\n? *name\n: key\n"
    assert read_yaml(text).value == {
        "one": "value",
        "two": "value",
        "map": {"a": 1},
        "copy": {"a": 1},
        "value": "key",
    }


def test_a_later_anchor_of_the_same_name_replaces_the_earlier_one() -> None:
    text = "a: &x {k: 1}\nb: *x\nc: &x [2]\nd: *x\n"
    assert read_yaml(text).value == {"a": {"k": 1}, "b": {"k": 1}, "c": [2], "d": [2]}


def test_a_merge_adds_the_keys_of_another_map() -> None:
    document = read_yaml("base: &base {a: 1, b: 2}\nmore:\n  <<: *base\n  b: 3\n")
    assert document.value["more"] == {"a": 1, "b": 3}
    assert document.warnings == []


def test_of_several_merged_maps_the_first_one_wins() -> None:
    text = "x: &x {a: 1}\ny: &y {a: 2, b: 3}\nz:\n  <<: [*x, *y, {c: 4}]\n"
    assert read_yaml(text).value["z"] == {"a": 1, "b": 3, "c": 4}


def test_a_merge_behind_a_key_overrides_it_as_in_kubernetes_and_the_owner_is_warned() -> None:
    document = read_yaml("one: &x {a: 1}\ntwo:\n  a: 2\n  <<: *x\n")
    assert document.value["two"] == {"a": 1}
    assert [warning.path for warning in document.warnings] == [("two", "a")]


def test_a_quoted_merge_key_is_a_key() -> None:
    assert read_yaml('"<<": {a: 1}').value == {"<<": {"a": 1}}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\n  b: 2", "line 2: not YAML: mapping values are not allowed in this context"),
        ("a: [1, 2\n", "line 2: not YAML: did not find expected ',' or ']'"),
        ("\ta: 1", "line 1: not YAML: found character that cannot start any token"),
        ("a: \x01", "not YAML: control characters are not allowed"),
        ("a: .nan", "line 1: JSON has no number for infinity or not-a-number"),
        ("a: -.inf", "line 1: JSON has no number for infinity or not-a-number"),
        ("a:\n  b: 1e999", "line 2: JSON has no number for infinity or not-a-number"),
        ("a: " + "9" * 4000, "line 1: JSON has no number for infinity or not-a-number"),
        ("a: -" + "9" * 350, "line 1: JSON has no number for infinity or not-a-number"),
        ("a: -" + "9" * 400, "line 1: JSON has no number for infinity or not-a-number"),
        ("a: *b", "line 1: an alias has no anchor"),
        ("a: &a\n  b: [*a]", "line 2: an alias stands inside of what it repeats"),
        ("a: &a [&a [*a]]", "line 1: an alias stands inside of what it repeats"),
        ("a: !custom x", "line 1: the value has a tag that manifests cannot use"),
        (
            "a: !!python/object:os.system {}",
            "line 1: the value has a tag that manifests cannot use",
        ),
        ("a: !!set {b}", "line 1: the value has a tag that manifests cannot use"),
        ("a: !!int x", "line 1: the value is not what its tag !!int says"),
        ("a: !!bool 1", "line 1: the value is not what its tag !!bool says"),
        ("a: !!binary '*'", "line 1: the value is not what its tag !!binary says"),
        ("a: !!binary /w==", "line 1: the value is not what its tag !!binary says"),
        ("~: a", "line 1: a key cannot be null"),
        ("? [a]\n: b", "line 1: a map or a list cannot be a key"),
        ("a: &a {}\n? *a\n: b", "line 2: a map or a list cannot be a key"),
        ("a: {<<: 1}", "line 1: a merge key needs a map or a list of maps"),
        ("a: {<<: [1]}", "line 1: a merge key needs a map or a list of maps"),
        ("a: {<<: }", "line 1: a merge key needs a map or a list of maps"),
    ],
)
def test_what_kubernetes_cannot_read_is_a_slip_in_syntax(text: str, sentence: str) -> None:
    with pytest.raises(DocumentError) as error:
        read_yaml(text)
    assert (error.value.code, error.value.sentence) == (RejectReason.SYNTAX, sentence)


@pytest.mark.parametrize("text", ["", "\n \n", "# only a comment\n", "---\n", "---\n---\n", "~"])
def test_nothing_is_no_document(text: str) -> None:
    with pytest.raises(DocumentError) as error:
        read_yaml(text)
    assert (error.value.code, error.value.sentence) == (
        RejectReason.EMPTY,
        "there is no document",
    )


def test_an_empty_first_document_counts_as_in_kubernetes_although_a_second_one_is_full() -> None:
    with pytest.raises(DocumentError, match="the first document is empty") as error:
        read_yaml("---\n---\na: 1\n")
    assert error.value.code == RejectReason.EMPTY


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("a: 1\n---\nb: 2\n", "(another one begins on line 2)"),
        ("a: 1\n---\n---\nb: 2\n", "(another one begins on line 3)"),
        ("a: 1\n---\n[\n", "(what follows it is not even YAML)"),
        ("a: 1\n" + "---\n" * 1000, "only the first document counts"),
    ],
)
def test_only_the_first_document_counts_and_the_owner_is_warned(text: str, warning: str) -> None:
    document = read_yaml(text)
    assert document.value == {"a": 1}
    assert [warning in found.text for found in document.warnings] == [True]


@pytest.mark.parametrize(
    "text", ["a: 1\n---\n", "# c\n---\na: 1\n...\n", "a: 1\n---\n# end\n---\n~\n"]
)
def test_separators_without_a_second_document_are_no_reason_to_warn(text: str) -> None:
    document = read_yaml(text)
    assert (document.value, document.warnings) == ({"a": 1}, [])


def test_a_field_is_found_on_its_line() -> None:
    document = read_yaml(
        textwrap.dedent(
            """\
            # a comment
            a: &a
              b:
                - c: 1
                -
                  d: 2
            e:
              <<: *a
            f: *a
            """,
        ),
    )
    paths = [(), ("a", "b", 0, "c"), ("a", "b", 1, "d"), ("e", "b"), ("f", "b", 1), ("a", "x", 7)]
    assert [document.line(path) for path in paths] == [2, 4, 6, 3, 6, 2]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 100_000,
        "{a: " * 100_000,
        "a: " + "[" * (MAX_DEPTH + 1),
        "a: [" + "1," * MAX_WEIGHT + "]",
        "a: &a " + "x" * 200_000 + "\nb: [" + "*a," * 100 + "]",
        "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20)),
        "a: &a {" + ",".join(f"k{n}: 1" for n in range(1000)) + "}\nb:\n" + "  <<: *a\n" * 1000,
    ],
    ids=["lists", "dashes", "maps", "just too deep", "many", "long text", "laughs", "merges"],
)
def test_a_bomb_is_too_large(text: str) -> None:
    with pytest.raises(DocumentError) as error:
        read_yaml(text)
    assert error.value.code == RejectReason.TOO_LARGE


def test_as_deep_as_may_be_is_not_too_deep() -> None:
    assert read_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH).value


def test_a_thousand_repeated_keys_are_told_a_few_times() -> None:
    assert 0 < len(read_yaml("a: 1\n" * 1000).warnings) < 100


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: !pass!word x", "found undefined tag handle …"),
        ("a: @password", "found character … that cannot start any token"),
        ('a: "\\password"', "found unknown escape character …"),
    ],
)
def test_what_python_s_own_parser_quotes_is_not_told(text: str, told: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        list(yaml.parse(text, Loader=yaml.SafeLoader))
    assert yaml11._without_quotes(str(caught.value.problem)) == told

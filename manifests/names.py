"""The forms that names, paths and taints have in Kubernetes.

Each rule takes a text and returns what is wrong with it, as the end of a sentence that begins with the path
of its field. It returns an empty text if nothing is wrong.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from manifests.texts import quoted

Rule: TypeAlias = Callable[[str], str]
"""Returns what is wrong with a text; empty if nothing is."""

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL)
_DNS_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NAME_PART = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*")
_PRINTABLE_BUT_EQUALS = re.compile(r"[\x20-\x3c\x3e-\x7e]+")
_KEY = re.compile(r"[-._A-Za-z0-9]+")
_HEADER = re.compile(r"[-A-Za-z0-9]+")
_SEARCH_PATH = re.compile(
    r"[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?)*\.?"
)
# API servers also take letters instead of hexadecimal digits, and months up to 99.
_ISCSI_NAME = re.compile(
    r"iqn\.[0-9]{4}-[0-9]{2}\.[-.A-Za-z0-9]+:[^\s,;&|*$]+"
    r"|eui\.[A-Za-z0-9]{16}|naa\.[A-Za-z0-9]{32}",
    re.ASCII,
)

LABEL_LEN = 63
SUBDOMAIN_LEN = 253


def dns_label(text: str) -> str:
    """Container names, volume names, namespaces."""
    return _judged(
        text,
        _DNS_LABEL,
        LABEL_LEN,
        "must be a DNS label: lower-case letters, digits and '-', beginning and ending with a"
        " letter or digit",
    )


def dns_subdomain(text: str) -> str:
    """Names of objects."""
    return _judged(
        text,
        _DNS_SUBDOMAIN,
        SUBDOMAIN_LEN,
        "must be a DNS name: lower-case letters, digits, '-' and '.', beginning and ending with a"
        " letter or digit",
    )


def qualified_name(text: str) -> str:
    """Keys of labels and annotations, names of resources and conditions: ``prefix/name``."""
    prefix, slash, name = text.rpartition("/")
    if slash and (wrong := dns_subdomain(prefix)):
        return f"its prefix {wrong}"
    return _judged(
        name,
        _NAME_PART,
        LABEL_LEN,
        "must consist of letters, digits, '-', '_' and '.', beginning and ending with a letter or"
        " digit, after an optional DNS name and '/'",
    )


def label_value(text: str) -> str:
    """Values of labels: may be empty."""
    if not text:
        return ""
    return _judged(
        text,
        _NAME_PART,
        LABEL_LEN,
        "must consist of letters, digits, '-', '_' and '.', beginning and ending with a letter or"
        " digit, or be empty",
    )


def port_name(text: str) -> str:
    """Names of ports, as IANA registers service names."""
    return _judged(
        text,
        _PORT_NAME,
        15,
        "must consist of lower-case letters, digits and single '-' between them, with at least one"
        " letter",
    )


def environment_name(text: str) -> str:
    """Names of environment variables."""
    if _PRINTABLE_BUT_EQUALS.fullmatch(text):
        return ""
    return "must consist of printable ASCII characters other than '='"


def object_key(text: str) -> str:
    """Keys of Secrets and ConfigMaps."""
    wrong = _judged(text, _KEY, SUBDOMAIN_LEN, "must consist of letters, digits, '-', '_' and '.'")
    if not wrong and (text == "." or text.startswith("..")):
        return "must not be '.' nor begin with '..'"
    return wrong


def header_name(text: str) -> str:
    """Names of HTTP headers."""
    return "" if _HEADER.fullmatch(text) else "must consist of letters, digits and '-'"


def printable_text(text: str) -> str:
    """Images. API servers take control characters, too; terminals obey them, and no registry has them."""
    return "" if text.isprintable() else "must have no control characters"


def search_path(text: str) -> str:
    """DNS search paths: may end with a dot, have underscores, or be a dot."""
    if text == ".":
        return ""
    return _judged(text, _SEARCH_PATH, SUBDOMAIN_LEN, "must be a DNS name")


def ip_address(text: str) -> str:
    """IPv4 or IPv6 addresses, without a zone."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return "must be an IP address"
    return "must be an IP address without a zone" if "%" in text else ""


def iscsi_name(text: str) -> str:
    """Names of iSCSI targets and initiators, as RFC 3720 (iqn, eui) and RFC 3980 (naa) have them."""
    if _ISCSI_NAME.fullmatch(text):
        return ""
    return (
        "must be an iSCSI name: iqn.YYYY-MM.DOMAIN:NAME, eui. and 16 digits, or naa. and 32 digits,"
        f" not {quoted(text)}"
    )


def relative_path(text: str) -> str:
    """Paths inside of a volume."""
    if text.startswith("/"):
        return "must be a relative path"
    return no_backsteps(text)


def no_backsteps(text: str) -> str:
    """Paths without steps upward."""
    return "must not contain '..'" if ".." in text.split("/") else ""


def file_in_volume(text: str) -> str:
    """Paths of files in a volume: relative, and not those of the volume's own entries, such as ``..data``."""
    return relative_path(text) or ("must not begin with '..'" if text.startswith("..") else "")


def _judged(text: str, pattern: re.Pattern[str], length: int, form: str) -> str:
    if len(text) > length:
        return f"must be no longer than {length} characters, not {len(text)}"
    return "" if pattern.fullmatch(text) else f"{form}, not {quoted(text)}"


EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_taints(taints: Sequence[Mapping[str, Any]]) -> None:
    """Raise ``ValueError``, with the end of a sentence, if a Node cannot have ``taints``."""
    seen: set[tuple[str, str]] = set()
    for taint in taints:
        key, value, effect = taint["key"], taint.get("value", ""), taint["effect"]
        wrong = qualified_name(key) or label_value(value)
        if wrong:
            raise ValueError(f"has the taint {key[:64]!r}, whose key or value {wrong}")
        if effect not in EFFECTS:
            raise ValueError(
                f"has the taint {key!r} with the effect {effect[:64]!r}, which should be "
                f"{', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}"
            )
        if (key, effect) in seen:
            raise ValueError(f"has the taint {key!r} twice with the effect {effect}")
        seen.add((key, effect))

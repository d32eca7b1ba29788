"""Reading a ``resolv.conf``, which may be anybody's. Pure."""

from __future__ import annotations

from typing import Final

from runtimes.cri.configs.node import ResolvConf

LARGEST: Final = 10 << 20
"""Bytes. What is beyond is not read."""


def parse_resolv_conf(content: bytes) -> ResolvConf:
    """Return what ``content`` says. Lines that say nothing that can be understood are passed over.

    As for the C library the last ``search`` counts, and of options of one name the last one. ``domain`` is
    not heeded, as by kubelets.
    """
    servers: list[str] = []
    searches: tuple[str, ...] = ()
    options: dict[str, str] = {}
    for line in content[:LARGEST].decode(errors="replace").splitlines():
        fields = line.strip().split()
        if not fields or fields[0].startswith(("#", ";")):
            continue
        match fields[0]:
            case "nameserver" if len(fields) > 1:
                servers.append(fields[1])
            case "search":
                searches = tuple(_without_dot(domain) for domain in fields[1:])
            case "options":
                options.update({option.partition(":")[0]: option for option in fields[1:]})
            case _:
                pass
    return ResolvConf(servers=tuple(servers), searches=searches, options=tuple(options.values()))


def _without_dot(domain: str) -> str:
    return domain if domain == "." else domain.removesuffix(".")

"""``python -m tools.reference``: writes every page anew."""

from __future__ import annotations

from tools.reference.pages import PAGES, written


def main() -> None:
    """Write the pages whose text has changed, and say which."""
    for path, text in PAGES.items():
        if written(path, text()):
            print(path)  # noqa: T201 - for whoever runs it


if __name__ == "__main__":
    main()

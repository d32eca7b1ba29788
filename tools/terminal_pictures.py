"""Makes pictures of ``actorlet top`` in ``docs/images``: a part of ``make screenshots``."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from command.agent_api import AgentApi
from command.server_names import ServerName
from command.top.app import TopApp
from command.top.threads import TopThreads

SIZE = (80, 24)
PICTURES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("top", ()),
    ("top-pod", ("slash", *"crash", "enter", "enter")),
)
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""They would be loaded from elsewhere."""
_MANIFESTS = re.compile(r"/[\w/]+/manifests(?=/)")
"""A folder of this run, which nobody has."""


def take_terminal_pictures(folder: Path, port: int) -> None:
    """Write the pictures of an agent that answers at ``port``."""
    asyncio.run(_taken(folder, port))


async def _taken(folder: Path, port: int) -> None:
    threads = TopThreads(AgentApi(ServerName("127.0.0.1", port)), *SIZE)
    threads.start()
    app = TopApp(threads)
    session = threads.session
    async with app.run_test(size=SIZE) as pilot:
        for name, keys in PICTURES:
            await pilot.press(*keys)
            for _ in range(500):
                await pilot.pause(0.02)
                detail = session.state.detail
                is_shown = session.is_whole and session.state.connection.is_live
                if is_shown and (detail is None or detail.is_known) and session.state.agent:
                    break
            await pilot.pause(0.5)
            drawn = _FONTS.sub("", app.export_screenshot(title="actorlet top"))
            named = _MANIFESTS.sub("/etc/kubernetes/manifests", drawn)
            (folder / f"{name}.svg").write_text(named, encoding="utf-8")
    threads.close()

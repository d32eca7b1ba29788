"""Asks a program of ours a question, in a process that ends.

What a module imports stays in memory for good. So a library that only one moment needs belongs to a program
of its own: a module that reads its question as JSON from standard input and prints its answer as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from kernel.commands import CommandError, output_of
from messages.units import Seconds


def answer_of(module: str, question: object, deadline: Seconds) -> Any:
    """Run ``module`` as a program, and return its answer to ``question``. Blocks up to ``deadline``.

    Nothing of the question is in arguments, in the environment or on disk. Raises ``CommandError``, whose
    text contains nothing that the program wrote.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise CommandError("needs a Python interpreter, and none is known")
    output = output_of(
        [sys.executable, "-P", "-m", module],
        # It finds what this process finds, wherever this one was started.
        environment={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        told=json.dumps(question).encode(),
        deadline=deadline,
    )
    try:
        return json.loads(output)
    except ValueError:
        raise CommandError("printed something that is not JSON") from None

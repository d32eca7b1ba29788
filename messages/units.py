"""Types of numbers that carry their unit."""

from __future__ import annotations

from typing import NewType

Seconds = NewType("Seconds", float)
"""A span of time in seconds."""

Timestamp = NewType("Timestamp", float)
"""Seconds since the Unix epoch, UTC."""

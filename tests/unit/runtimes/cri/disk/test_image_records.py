"""The file with what is remembered of pulls."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.cri.images.pull_records import SALT_BYTES, PullRecords
from runtimes.cri.images.record_file import read_records, write_records
from tests.support.files.power import Power


def test_what_was_written_survives_when_the_power_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    power, path = Power(monkeypatch), tmp_path / "images" / "records"
    for salt in (bytes(SALT_BYTES), b"x" * SALT_BYTES):
        data = PullRecords(salt).encoded()
        write_records(path, data)
        power.goes(tmp_path)
        records = read_records(path)
        assert records is not None
        assert records.encoded() == data

# SPDX-License-Identifier: MIT
"""Names in cp932, the encoding of PMD, VMD and VPD, against Python's codec."""

from pathlib import Path

import mmdskin
from files import cp932_table

TABLE = Path(__file__).parents[2] / "csrc/core/base/cp932.h"


def names_read(names: list[bytes]) -> list[str]:
    """Reads each as a bone of a VPD, whose names may have any length and all bytes except line ends."""
    blocks = (b"Bone0{" + name + b"\r\n0,0,0;\r\n0,0,0,1;\r\n}\r\n" for name in names)
    motion = mmdskin.load_motion(b"Vocaloid Pose Data file\r\n" + b"".join(blocks))
    return [track.name for track in motion.bones]


def test_every_single_byte_reads_as_in_pythons_codec():
    names = [bytes([byte]) for byte in range(1, 256) if byte not in b"\r\n"]
    expected = [name.decode("cp932", "surrogateescape") for name in names]
    assert names_read(names) == expected


def test_every_pair_of_bytes_reads_as_in_pythons_codec():
    leads = [*range(0x81, 0xA0), *range(0xE0, 0xFD)]
    trails = [byte for byte in range(1, 256) if byte not in b"\r\n"]
    names = [bytes([lead, trail, 0x41]) for lead in leads for trail in trails]
    expected = [name.decode("cp932", "surrogateescape") for name in names]
    assert names_read(names) == expected


def test_the_table_is_up_to_date():
    assert TABLE.read_text(encoding="utf-8") == cp932_table.header()

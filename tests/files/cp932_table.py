# SPDX-License-Identifier: MIT
"""Prints csrc/core/base/cp932.h, the characters of cp932 as Python's codec has them."""

# The leads between them stand for private characters, in order, which needs no table.
LEADS = (*range(0x81, 0xA0), *range(0xE0, 0xF0), *range(0xFA, 0xFD))
TRAILS = (*range(0x40, 0x7F), *range(0x80, 0xFD))

HEAD = """\
/* SPDX-License-Identifier: MIT */
/* Characters of two bytes in cp932, written by tests/files/cp932_table.py: a row for each first
   byte of 81 to 9F, E0 to EF and FA to FC, in it a character for each second byte of 40 to 7E and
   80 to FC. U+FFFD stands where there is none. */
#ifndef MMD_CP932_H
#define MMD_CP932_H

#include <stdint.h>

/* clang-format off */
"""
TAIL = """\
};
/* clang-format on */

#endif
"""


def character(lead: int, trail: int) -> str:
    text = bytes([lead, trail]).decode("cp932", "replace")
    return text if len(text) == 1 else "\ufffd"


def header() -> str:
    lines = [f"static const uint_least16_t mmd_cp932[{len(LEADS)}][{len(TRAILS) + 1}] = {{"]
    for lead in LEADS:
        row = "".join(character(lead, trail) for trail in TRAILS)
        lines += [f"/* {lead:02X} */", f'u"{row[:94]}"', f'u"{row[94:]}",']
    return HEAD + "\n".join(lines) + "\n" + TAIL


if __name__ == "__main__":
    print(header(), end="")

# SPDX-License-Identifier: MIT
"""How notebooks show models, motions and pictures."""

import html
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdskin.errors import printable


def _chunk(name: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(name + data)
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", checksum)


def png(image: NDArray[np.uint8]) -> bytes:
    """An image (H,W,4) as a PNG of 8-bit RGBA, in sRGB."""
    height, width, _ = image.shape
    rows = np.zeros((height, 1 + 4 * width), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = image.reshape(height, 4 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = {b"IHDR": header, b"sRGB": b"\0", b"IDAT": zlib.compress(rows.tobytes()), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks.items())


def _text(value: Any) -> str:
    return html.escape(printable(str(value)))


def _table(title: str, rows: dict[str, Any]) -> str:
    cells = "".join(
        f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in rows.items()
    )
    return f"<table><caption>{_text(title)}</caption>{cells}</table>"


def model_html(model: Any) -> str:
    """A table of what a Model has."""
    low, high = model.bounds
    rows = {
        "vertices": f"{len(model.positions):,}",
        "triangles": f"{len(model.triangles):,}",
        "size": " × ".join(f"{length:.1f}" for length in high - low) + " units",
        "bones": len(model.bones),
        "morphs": len(model.morphs),
        "materials": len(model.materials),
        "rigid bodies": len(model.rigid_bodies),
    }
    return _table(f"Model {model.name or model.name_english}", rows)


def motion_html(motion: Any) -> str:
    """A table of what a Motion has."""
    first, last = motion.frame_range
    rows = {
        "frames": f"{first} to {last}, {motion.duration:.1f} s",
        "bones": f"{len(motion.bones)}, {sum(len(t.frames) for t in motion.bones):,} keys",
        "morphs": f"{len(motion.morphs)}, {sum(len(t.frames) for t in motion.morphs):,} keys",
        "camera": f"{len(motion.camera.frames):,} keys",
    }
    return _table(f"Motion {motion.name}", rows)

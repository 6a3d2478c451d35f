# SPDX-License-Identifier: GPL-3.0-or-later
"""The smooth functions of a joint's rotation that drive corrective keys.

The rotation of one bone relative to another is a unit quaternion w, x, y, z. The offsets that a
linear blend lacks are close to a quadratic form of it, which is also the same for (w, x, y, z) and
its opposite. Towards half a turn the blend shrinks like w, so the offsets before it grow: for that,
the same form is used again, divided by nearly w*w.

Expressions use only what Blender evaluates without Python, within its limit of 255 bytes: such
drivers also run with "Auto Run Python Scripts" off.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

_PRODUCTS = {"w": "xyz", "x": "xyz", "y": "yz", "z": "z"}  # all of them but w*w
_FIRST, _SECOND = np.array(
    [("wxyz".index(one), "wxyz".index(other)) for one in _PRODUCTS for other in _PRODUCTS[one]]
).T
_SOFT = 0.1  # keeps the second form finite at w = 0
COUNT = 2 * len(_FIRST)


def terms(turns: np.ndarray) -> np.ndarray:
    """(…, COUNT) values of all terms for turns (…, 4)."""
    products = turns[..., _FIRST] * turns[..., _SECOND]
    return np.concatenate([products, products / (turns[..., :1] ** 2 + _SOFT)], axis=-1)


class Function(NamedTuple):
    """A sum of terms relative to its value at rest, rounded as in the driver expression."""

    scale: float
    shares: tuple  # (COUNT,) from -1 to 1, with four decimals
    rest: float

    @classmethod
    def near(cls, coefficients: np.ndarray, rest: float) -> "Function":
        scale = float(f"{np.abs(coefficients).max():.4g}")
        shares = np.round(np.clip(coefficients / scale, -1, 1), 4)
        return cls(scale, tuple(shares.tolist()), round(float(rest), 4))

    def above_rest(self, terms: np.ndarray) -> np.ndarray:
        """(…,) for `terms` (…, COUNT)."""
        return terms @ (self.scale * np.array(self.shares))

    @property
    def expression(self) -> str:
        half = COUNT // 2
        plain, over = _form(self.shares[:half]), _form(self.shares[half:])
        return f"{self.rest:g}+{self.scale:.4g}*({plain}+({over})/(w*w+{_SOFT:g}))"


def _form(shares: Iterable[float]) -> str:
    """`w*(.5*x-.25*z)+…` of one form."""
    shares, rows = iter(shares), []
    for letter, others in _PRODUCTS.items():
        row = [
            f"{share:+.4f}*{other}" for other, share in zip(others, shares, strict=False) if share
        ]
        if row:
            rows.append(f"{letter}*({''.join(row).replace('0.', '.')})")
    return "+".join(rows) or "0"

# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver of a corrective key computes from the turn of its joint: smooth functions.

The turn of one bone against another is a unit quaternion w, x, y, z. What must be added to a linear
blend is nearly a quadratic form of it, which also does not mind that (w, x, y, z) and its opposite
are one turn. Towards half a turn the blend shrinks like w, and what is added before it grows: for
that the same form stands once more over nearly w*w.

Only what Blender computes without Python occurs, in the 255 bytes that an expression can have: such
drivers need no permission for scripts.
"""

from typing import NamedTuple

import numpy as np

_PRODUCTS = {"w": "xyz", "x": "xyz", "y": "yz", "z": "z"}  # all of them but w*w
_FIRST, _SECOND = np.array(
    [("wxyz".index(one), "wxyz".index(other)) for one in _PRODUCTS for other in _PRODUCTS[one]]
).T
_SOFT = 0.1  # keeps the second form finite where w is 0
COUNT = 2 * len(_FIRST)


def terms(turns):
    """(…, COUNT) values of all terms for turns (…, 4)."""
    products = turns[..., _FIRST] * turns[..., _SECOND]
    return np.concatenate([products, products / (turns[..., :1] ** 2 + _SOFT)], axis=-1)


class Function(NamedTuple):
    """A sum of terms above a value at rest, as exact as the expression holds it."""

    scale: float
    shares: tuple  # (COUNT,) from -1 to 1, with four decimals
    rest: float

    @classmethod
    def near(cls, coefficients, rest):
        scale = float(f"{np.abs(coefficients).max():.4g}")
        shares = np.round(np.clip(coefficients / scale, -1, 1), 4)
        return cls(scale, tuple(shares.tolist()), round(float(rest), 4))

    def above_rest(self, terms):
        """(…,) for `terms` (…, COUNT)."""
        return terms @ (self.scale * np.array(self.shares))

    @property
    def expression(self):
        half = COUNT // 2
        plain, over = _form(self.shares[:half]), _form(self.shares[half:])
        return f"{self.rest:g}+{self.scale:.4g}*({plain}+({over})/(w*w+{_SOFT:g}))"


def _form(shares):
    """`w*(.5*x-.25*z)+…` of one form."""
    shares, rows = iter(shares), []
    for letter, others in _PRODUCTS.items():
        row = [
            f"{share:+.4f}*{other}" for other, share in zip(others, shares, strict=False) if share
        ]
        if row:
            rows.append(f"{letter}*({''.join(row).replace('0.', '.')})")
    return "+".join(rows) or "0"

# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the joint functions that drive corrective keys, and compute the shapes of these keys.

Greedy: the joint with the largest error gets the next key, as long as the key reduces it enough.
A joint's functions are solved together: the few whose keys explain most of the offsets that its
vertices need in all frames (least squares, then principal components). Frames with larger errors
get more weight in each further round, so that the largest error decreases, not only the sum.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .linear_blend import moved

_WORTH = 0.97  # share of its largest error that a joint may keep when it gets more keys
_AHEAD = 3  # keys of a joint to try together when fewer do not help
_ROUNDS = 6
_LEAST_WEIGHT = 0.02  # weight of a frame without error, relative to the worst frame
_SMOOTH = 1e-5  # regularization, relative to the size of the terms
_STABLE = 1e-9
_STILL = 0.004  # a joint whose terms stay below this (half a degree) drives nothing
_ALIKE = 1e-6  # relative singular values below this are noise
# The terms of functions: products of the members of a unit quaternion.
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
    """A smooth function of a joint's rotation: a sum of terms relative to its value at rest, rounded as in
    the driver expression.

    The rotation of one bone relative to another is a unit quaternion w, x, y, z. The offsets that a
    linear blend lacks are close to a quadratic form of it, which is also the same for (w, x, y, z) and
    its opposite. Towards half a turn the blend shrinks like w, so the offsets before it grow: for that,
    the same form is used again, divided by nearly w*w.
    """

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
        """Only what Blender evaluates without Python, within its limit of 255 bytes: such drivers also
        run with "Auto Run Python Scripts" off."""
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


class Joint:
    """The functions of one joint."""

    def __init__(self, turns: np.ndarray, vertices: np.ndarray) -> None:
        """`turns` (F, 4); `vertices` (n,) index the arrays that `choose` takes."""
        self.terms = terms(turns)
        self.vertices = vertices
        sizes = np.linalg.svd(self.terms, compute_uv=False)
        turns_at_all = np.abs(self.terms).max() > _STILL
        self.room = int((sizes > _ALIKE * sizes[0]).sum()) if turns_at_all else 0  # for keys
        self.coefficients = np.zeros((COUNT, 0))
        self.weights = np.ones(len(turns))  # (F,) of frames
        self.error = 0.0
        self.added: Any = 0.0  # (F, n, 3) offsets of its keys

    @property
    def count(self) -> int:
        return self.coefficients.shape[1]

    def functions(self) -> list[Function]:
        """Values of the drivers: scaled to 0 to 1 in the frames, since not every program allows others."""
        values = self.terms @ self.coefficients
        low, high = values.min(axis=0).clip(max=0), values.max(axis=0).clip(min=0)
        coefficients = (self.coefficients / (high - low)).T
        return [Function.near(*one) for one in zip(coefficients, low / (low - high), strict=True)]


def choose(
    joints: list[Joint], left: np.ndarray, maps: np.ndarray, max_keys: int, tolerance: float
) -> Iterator[None]:
    """Choose functions of the joints for at most `max_keys` in total; yields often.

    `left` (F, V, 3) needed offsets before the blend's maps (F, V, 3, 3); what keys add is
    subtracted from it. Stops when no error exceeds `tolerance`.
    """
    for joint in joints:
        joint.error = _errors(maps, left, joint.vertices).max(initial=0)
        yield
    waiting, used = list(joints), 0
    while waiting and used < max_keys:
        joint = max(waiting, key=lambda one: one.error)
        if joint.error <= tolerance:
            return
        before = left[:, joint.vertices] + joint.added
        for more in range(1, min(_AHEAD, max_keys - used, joint.room - joint.count) + 1):
            fit = yield from _fit(joint, before, maps[:, joint.vertices], joint.count + more)
            if fit[-1] <= _WORTH * joint.error:
                break
        else:
            waiting.remove(joint)
            continue
        used += more
        joint.coefficients, joint.weights, joint.added, joint.error = fit
        left[:, joint.vertices] = before - joint.added
        for other in joints:
            if other is not joint and np.isin(other.vertices, joint.vertices).any():
                other.error = _errors(maps, left, other.vertices).max(initial=0)


def solution(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n, F) float32 that maps the offsets of F frames to the shapes of n keys with these values (F, n)."""
    weighted = values * np.square(weights)[:, None]
    return np.linalg.solve(_steady(values.T @ weighted, _STABLE), weighted.T).astype(np.float32)


def _fit(
    joint: Joint, needed: np.ndarray, maps: np.ndarray, count: int
) -> Generator[Any, None, Any]:
    """(coefficients, weights, added, error) of a joint with this many functions."""
    weights, best = np.ones(len(needed)), None
    flat = needed.reshape(len(needed), -1)
    for _ in range(_ROUNDS):
        coefficients = _main_functions(joint.terms, flat, weights, count)
        values = joint.terms @ coefficients
        shapes = solution(values, weights) @ flat
        added = (values.astype(np.float32) @ shapes).reshape(needed.shape)
        errors = _errors(maps, needed - added)
        error = float(errors.max(initial=0))
        if best is None or error < best[-1]:
            best = coefficients, weights, added, error
        yield
        if not error:
            break
        weights = weights * np.sqrt(errors.max(axis=1) / error + _LEAST_WEIGHT)
    return best


def _main_functions(
    terms: np.ndarray, flat: np.ndarray, weights: np.ndarray, count: int
) -> np.ndarray:
    """(COUNT, n) coefficients of the functions, at most `count`, whose keys explain most."""
    weighted = terms * np.square(weights)[:, None]
    gram = _steady(terms.T @ weighted, _SMOOTH)
    solved = np.linalg.solve(gram, (weighted.astype(np.float32).T @ flat).astype(np.float64))
    root = np.linalg.cholesky(gram).T
    explained = root @ solved
    axes = np.linalg.eigh(explained @ explained.T)[1][:, ::-1]
    return np.linalg.solve(root, axes[:, :count])


def _steady(gram: np.ndarray, share: float) -> np.ndarray:
    """The Gram matrix, regularized so that it can always be solved."""
    least = share * np.trace(gram) / len(gram) + np.finfo(np.float64).tiny
    return gram + least * np.eye(len(gram))


def _errors(
    maps: np.ndarray, offsets: np.ndarray, chosen: slice | np.ndarray = slice(None)
) -> np.ndarray:
    """(F, n) lengths of the offsets after the maps."""
    return np.linalg.norm(moved(maps[:, chosen], offsets[:, chosen]), axis=2)

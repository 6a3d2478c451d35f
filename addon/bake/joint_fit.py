# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the joint functions that drive corrective keys, and compute the shapes of these keys.

Greedy: the joint with the largest error gets the next key, as long as the key reduces it enough.
A joint's functions are solved together: the few whose keys explain most of the offsets that its
vertices need in all frames (least squares, then principal components). Frames with larger errors
get more weight in each further round, so that the largest error decreases, not only the sum.
"""

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from . import joint_functions
from .joint_functions import Function
from .linear_blend import moved

_WORTH = 0.97  # share of its largest error that a joint may keep when it gets more keys
_AHEAD = 3  # keys of a joint to try together when fewer do not help
_ROUNDS = 6
_LEAST_WEIGHT = 0.02  # weight of a frame without error, relative to the worst frame
_SMOOTH = 1e-5  # regularization, relative to the size of the terms
_STABLE = 1e-9
_STILL = 0.004  # a joint whose terms stay below this (half a degree) drives nothing
_ALIKE = 1e-6  # relative singular values below this are noise


class Joint:
    """The functions of one joint."""

    def __init__(self, turns: np.ndarray, vertices: np.ndarray) -> None:
        """`turns` (F, 4); `vertices` (n,) index the arrays that `choose` takes."""
        self.terms = joint_functions.terms(turns)
        self.vertices = vertices
        sizes = np.linalg.svd(self.terms, compute_uv=False)
        turns_at_all = np.abs(self.terms).max() > _STILL
        self.room = int((sizes > _ALIKE * sizes[0]).sum()) if turns_at_all else 0  # for keys
        self.coefficients = np.zeros((joint_functions.COUNT, 0))
        self.weights = np.ones(len(turns))  # (F,) of frames
        self.error = 0.0
        self.added: Any = 0.0  # (F, n, 3) offsets of its keys

    @property
    def count(self) -> int:
        return self.coefficients.shape[1]

    def take(self, fit: tuple[np.ndarray, np.ndarray, np.ndarray, Any]) -> None:
        self.coefficients, self.weights, self.added, self.error = fit

    def functions(self) -> list[Function]:
        """Values of the drivers: scaled to 0 to 1 in the frames, since not every program allows others."""
        values = self.terms @ self.coefficients
        low, high = values.min(axis=0).clip(max=0), values.max(axis=0).clip(min=0)
        coefficients = (self.coefficients / (high - low)).T
        return [Function.near(*one) for one in zip(coefficients, low / (low - high), strict=True)]


def choose(
    joints: list[Joint], left: np.ndarray, maps: np.ndarray, most: int, tolerance: float
) -> Iterator[None]:
    """Choose functions of the joints for at most `most` keys in total; yields often.

    `left` (F, V, 3) needed offsets before the blend's maps (F, V, 3, 3); what keys add is
    subtracted from it. Stops when no error exceeds `tolerance`.
    """
    for joint in joints:
        joint.error = _errors(maps, left, joint.vertices).max(initial=0)
        yield
    waiting, used = list(joints), 0
    while waiting and used < most:
        joint = max(waiting, key=lambda one: one.error)
        if joint.error <= tolerance:
            return
        before = left[:, joint.vertices] + joint.added
        for more in range(1, min(_AHEAD, most - used, joint.room - joint.count) + 1):
            fit = yield from _fit(joint, before, maps[:, joint.vertices], joint.count + more)
            if fit[-1] <= _WORTH * joint.error:
                break
        else:
            waiting.remove(joint)
            continue
        used += more
        joint.take(fit)
        left[:, joint.vertices] = before - joint.added
        for other in joints:
            if other is not joint and np.isin(other.vertices, joint.vertices).any():
                other.error = _errors(maps, left, other.vertices).max(initial=0)


def solution(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n, F) float32 that maps the offsets of F frames to the shapes of n keys.

    `values` (F, n) of the keys.
    """
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

# SPDX-License-Identifier: MIT
"""Bones of a rig: their names and their tree; and matrices of them, checked."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mmdskin.errors import counted
from mmdskin.rotations import cross, nearest

LARGEST = 1e9  # a coordinate
MOST_TRANSFORMS = 1 << 24  # of all bones in all frames, 2 GiB
RATES = (0.01, 10_000.0)  # frames per second
_RIGID = 1e-5  # how far a matrix may be from a rotation above the row 0 0 0 1


class Tree:
    """Bones by names and parents, checked, in any order: parents first, depths, descendants."""

    def __init__(self, names: Sequence[str], parents: ArrayLike) -> None:
        if isinstance(names, str):
            raise TypeError("names: expected a sequence of str, not one str")
        self.names = tuple(names)
        for i, name in enumerate(self.names):
            if not isinstance(name, str):
                raise TypeError(f"names[{i}]: expected a str, not {type(name)!r}")
        count, array = len(self.names), np.array(parents)
        if array.shape != (count,) or (count and array.dtype.kind not in "iu"):
            what = f"{array.dtype} of shape {array.shape}"
            raise ValueError(f"parents: {what}, expected integers ({count},)")
        self.parents: NDArray[np.int64] = array.astype(np.int64)
        self.parents.flags.writeable = False
        bad = np.flatnonzero((self.parents < -1) | (self.parents >= count))
        if len(bad):
            raise ValueError(f"parents[{bad[0]}]: {array[bad[0]]} of {counted(count, 'bone')}")
        self._above = self.parents.tolist()
        # Here and below, the last of the list, [-1], is the parent of the roots.
        self.children: list[list[int]] = [[] for _ in range(count + 1)]
        for bone, parent in enumerate(self._above):
            self.children[parent].append(bone)
        todo = self.children.pop()[::-1]
        self.order: list[int] = []  # depth first: descendants follow their ancestor without a gap
        while todo:
            self.order.append(todo.pop())
            todo += self.children[self.order[-1]][::-1]
        if len(self.order) < count:
            lost = min(set(range(count)) - set(self.order))
            raise ValueError(f'parents: bone {lost} "{self.names[lost]}" is in or below a cycle')
        self.depth, self.size, self._entered = [-1] * (count + 1), [1] * (count + 1), [0] * count
        for place, bone in enumerate(self.order):
            self._entered[bone] = place
            self.depth[bone] = self.depth[self._above[bone]] + 1
        for bone in reversed(self.order):
            self.size[self._above[bone]] += self.size[bone]

    def is_above(self, bone: int, other: int) -> bool:
        """Whether a bone is another one's ancestor (not itself)."""
        return 0 < self._entered[other] - self._entered[bone] < self.size[bone]

    def chain(self, bone: int) -> list[int]:
        """A bone and its ancestors, up to the root."""
        found = []
        while bone >= 0:
            found.append(bone)
            bone = self._above[bone]
        return found

    def below(self, bone: int) -> list[int]:
        """A bone and its descendants, parents first."""
        place = self._entered[bone]
        return self.order[place : place + self.size[bone]]

    def common(self, *bones: int) -> list[int]:
        """The bones that are above all these or one of them, the lowest first."""
        chains = [self.chain(bone) for bone in bones]
        shared = set(chains[0]).intersection(*chains)
        return [bone for bone in chains[0] if bone in shared]


def matrices(values: ArrayLike, name: str, names: Sequence[str]) -> NDArray[np.float64]:
    """World matrices (B,4,4), or (F,B,4,4), checked, without scale; read-only copies."""
    try:
        array = np.array(values, float)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: expected matrices (B,4,4), not {type(values)!r}") from None
    if array.ndim not in (3, 4) or array.shape[-3:] != (len(names), 4, 4):
        raise ValueError(f"{name}: shape {array.shape}, expected (…,{len(names)},4,4)")
    m = np.ascontiguousarray(array.reshape(-1, 4, 4).transpose(1, 2, 0))  # long axes are fast
    row = np.array([[0.0], [0], [0], [1]])
    for fits, fault in (  # NaN does not
        (np.abs(m[:3]).max((0, 1), initial=0) <= LARGEST, "is not finite, or above 1e9"),
        (np.abs(m[3] - row).max(0, initial=0) <= _RIGID, "does not end with the row 0 0 0 1"),
    ):
        bad = np.argwhere(~fits.reshape(array.shape[:-2]))
        if len(bad):
            frame = f"frame {bad[0][0]}, " if array.ndim == 4 else ""
            at = bad[0][-1]
            raise ValueError(f'{name}: {frame}bone {at} "{names[at]}" {fault}')
    x, y, z = (m[:3, i] for i in range(3))
    misses = [np.sum(x * x, 0) - 1, np.sum(y * y, 0) - 1, np.sum(x * y, 0)]
    off = np.abs([*misses, *(cross(x.T, y.T).T - z)]).max(0) > _RIGID
    if off.any():
        off = off.reshape(array.shape[:-2])
        array[off, :3, :3] = nearest(array[off, :3, :3])
    array[..., 3, :] = 0, 0, 0, 1
    array.flags.writeable = False
    return array

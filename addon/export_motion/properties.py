# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of a model's visibility and IK switches."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..blender import native

if TYPE_CHECKING:
    import mmdskin


def track(
    pmx: "mmdskin.Model", numbers: np.ndarray, visible: np.ndarray, ik: np.ndarray
) -> "mmdskin.PropertyTrack":
    """A key at the first of the frames and at each change; like MMD, each names all IK bones.

    `visible` (F,) and `ik` (F, B) are values at frames `numbers` (F,) of the file.
    """
    goals = {bone.name: i for i, bone in reversed([*enumerate(pmx.bones)]) if bone.ik}
    names = tuple(dict.fromkeys(bone.name for bone in pmx.bones if bone.ik))
    states = ik[:, [goals[name] for name in names]]
    values = np.column_stack([visible, states])
    changes = np.flatnonzero(np.append(True, (values[1:] != values[:-1]).any(axis=1)))
    return native.load().PropertyTrack(numbers[changes], visible[changes], names, states[changes])


def chosen(track: Any, options: Any) -> Any:
    """The property keys without what is not to be exported."""
    if not options.switches:
        track = track._replace(ik_enabled=np.ones_like(track.ik_enabled))
    if not options.visibility:
        track = track._replace(visible=np.ones_like(track.visible))
    return track

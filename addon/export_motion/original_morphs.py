# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of morphs as the shape keys and sliders of a model have them: MMD's are linear, too."""

from typing import TYPE_CHECKING, NamedTuple

from ..blender import actions
from ..import_motion import import_state, original_keys
from ..pose import scene_motion
from ..scene import model_file, scene_model, sliders
from . import file_tracks, linear_keys
from .linear_keys import Channel
from .original_tracks import OwnKeyframes
from .timing import Timing

if TYPE_CHECKING:
    import mmdskin


class Found(NamedTuple):
    tracks: "dict[str, mmdskin.MorphTrack]"  # by name of the morph
    sampled: bool  # whether other morphs have to be read frame by frame


def find(model: scene_model.SceneModel, pmx: "mmdskin.Model", timing: Timing) -> Found:
    found: dict[str, mmdskin.MorphTrack] = {}
    sampled = False
    for name, channel in _channels(model, pmx).items():
        keys = linear_keys.find([channel], timing)
        if keys is None:
            sampled = True
        elif keys.is_animated or channel.value:
            found[name] = file_tracks.morph_track(name, keys.numbers, keys.values[:, 0])
    return Found(found, sampled)


def are_kept(
    model: scene_model.SceneModel, expected: dict[actions.Block, original_keys.Curves]
) -> bool:
    """Whether the keys of all shape keys and sliders are still those that an import has written."""
    for block in import_state.blocks(model):
        own, before = OwnKeyframes(block), expected.get(block, {})
        channels = {channel for channel in (*own.curves, *before) if _is_weight(channel[0])}
        is_driven = any(map(_is_weight, own.driven))
        if is_driven or not own.are({channel: before.get(channel) for channel in channels}):
            return False
    return True


def _is_weight(path: str) -> bool:
    return path.startswith(("key_blocks[", '["'))


def _channels(model: scene_model.SceneModel, pmx: "mmdskin.Model") -> dict[str, Channel]:
    """The shape key or slider of each morph."""
    blocks = {block: OwnKeyframes(block) for block in import_state.shape_keys(model)}
    keys, properties = model_file.morph_keys(model.armature), sliders.names(model.armature)
    found: dict[str, Channel] = {}
    pairs = [(morph.name, key) for morph, key in zip(pmx.morphs, keys, strict=False) if key]
    if len(keys) != len(pmx.morphs):
        of_keys = scene_motion.morphs_of_keys(pmx, model.armature)
        pairs = [(pmx.morphs[i].name, key) for key, i in of_keys.items() if i >= 0]
    for name, key in pairs:
        block = next((block for block in blocks if key in block.key_blocks), None)
        if block is not None:
            value = 0.0 if block.key_blocks[key].mute else block.key_blocks[key].value
            found.setdefault(name, Channel(blocks[block], actions.value_path(key), 0, value))
    if len(keys) == len(properties) == len(pmx.morphs):
        own = OwnKeyframes(model.armature)
        for morph, name in zip(pmx.morphs, properties, strict=True):
            if name and name in model.armature:
                value = float(model.armature[name])
                found.setdefault(morph.name, Channel(own, sliders.path(name), 0, value))
    return found

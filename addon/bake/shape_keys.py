# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions as shape keys, one per frame, in place of the armature modifier."""

from . import animation, record, sliders


class ShapeKeys:
    """Baked frames of one mesh. Frames of a range are keyed, so that each shows at its own time."""

    def __init__(self, part, bones, options):
        self.part, self.options = part, options
        self.positions = []
        self.warnings, self.notes = [], []

    def adds_to(self, state):
        """Whether an earlier bake stays: single frames gather."""
        return state["target"] == "SHAPE_KEYS" and not (self.options.moves or "curves" in state)

    def start(self):
        pass

    def add(self, block):
        self.positions += list(block.positions)

    def finish(self):
        return ()

    def write(self, state):
        obj = self.part.obj
        record.base_key(obj)
        names = [
            record.add_key(obj, state, f"MMD {frame:04d}", positions).name
            for frame, positions in zip(self.options.frames, self.positions, strict=True)
        ]
        keys = obj.data.shape_keys
        shown = set(names)
        for key in keys.key_blocks:
            if key.name not in shown and key != keys.reference_key and not key.mute:
                key.mute = True
                if key.name not in state["keys"]:
                    state["muted"].append(key.name)
        sliders.put_aside(obj, state)  # before there are curves, as it may copy their action
        if self.options.moves:
            places = range(len(names))
            state["curves"] = animation.add_pulses(keys, names, self.options.times, places)
        else:
            keys.key_blocks[names[0]].value = 1.0
        obj.show_only_shape_key = False
        record.switch_armature_off(obj, self.part.armature, state)

    def close(self, done):
        self.positions.clear()

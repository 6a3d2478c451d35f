# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of a model that a motion file animates: the file's own keys, and fitted ones where the
export cuts them or its frames are not the file's.
"""

from typing import Any

import bpy
import numpy as np

from ..blender import native
from ..operator_base.modal_job import Steps
from ..pose import motion_source
from . import file_tracks
from .as_keyed import Keyed
from .fit import Fitted, of_locals
from .samples import Samples, local_values
from .timing import Timing


class MotionFileKeys(Keyed):
    def __init__(
        self,
        armature: bpy.types.Object,
        settings: motion_source.Settings,
        timing: Timing,
        animates_visibility: bool,
        options: Any,
    ) -> None:
        self._file = motion_source.load(armature, settings)
        super().__init__(self._file.rig.pmx, timing, options)
        self.needs_frames = animates_visibility and options.visibility

    def fit(self, samples: Samples | None) -> Steps[Fitted]:
        """`samples` are of the scene's visibility, if it is animated."""
        file, timing = self._file, self._timing
        own = [*file.motion.bones, *(file.motion.morphs if self._options.morphs else ())]
        whole = [track for track in own if file_tracks.are_on_frames(file, [track], timing)]
        kept = {_key(track): track for track in file_tracks.in_range(file, whole, timing)}
        switches = self._switches(samples)
        missing = {_key(t) for t in own if not self._is_complete(t, kept.get(_key(t)))}
        worst, notes = 0.0, ()
        if missing:
            like = [track for track in kept.values() if not hasattr(track, "weights")]
            fitted, report = yield from self._fitted(like, switches)
            worst, notes = report.worst, report.notes
            found = {_key(track): track for track in (*fitted.bones, *fitted.morphs)}
            known = {bone.name for bone in file.rig.pmx.bones}
            for key in missing:
                if key in found:
                    kept[key] = found[key]
                elif key[1] in known:
                    kept.pop(key, None)
        tracks = [kept[_key(track)] for track in own if _key(track) in kept]
        motion = native.load().Motion.from_tracks(
            bones=[self._switched(track) for track in tracks if not hasattr(track, "weights")],
            morphs=[track for track in tracks if hasattr(track, "weights")],
            properties=switches,
            name=file.motion.name or self._pmx.name,
        )
        return Fitted(motion, worst, notes)

    def _is_complete(self, track: Any, kept: Any) -> bool:
        """Whether the kept keys of a track are all that the export needs; lines may be cut."""
        if kept is None:
            return not len(track.frames)
        return hasattr(track, "weights") or len(kept.frames) == len(track.frames)

    def _fitted(self, like: list[Any], switches: Any) -> Steps[tuple]:
        values = local_values(self._file, self._timing.times)
        keys = native.load().Motion.from_tracks(bones=like, properties=switches)
        return of_locals(self._pmx, values, keys, self._timing, self._options)

    def _switched(self, track: Any) -> Any:
        """A bone's track, with its physics off if simulated bones shall have keys."""
        bones = enumerate(self._pmx.bones)
        number = next((i for i, bone in bones if bone.name == track.name), -1)
        if self._options.physics != "KEYS" or not file_tracks.is_simulated(self._pmx, number):
            return track
        return track._replace(physics=np.zeros(len(track.frames), bool))

    def _switches(self, samples: Samples | None) -> Any:
        """The property keys of the file, with the scene's visibility if it is animated."""
        if not self._has_properties:
            return None
        track = file_tracks.property_keys(self._file, self._timing)
        if samples is not None:
            numbers = self._timing.numbers
            on = np.ones((len(numbers), len(self._pmx.bones)), bool)
            at = np.searchsorted(track.frames, numbers, side="right") - 1
            for i, bone in enumerate(self._pmx.bones):
                if len(track.frames) and bone.name in track.ik_names:
                    states = track.ik_enabled[:, track.ik_names.index(bone.name)]
                    on[:, i] = states[np.maximum(at, 0)]
            track = file_tracks.switches(self._pmx, numbers, samples.visible, on)
        return self._chosen(track)


def _key(track: Any) -> tuple[bool, str]:
    """Of a track: whether it is a morph's, and its name."""
    return hasattr(track, "weights"), track.name

# SPDX-License-Identifier: GPL-3.0-or-later
"""The import of a motion onto a model: what solved keys, original keys and single poses share."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bpy.types import Scene

from ..blender import actions, playhead
from ..blender.translations import Reports
from ..blender.user_error import UserError
from ..operator_base import properties
from ..operator_base.editing import Edit
from ..physics import simulation
from ..pose import ik_source, motion_source, physics_settings, scene_motion
from ..scene import model_file, scene_model, sliders
from . import import_state

# Options of the physics; it starts with the motion.
PHYSICS = [
    name for name in properties.names(properties.PhysicsProperties) if name != "physics_start"
]


class MotionImport(Reports):
    """`options` is the operator, which also reports; `edit` has saved the model; `replace` removes earlier
    motions."""

    def __init__(
        self, options: Any, model: scene_model.SceneModel, scene: Scene, edit: Edit, replace: bool
    ) -> None:
        self.options, self.model, self.scene, self.edit = options, model, scene, edit
        self.replace, self.report = replace, options.report
        self._source = model.armature.mmdskin.source  # before the import
        self._lacks_files = False  # of earlier imports
        self._muted: list[bool] = []  # of all records

    def simulated(
        self, source: motion_source.Motion, newest: motion_source.Motion, start: int = 0
    ) -> motion_source.Motion:
        """The motion with physics from a frame on, if the option is on."""
        if not self.options.physics:
            return source
        scene_motion.check_rate(source, newest)
        own = self.model.armature.mmdskin
        timing = physics_settings.Timing(source.start, 1 / source.speed, playhead.end(self.scene))
        settings = physics_settings.of_import(own, self.options, start, timing)
        return simulation.with_physics(source, settings)

    def earlier(self, newest: motion_source.Motion) -> tuple[list[motion_source.Motion], bool]:
        """The earlier motions to keep, and whether they have another form, so that all are imported again."""
        if self.replace:
            return [], False
        state = import_state.Record(self.model.armature).state
        files = self._files(state)
        found = self._opened(files, newest)
        self._lacks_files = len(found) < len(files)
        form = state.form if files is state.files else import_state.FILE
        return found, bool(files) and form != self.options.mode

    def imported(self, newest: motion_source.Motion) -> list[motion_source.Motion]:
        """The motions of imported keyframes whose files still exist."""
        state = import_state.Record(self.model.armature).state
        return self._opened([] if state.form == import_state.FILE else state.files, newest)

    def _files(self, state: import_state.MotionState) -> list:
        """Path, start and speed of the motions that the model shows: keyframes, or those of the
        settings, which the user may have chosen."""
        is_keyed = state.files and state.form != import_state.FILE
        settings = motion_source.settings_of(self.model.armature, self.scene)
        if settings is None or (is_keyed and self.options.mode != import_state.FILE):
            return state.files
        if not settings.motion_path or settings.motion_path.lower().endswith(".vpd"):
            return []
        newest = motion_source.Earlier(settings.motion_path, settings.start)
        speed = motion_source.speed(settings)
        return [[path, start, speed] for path, start in (*settings.earlier, newest)]

    def _opened(self, files: list, newest: motion_source.Motion) -> list[motion_source.Motion]:
        motions = []
        for path, start, speed in files:
            try:
                motion = model_file.load_motion(path, newest.rig.pmx)
            except UserError as error:
                self.caution("Skipped a motion imported earlier: {reason}", reason=error)
                continue
            motions.append(replace(newest, motion=motion, path=path, start=start, speed=speed))
        return motions

    def clear(self) -> None:
        """Undo earlier imports; keyframes whose file is gone are kept, since nothing keys them again."""
        blocks = import_state.blocks(self.model)
        for name in import_state.clear(self.edit, blocks, self._lacks_files):
            self.caution("Edited keyframes were kept in action '{name}'", name=name)
        import_state.restore_range()

    def show_armature(self, noted: import_state.Record, source: motion_source.Motion) -> None:
        """Set the pose source to one that shows the keyframes: solved ones must not be solved again.

        Physics with original keys, also that of a model which has it on, needs MMD's IK as pose source.
        """
        chosen, own = self.options.physics, self.model.armature.mmdskin
        is_original = self.options.mode == import_state.ORIGINAL
        if is_original and (chosen or (own.physics and not source.is_pose)):
            settings = {name: getattr(self.options, name) for name in PHYSICS if chosen}
            noted.set_settings(model_path=source.rig.path, **settings, source=ik_source.SOURCE)
            self.inform("The Pose Source is now MMD's IK: use Simulate for its physics")
            return
        kept = {"ARMATURE", ik_source.SOURCE} if is_original else {"ARMATURE"}
        if own.source not in kept:
            noted.set_settings(source="ARMATURE")
        if self._source not in kept:
            self.inform("The Pose Source of '{name}' is now Armature", name=self.model.name)

    def follow_renames(self, source: motion_source.Motion) -> None:
        """Let UV morphs use renamed UV maps, and tell which shape keys and morphs will not move."""
        meshes = self.model.meshes
        keys_morphs = self.options.mode != import_state.FILE and source.motion.morphs
        for obj in meshes:
            if keys_morphs and obj.data.shape_keys and obj.data.library:
                self.caution(
                    "The shape keys of '{name}' are linked from another file and are not animated",
                    name=obj.name,
                )
            for socket, name in sliders.follow_uv_maps(obj):
                self.edit.on_failure(setattr, socket, "default_value", name)
        blocks = [obj.data.shape_keys for obj in meshes if obj.data.shape_keys]
        if not blocks:
            return
        lost = source.without_key(set().union(*(block.key_blocks.keys() for block in blocks)))
        if any(map(sliders.lacks_uv_maps, meshes)):
            kinds = enumerate(source.rig.pmx.morphs)
            lost += [i for i, morph in kinds if morph.kind.startswith("uv")]
        names = source.moved_morphs(lost)
        if names:
            self.caution(
                "The motion cannot move these morphs, because their shape keys or UV maps were"
                " renamed or removed: {names}",
                names=", ".join(names),
            )

    @contextlib.contextmanager
    def recording(self, block: actions.Block) -> Iterator[import_state.Record]:
        """The Record of a datablock, stored at the end of the block; what it mutes counts for `tell_muted`."""
        noted = import_state.Record(block)
        yield noted  # of what an exception leaves, nothing is stored: the edit restores it
        noted.store()
        self._muted += noted.muted

    def tell_muted(self) -> None:
        """A warning if users may miss something: constraints of the model belong to what was solved."""
        if self._muted:
            tell = self.caution if any(self._muted) else self.inform
            tell(
                "Muted 1 constraint or driver that would interfere with the motion:"
                " Clear Motion restores it",
                "Muted {count} constraints and drivers that would interfere with the motion:"
                " Clear Motion restores them",
                count=len(self._muted),
            )

    def extend(self, noted: import_state.Record, source: motion_source.Motion) -> None:
        if self.model.armature.mmdskin.range == "CURRENT":
            noted.set_settings(range="SCENE")  # what a bake of a motion is for
        if self.options.extend_range:
            import_state.extend_range(self.scene, source.scene_range[1])

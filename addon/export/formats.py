# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's exporters: what each can hold, and the options by which it shows what Blender shows."""

from collections.abc import Callable
from typing import Any, NamedTuple

import bpy

from ..user_error import UserError
from . import content


class Format(NamedTuple):
    name: str
    ending: str
    operator: str
    keys: bool  # files hold shape keys, not the points of each frame
    options: Callable[[content.Content], dict[str, Any]]

    def exporter(self):
        """Blender's operator; UserError where this Blender lacks it."""
        module, _, name = self.operator.partition(".")
        if name in dir(getattr(bpy.ops, module)):
            return getattr(getattr(bpy.ops, module), name)
        if module == "wm":
            raise UserError("This Blender was built without {format}", format=self.name)
        raise UserError(
            "Blender's exporter for {format} is off: enable it in the preferences, Add-ons",
            format=self.name,
        )

    def check(self, shown):
        """UserError where the file would not show what Blender shows."""
        if shown.moves and shown.frames[0] < 0 and "start" not in self.options(shown):
            raise UserError(
                "{format} begins at frame 0: bake from frame 0 on, or use Alembic",
                format=self.name,
            )
        if self.keys and shown.kind == "MESH_CACHE":
            raise UserError(
                "{format} cannot hold a mesh cache: bake shape keys or corrective keys",
                format=self.name,
            )
        if self.keys and shown.kind == "LIVE":
            raise UserError(
                "{format} cannot hold live skinning: bake shape keys or corrective keys first",
                format=self.name,
            )
        keyframes_only = "export_animation_mode" not in _properties(self.exporter())
        if self.name == "glTF" and keyframes_only and shown.skinned and not shown.keyed:
            raise UserError(
                "{format} of this Blender holds corrective keys only where they and the armature"
                " have keyframes: bake a range of them, keyed",
                format=self.name,
            )

    def export(self, path, shown):
        """Call Blender's operator with those options that it has in this Blender."""
        exporter = self.exporter()
        known = _properties(exporter)
        options = {name: v for name, v in self.options(shown).items() if name in known}
        if path.lower().endswith(".gltf"):
            options["export_format"] = "GLTF_SEPARATE"
        # Some ask a viewport what is selected, and that leaves out what it does not show.
        with bpy.context.temp_override(selected_objects=list(shown.objects)):
            return exporter(filepath=path, **options)


def _properties(exporter):
    return exporter.get_rna_type().properties.keys()


def _gltf(shown):
    return {
        "use_selection": True,
        "export_format": "GLB",
        "export_skins": shown.skinned,
        "export_apply": False,  # shape keys would be lost
        "export_animations": shown.moves,
        # All objects together, with drivers and constraints, in the frames of the scene.
        "export_animation_mode": "SCENE",
        "export_anim_scene_split_object": False,
        "export_anim_single_armature": False,  # 3.4: not every action that has bones
        "export_frame_range": shown.moves,
        "export_force_sampling": True,
        "export_optimize_animation_size": False,
        "export_all_influences": True,
    }


def _fbx(shown):
    return {
        "use_selection": True,
        "object_types": {"MESH", "ARMATURE"},
        "use_mesh_modifiers": False,  # shape keys would be lost
        "add_leaf_bones": False,
        "bake_anim": shown.moves,
        # By these it looks at the actions of objects, not at those of keys.
        "bake_anim_use_all_actions": False,
        "bake_anim_use_nla_strips": False,
        "bake_anim_simplify_factor": 0.0 if shown.skinned else 1.0,
    }


def _usd(shown):
    return {
        "selected_objects_only": True,
        "evaluation_mode": "VIEWPORT",  # also what is off in renders
        "export_animation": shown.moves,
        # As it is shown, point by point: blend shapes would not keep values that do not move.
        "export_armatures": False,
        "export_shapekeys": False,
        "convert_world_material": False,
    }


def _alembic(shown):
    return {
        "selected": True,
        "evaluation_mode": "VIEWPORT",
        "start": shown.frames[0],
        "end": shown.frames[1],
        "as_background_job": False,
    }


FORMATS = {
    "GLTF": Format("glTF", ".glb", "export_scene.gltf", True, _gltf),
    "FBX": Format("FBX", ".fbx", "export_scene.fbx", True, _fbx),
    "USD": Format("USD", ".usdc", "wm.usd_export", False, _usd),
    "ALEMBIC": Format("Alembic", ".abc", "wm.alembic_export", False, _alembic),
}
_ENDINGS = {
    ".gltf": "GLTF",
    ".usd": "USD",
    ".usda": "USD",
    ".usdz": "USD",
    **{one.ending: name for name, one in FORMATS.items()},
}


def of_ending(ending: str) -> str | None:
    """The format of files that end so."""
    return _ENDINGS.get(ending.lower())

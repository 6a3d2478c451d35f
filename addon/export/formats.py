# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's exporters: what each format can store, and the options that give the same result."""

from collections.abc import Callable
from typing import Any, NamedTuple

import bpy

from ..blender.user_error import UserError
from .content import Content


class Format(NamedTuple):
    name: str
    ending: str
    operator: str
    keys: bool  # files store shape keys, not the points of each frame
    options: Callable[[Content], dict[str, Any]]

    def exporter(self) -> Any:
        """Blender's operator; UserError if this Blender lacks it."""
        module, _, name = self.operator.partition(".")
        if name in dir(getattr(bpy.ops, module)):
            return getattr(getattr(bpy.ops, module), name)
        if module == "wm":
            raise UserError("This Blender was built without {format} support", format=self.name)
        raise UserError(
            "Blender's {format} exporter is disabled: enable it in Preferences > Add-ons",
            format=self.name,
        )

    def check(self, shown: Content) -> None:
        """UserError if the file would not show what Blender shows."""
        if shown.moves and shown.frames[0] < 0 and "start" not in self.options(shown):
            raise UserError(
                "{format} files start at frame 0: bake from frame 0 on, or use Alembic",
                format=self.name,
            )
        if self.keys and shown.kind == "MESH_CACHE":
            raise UserError(
                "{format} cannot store a mesh cache: bake shape keys or corrective keys instead",
                format=self.name,
            )
        if self.keys and shown.kind == "LIVE":
            raise UserError(
                "{format} cannot store MMD Skinning: bake shape keys or corrective keys first",
                format=self.name,
            )
        keyframes_only = "export_animation_mode" not in _properties(self.exporter())
        if self.name == "glTF" and keyframes_only and shown.skinned and not shown.keyed:
            raise UserError(
                "{format} export in this Blender needs keyframes on both the corrective"
                " keys and the armature: bake a frame range with Corrective set to Keyed",
                format=self.name,
            )

    def size(self, shown: Content) -> int:
        """How many bytes the file takes at most, 0 if unknown: Alembic's library ends Blender
        where it finds the disk full, and the others report it."""
        if self.name != "Alembic":
            return 0
        frames = (shown.frames[1] - shown.frames[0]) * shown.samples + 1
        meshes = [obj.data for obj in shown.objects if isinstance(obj.data, bpy.types.Mesh)]
        # Of each frame that differs: a position per vertex, a normal per corner.
        return 12 * frames * sum(len(mesh.vertices) + len(mesh.loops) for mesh in meshes)

    def export(self, path: str, shown: Content) -> set[str]:
        """Call Blender's operator with the options that this version has."""
        exporter = self.exporter()
        known = _properties(exporter)
        options = {name: v for name, v in self.options(shown).items() if name in known}
        if path.lower().endswith(".gltf"):
            options["export_format"] = "GLTF_SEPARATE"
        # Some exporters ask a viewport for the selection, and it omits hidden objects.
        with bpy.context.temp_override(selected_objects=list(shown.objects)):
            return exporter(filepath=path, **options)


def _properties(exporter: Any) -> list[str]:
    return exporter.get_rna_type().properties.keys()


def _gltf(shown: Content) -> dict[str, bool | str]:
    return {
        "use_selection": True,
        "export_format": "GLB",
        "export_skins": shown.skinned,
        "export_apply": False,  # shape keys would be lost
        "export_animations": shown.moves,
        # All objects together, with drivers and constraints, over the scene's frames.
        "export_animation_mode": "SCENE",
        "export_anim_scene_split_object": False,
        "export_anim_single_armature": False,  # 3.4: only this armature's action, not all actions
        "export_frame_range": shown.moves,
        "export_force_sampling": True,
        "export_optimize_animation_size": False,
        "export_all_influences": True,
    }


def _fbx(shown: Content) -> dict[str, float | set[str]]:
    return {
        "use_selection": True,
        "object_types": {"MESH", "ARMATURE"},
        "use_mesh_modifiers": False,  # shape keys would be lost
        "add_leaf_bones": False,
        "bake_anim": shown.moves,
        # With these it exports actions of objects only, not of shape keys.
        "bake_anim_use_all_actions": False,
        "bake_anim_use_nla_strips": False,
        "bake_anim_simplify_factor": 0.0 if shown.skinned else 1.0,
        "bake_anim_step": 1 / shown.samples,
    }


def _usd(shown: Content) -> dict[str, Any]:
    return {
        "selected_objects_only": True,
        "evaluation_mode": "VIEWPORT",  # includes what is disabled in renders
        "export_animation": shown.moves,
        # Evaluated points: blend shapes would lose constant values.
        "export_armatures": False,
        "export_shapekeys": False,
        "convert_world_material": False,
    }


def _alembic(shown: Content) -> dict[str, Any]:
    return {
        "selected": True,
        "evaluation_mode": "VIEWPORT",
        "start": shown.frames[0],
        "end": shown.frames[1],
        "gsamples": shown.samples,  # of meshes; objects do not move
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


def format_of(ending: str) -> str | None:
    """The format of files with this extension."""
    return _ENDINGS.get(ending.lower())

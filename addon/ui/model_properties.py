# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a model, in `armature.mmdskin` of its armature object, and the live property."""

from collections.abc import Callable
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)
from bpy.types import Context, Mesh, Object, PropertyGroup

from ..blender import blender_versions, file_access, registration
from ..mmd_look import switch as look
from ..operator_base import properties
from ..preview import driver_function, motion_sliders, switch
from ..retarget import bone_map
from ..scene import saved_state, setting_paths


def _switch(
    name: str, description: str, is_on: Callable[[Any], bool], set_on: Callable[[Any, bool], None]
) -> Any:
    """The annotation of a switch whose state is found in the scene."""
    return BoolProperty(
        name=name,
        description=description,
        options=set(),
        get=lambda settings: is_on(settings.id_data),
        set=lambda settings, on: set_on(settings.id_data, on),
    )


def _motion_changed(settings: Any, context: Context) -> None:
    for path in (settings.model_path, settings.motion_path):
        file_access.choose(path)
    motion_sliders.follow(settings.id_data)
    switch.refresh(settings.id_data)


def _group_changed(settings: Any, context: Context) -> None:
    _motion_changed(settings, context)
    for obj in bpy.data.objects:
        if obj.type == "ARMATURE" and obj.mmdskin.physics_group:
            obj.update_tag()  # the simulations of the others are outdated


def _model_path_changed(settings: Any, context: Context) -> None:
    setting_paths.remember(settings.id_data, "model_path")
    _group_changed(settings, context)


def _motion_path_changed(settings: Any, context: Context) -> None:
    setting_paths.remember(settings.id_data, "motion_path")
    settings.motion_earlier = ""  # the chosen file alone; imports set both
    _group_changed(settings, context)


def _cache_changed(settings: Any, context: Context) -> None:
    setting_paths.remember(settings.id_data, "physics_cache")
    _motion_changed(settings, context)


def _deformation_changed(settings: Any, context: Context) -> None:
    settings.id_data.update_tag()  # drivers of live meshes depend on the armature


def _normals_changed(settings: Any, context: Context) -> None:
    switch.refresh(settings.id_data)
    _deformation_changed(settings, context)


def _is_armature(settings: Any, obj: Object) -> bool:
    return obj.type == "ARMATURE" and obj != settings.id_data


def _map_changed(slot: Any, context: Context) -> None:
    bone_map.check(slot.id_data)


_SETTING: dict[str, Any] = {"options": set(), "override": {"LIBRARY_OVERRIDABLE"}}
_Settings = properties.declaring(
    "_Settings",
    {
        **properties.declared(
            properties.DeformationProperties, update=_deformation_changed, **_SETTING
        ),
        **properties.declared(properties.NormalsProperties, update=_normals_changed, **_SETTING),
        **properties.declared(
            properties.MotionProperties,
            properties.PhysicsProperties,
            properties.MorePhysicsProperties,
            update=_group_changed,
            updates={"model_path": _model_path_changed, "motion_path": _motion_path_changed},
            **_SETTING,
        ),
        **properties.declared(properties.BakeProperties, **_SETTING),
    },
)


class MMDSKIN_PG_slot(PropertyGroup):
    """A part of a human, by its name in VRM, and the bone that is it."""

    bone: StringProperty(
        name="Bone",
        description="Bone of the armature that is this part of the body; empty for none",
        options=set(),
        update=_map_changed,
    )
    doubt: StringProperty(options={"HIDDEN"})  # why the bone is doubtful, "" if it is not


class MMDSKIN_PG_model(_Settings, PropertyGroup):
    most: properties.former_name("max_keys")  # until 0.4
    motion_earlier: StringProperty(
        name="Earlier Motions",
        description="Motion files that the motion file was merged into by imports",
        update=_group_changed,
        **{**_SETTING, "options": {"HIDDEN"}},
    )
    physics_live: BoolProperty(
        name="Live Physics",
        description="Move hair and clothes while you pose and play, as in MMD. Renders use the"
        " simulation",
        default=False,
        update=_motion_changed,
        **_SETTING,
    )
    physics_group: StringProperty(
        name="Simulate Together",
        description="Models with the same name here collide with each other, so that hands move each"
        " other's hair; if empty, the model is simulated alone",
        update=_group_changed,
        **_SETTING,
    )
    physics_cache: StringProperty(
        name="Simulation",
        description="File written by Simulate and played by MMD Skinning",
        update=_cache_changed,
        **_SETTING,
    )
    # Empty: found automatically.
    bone_map: CollectionProperty(type=MMDSKIN_PG_slot, options={"HIDDEN"})
    bone_map_active: IntProperty(options={"HIDDEN"})
    driving_rig: PointerProperty(
        name="Driving Armature",
        description="Armature whose pose the model follows, through the map of its bones",
        type=Object,
        poll=_is_armature,
        update=_motion_changed,
        **_SETTING,
    )
    preview: _switch(
        "MMD Skinning",
        "Show MMD's deformation in the viewport and in renders",
        switch.is_on,
        switch.set_on,
    )
    edges_in_renders_only: _switch(
        "Edges in Renders Only",
        "Hide edges in the viewport, where they slow down every update",
        look.edges_in_renders_only,
        look.show_edges_in_renders_only,
    )
    ground_shadow: _switch(
        "Ground Shadow",
        "Show the shadow that MMD's light casts on the ground",
        look.has_ground_shadow,
        look.show_ground_shadow,
    )
    self_shadow: _switch(
        "Self-Shadow",
        "Show the shadows that the model casts on itself, in EEVEE",
        look.has_self_shadow,
        look.show_self_shadow,
    )


@persistent
def _take_former_values(*_: object) -> None:
    """Files of 0.2 store `max_keys` under its former name."""
    for obj in bpy.data.objects:
        if obj.type == "ARMATURE" and not obj.mmdskin.is_property_set("max_keys"):
            former = blender_versions.stored(obj.mmdskin, "most")
            if isinstance(former, int) and not obj.library:
                obj.mmdskin.max_keys = former


_register, _unregister = registration.functions(__name__)
_add_handlers, _remove_handlers = registration.handlers([("load_post", _take_former_values)])


def register() -> None:
    _register()
    Object.mmdskin = PointerProperty(type=MMDSKIN_PG_model, override={"LIBRARY_OVERRIDABLE"})
    saved_state.declare()
    # The driver of the preview must be on a property of Mesh itself: only there Blender runs it
    # before the geometry in every version.
    setattr(Mesh, driver_function.PROPERTY, FloatProperty(options={"HIDDEN", "ANIMATABLE"}))
    _add_handlers()


def unregister() -> None:
    _remove_handlers()
    for owner, name in ((Mesh, driver_function.PROPERTY), (Object, "mmdskin")):
        if hasattr(owner, name):
            delattr(owner, name)
    saved_state.undeclare()
    _unregister()

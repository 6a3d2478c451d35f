# SPDX-License-Identifier: GPL-3.0-or-later
"""The MMD tab in the sidebar of the 3D Viewport, and the menus for Blender's search (F3)."""

import os

import numpy as np
from bpy.types import Context, Menu, Object, Panel, UILayout

from ..attach import display_armature
from ..attach.operators import MMDSKIN_OT_attach, MMDSKIN_OT_detach, MMDSKIN_OT_show_pose
from ..bake import bake_state, cost, frames, operators
from ..blender import actions, caches, native, registration, translations
from ..blender.blender_versions import identity
from ..blender.translations import CONTEXT, label, tr, tr_count
from ..blender.user_error import UserError
from ..export.operators import MMDSKIN_OT_export
from ..import_motion.operators import MMDSKIN_OT_clear_motion
from ..mirror import MMDSKIN_OT_flip_sliders, MMDSKIN_OT_mirror_pose
from ..mmd_look import switch as look
from ..mmd_look.operators import MMDSKIN_OT_look, MMDSKIN_OT_standard_colors
from ..operator_base import properties
from ..pose import driving_rig, ik_source, motion_source
from ..preview import driver_function, switch
from ..preview.operators import (
    MMDSKIN_OT_make_override,
    MMDSKIN_OT_own_meshes,
    MMDSKIN_OT_preview,
    shared_meshes,
)
from ..rename import MMDSKIN_OT_switch_names
from ..scene import mesh_source, mmd_tools, saved_state, scene_model
from . import drawing, shown_model

_BACKENDS = {"gl": "OpenGL", "cpu": "CPU"}
# By `identity` of a mesh object: its sizes, and its `_counts` with them.
_summaries: caches.Cache[tuple[tuple, np.ndarray]] = caches.of_file(survives_undo=True)


class MMDSKIN_PT_skin(drawing.Tab, Panel):
    bl_label = "MMD Skin"

    def draw(self, context: Context) -> None:
        layout = self.layout
        translations.follow()
        found = shown_model.of_redraw(context, is_first=True)
        model = found.model
        if model is None:
            _without_model(layout, context, found.error)
            return
        layout.label(text=model.name, icon="ARMATURE_DATA", translate=False)
        drawing.wrapped(layout, _status(model))
        if model.is_linked:
            layout.operator(MMDSKIN_OT_make_override.bl_idname, icon="LIBRARY_DATA_OVERRIDE")
        row = layout.row()
        row.scale_y = 1.3
        live = any(switch.is_live(obj) for obj in model.meshes)
        drawing.button(row, MMDSKIN_OT_preview, model, "HIDE_OFF", depress=live)
        if problem := switch.problem_of(model):
            drawing.wrapped(layout, problem, alert=True)
            if shared_meshes(model):
                layout.operator(MMDSKIN_OT_own_meshes.bl_idname, icon="DUPLICATE")


def _without_model(layout: UILayout, context: Context, error: UserError) -> None:
    """Offer Import; an override of an instance; Clear or off for a mesh whose armature was removed."""
    row = layout.row()
    row.scale_y = 1.3
    row.operator("mmdskin.import_model", icon="IMPORT")
    instanced = scene_model.instanced(context.active_object)
    for model in instanced:
        drawing.wrapped(layout, f"{model.name}: {_status(model)}")
        if problem := switch.problem_of(model):
            drawing.wrapped(layout, problem, alert=True)
    if any(model.is_linked for model in instanced):
        layout.operator(MMDSKIN_OT_make_override.bl_idname, icon="LIBRARY_DATA_OVERRIDE")
    if instanced:
        return
    drawing.wrapped(layout, str(error))
    if context.active_object is not None and display_armature.constraints_of(context.active_object):
        layout.operator(MMDSKIN_OT_detach.bl_idname, icon="X")
    without_armature = scene_model.models_without_armature([context.active_object])
    for obj in (obj for model in without_armature for obj in model.meshes):
        if saved_state.PREVIEW in obj:
            operator = layout.operator(MMDSKIN_OT_preview.bl_idname, icon="HIDE_OFF", depress=True)
            operator.action = "DISABLE"
        if saved_state.is_baked(obj):
            layout.operator(operators.MMDSKIN_OT_clear_bake.bl_idname, icon="LOOP_BACK")


def _status(model: scene_model.SceneModel) -> str:
    """One sentence: what is shown, where it comes from, and what to do next."""
    if any(map(saved_state.is_baked, model.meshes)):
        return tr("Shows the bake. Export it, or use Clear Bake to change the pose")
    if not any(switch.is_live(obj) for obj in model.meshes):
        return tr("Shows Blender's deformation. Turn MMD Skinning on to see MMD's")
    if model.is_linked:
        path = model.armature.library.filepath.replace("\\", "/")
        return tr(
            "Shows the model of '{file}', live. Make a library override to pose it here",
            file=os.path.basename(path),
        )
    settings = model.armature.mmdskin
    if settings.source == "MOTION":
        if not settings.motion_path:
            return tr("Shows the rest pose. Choose a motion file")
        earlier = motion_source.read_earlier(settings.motion_earlier, "")
        paths = [*(path for path, _ in earlier), settings.motion_path]
        names = [os.path.basename(path.replace("\\", "/")) for path in paths]
        return tr("Shows '{file}', live. Play it, or bake or export it", file=", ".join(names))
    if settings.source == ik_source.SOURCE:
        return tr("Shows the armature's keyframes with MMD's IK. Pose, bake or export it")
    if settings.source == driving_rig.SOURCE and settings.driving_rig is not None:
        return tr(
            "Follows '{name}', live. Pose that armature, or bake", name=settings.driving_rig.name
        )
    data = model.armature.animation_data
    if data and (actions.assigned(model.armature)[0] is not None or len(data.nla_tracks)):
        return tr("Shows the armature's animation. Play it, or bake or export it")
    return tr("Shows the armature's pose. Pose its bones, or import a motion")


class MMDSKIN_PT_model(drawing.Below, Panel):
    bl_label = "Model"

    def draw(self, context: Context) -> None:
        layout, model = self.layout, shown_model.shown(context)
        settings = model.armature.mmdskin
        layout.operator("mmdskin.import_model", icon="IMPORT")
        normals = properties.shown_of_normals()
        drawing.settings(layout, settings, properties.shown_of_deformation(settings) + normals)
        if settings.use_mmd_normals and not normals:  # in a file from a newer Blender
            drawing.wrapped(layout, tr("MMD Normals require Blender 4.5 or later"))
        column = layout.column(align=True)
        column.operator(MMDSKIN_OT_attach.bl_idname, icon="CONSTRAINT_BONE")
        drawing.button(column, MMDSKIN_OT_switch_names, model, "SORTALPHA")


class MMDSKIN_PT_attach(drawing.Below, Panel):
    bl_label = "Bones"
    bl_parent_id = MMDSKIN_PT_model.__name__
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        layout, model = self.layout, shown_model.shown(context)
        display = display_armature.find(model.armature)
        on = display_armature.is_shown(display)
        drawing.button(layout, MMDSKIN_OT_show_pose, model, "OUTLINER_OB_ARMATURE", depress=on)
        column = layout.column(align=True)
        for obj, constraint in display_armature.attachments(display) if display is not None else ():
            row = column.row()
            row.label(
                text=f"{obj.name}: {constraint.subtarget}", icon="OBJECT_DATA", translate=False
            )
            row.operator(MMDSKIN_OT_detach.bl_idname, text="", icon="X").object = obj.name


class MMDSKIN_PT_details(drawing.Below, Panel):
    bl_label = "Details"
    bl_parent_id = MMDSKIN_PT_model.__name__
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        layout, model = self.layout, shown_model.shown(context)
        counts = [_counts(obj, model.armature) for obj in model.meshes]
        *total, limited = np.sum(counts, axis=0).tolist()
        grid = layout.grid_flow(columns=2, even_columns=True)
        for name, count in zip(mesh_source.DEFORM_NAMES, total, strict=True):
            grid.label(text=f"{name}: {count}", translate=False)
        if limited:
            text = tr_count(
                "1 vertex has more than four bones: only the four strongest are used",
                "{count} vertices have more than four bones: only the four strongest are used",
                count=limited,
            )
            drawing.wrapped(layout, text)
        cost = driver_function.cost_of(model)
        if cost is not None:
            text = label("Last evaluation: {ms:.2f} ms", ms=cost)
            layout.label(text=text, icon="TIME", translate=False)
        for backend in native.backends():
            text = backend.device if backend.available else label("not available")
            name = _BACKENDS.get(backend.name, backend.name)
            layout.label(text=f"{name}: {text}", translate=False)
        layout.operator("mmdskin.restore_deform_data", icon="FILE_REFRESH")


class MMDSKIN_PT_motion(drawing.Tab, Panel):
    """Also for armatures that are no model, which motions and retargeting move, too."""

    bl_label = "Motion"
    bl_parent_id = MMDSKIN_PT_skin.__name__

    @classmethod
    def poll(cls, context: Context) -> bool:
        active = context.active_object
        is_armature = active is not None and active.type == "ARMATURE"
        return is_armature or shown_model.shown(context) is not None

    def draw(self, context: Context) -> None:
        layout, model = self.layout, shown_model.shown(context)
        column = layout.column(align=True)
        column.operator("mmdskin.import_motion", icon="IMPORT")
        if model is None:
            return
        drawing.button(column, MMDSKIN_OT_clear_motion, model, "LOOP_BACK")
        column.operator(MMDSKIN_OT_mirror_pose.bl_idname, icon="MOD_MIRROR")
        armature, settings = model.armature, model.armature.mmdskin
        shown = properties.shown_of_pose(settings, context.scene)
        drawing.settings(
            layout, settings, [name for name in shown if not name.startswith("physics")]
        )
        if settings.source == ik_source.SOURCE and mmd_tools.has_muted_ik(armature):
            text = tr(
                "IK is muted because this motion has Solved Keys: to move the feet, import it as"
                " Original Keys"
            )
            drawing.wrapped(layout, text)


class MMDSKIN_PT_look(drawing.Below, Panel):
    bl_label = "Look"

    def draw(self, context: Context) -> None:
        layout, model = self.layout, shown_model.shown(context)
        on = look.is_on(model)
        drawing.button(layout, MMDSKIN_OT_look, model, "SHADING_RENDERED", depress=on)
        if not on:
            return
        settings = model.armature.mmdskin
        drawing.settings(
            layout, settings, ["ground_shadow", "self_shadow", "edges_in_renders_only"]
        )
        if settings.self_shadow and context.scene.render.engine == "CYCLES":
            drawing.wrapped(layout, tr("Cycles shows no self-shadow: use EEVEE"))
        if look.changes_colors(context.scene):
            drawing.wrapped(layout, tr("The scene's color management changes MMD's colors"))
            layout.operator(MMDSKIN_OT_standard_colors.bl_idname, icon="COLOR")


class MMDSKIN_PT_bake(drawing.Below, Panel):
    bl_label = "Bake & Export"

    def draw(self, context: Context) -> None:
        layout = self.layout
        model = shown_model.shown(context)
        settings = model.armature.mmdskin
        shown = properties.shown_of_target(settings) + properties.shown_of_range(settings)
        drawing.settings(layout, settings, shown)
        _warn_of_size(layout, model, context)
        column = layout.column(align=True)
        drawing.button(column, operators.MMDSKIN_OT_bake, model, "SHAPEKEY_DATA")
        drawing.button(column, operators.MMDSKIN_OT_clear_bake, model, "LOOP_BACK")
        if any(map(saved_state.is_baked, model.meshes)):
            layout.label(text=label("Baked"), icon="CHECKMARK", translate=False)
        column = layout.column(align=True)
        row = column.row(align=True)
        row.enabled = not MMDSKIN_OT_export.unavailable(model)
        row.operator_menu_enum(MMDSKIN_OT_export.bl_idname, "format", icon="EXPORT")
        column.operator("mmdskin.export_motion", icon="ANIM")
        column.operator("mmdskin.export_pose", icon="ARMATURE_DATA")


def _warn_of_size(layout: UILayout, model: scene_model.SceneModel, context: Context) -> None:
    """Before shape keys need more memory than there is, or much time, offer a mesh cache; also for an
    override."""
    settings = model.armature.mmdskin
    problem = bake_state.needs_mesh_cache(model.meshes, settings.target)
    if problem and not model.is_linked:  # whose settings cannot be changed here
        _offer_mesh_cache(layout, str(problem))
        return
    if settings.target != "SHAPE_KEYS" or settings.range == "CURRENT":
        return
    count = frames.count_of(settings, context.scene)
    if too_big := cost.warning(model.meshes, count):
        _offer_mesh_cache(layout, too_big)
    elif slow := cost.slowness(count):
        _offer_mesh_cache(layout, slow, alert=False)


def _offer_mesh_cache(layout: UILayout, reason: str, alert: bool = True) -> None:
    drawing.wrapped(layout, reason, alert)
    layout.operator(operators.MMDSKIN_OT_use_mesh_cache.bl_idname)


class MMDSKIN_PT_morphs(drawing.Below, Panel):
    bl_label = "Morphs"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return any(shown_model.of_redraw(context).sliders.values())

    def draw(self, context: Context) -> None:
        column = self.layout.column(align=True)  # beside each other, translated names are cut
        column.operator(MMDSKIN_OT_flip_sliders.bl_idname, icon="ARROW_LEFTRIGHT")


class _Sliders(drawing.Tab):
    """The sliders of one of MMD's morph panels."""

    bl_parent_id = MMDSKIN_PT_morphs.__name__
    panel = ""

    @classmethod
    def poll(cls, context: Context) -> bool:
        return bool(shown_model.of_redraw(context).sliders.get(cls.panel))

    def draw(self, context: Context) -> None:
        column = self.layout.column(align=True)
        for slider in shown_model.of_redraw(context).sliders[self.panel]:
            column.prop(slider.owner, slider.path, text=slider.label, translate=False, slider=True)


class MMDSKIN_PT_eyes(_Sliders, Panel):
    bl_label, panel = "Eyes", "EYE"


class MMDSKIN_PT_mouth(_Sliders, Panel):
    bl_label, panel = "Mouth", "MOUTH"


class MMDSKIN_PT_brows(_Sliders, Panel):
    bl_label, panel = "Brows", "EYEBROW"


class MMDSKIN_PT_others(_Sliders, Panel):
    bl_label, panel = "Other", "OTHER"


def _counts(obj: Object, armature: Object) -> np.ndarray:
    """The number of vertices of each deform type, and last, of those with more than four bones.

    Counted again only if a size has changed, since counting is slow, and not in Edit Mode.
    """
    mesh, names = obj.data, mesh_source.DEFORM_NAMES
    sizes = (
        len(mesh.vertices),
        len(obj.vertex_groups),
        len(mesh.attributes),
        len(mesh.shape_keys.key_blocks) if mesh.shape_keys else 0,
        len(armature.data.bones),
    )
    before, counts = _summaries.get(identity(obj), ((), np.zeros(len(names) + 1, int)))
    if mesh.is_editmode or before == sizes:  # attributes are empty in Edit Mode
        return counts
    try:
        source = mesh_source.read(obj, armature)
        counts = np.append(np.bincount(source.deform, minlength=len(names)), source.limited)
    except UserError:
        counts = np.zeros(len(names) + 1, int)
    return _summaries.put(identity(obj), (sizes, counts))[1]


# Object › MMD Skin and Pose › MMD Skin: Blender's search (F3) finds operators in menus.


_OPERATORS = """
    preview make_override own_meshes look standard_colors
    simulate keep_physics settle simulate_together simulate_alone
    mirror_pose flip_sliders show_pose attach detach
    bake use_mesh_cache clear_bake export
    clear_motion retarget_to_armature motion_from_armature map_bones mirror_bone_map fit_motion
    restore_deform_data switch_names report
""".split()


class MMDSKIN_MT_model(Menu):
    bl_label = "MMD Skin"
    bl_translation_context = CONTEXT

    def draw(self, context: Context) -> None:
        for name in _OPERATORS:
            self.layout.operator(f"mmdskin.{name}")


def _submenu(self: Menu, context: Context) -> None:
    self.layout.menu(MMDSKIN_MT_model.__name__)


register, unregister = registration.functions(
    __name__, dict.fromkeys(("VIEW3D_MT_object", "VIEW3D_MT_pose"), _submenu)
)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The MMD tab in the sidebar of the 3D Viewport."""

import functools
from typing import Any, NamedTuple

import bpy
import numpy as np
from bpy.types import Context, Object, PropertyGroup, Scene, UILayout

from ..attach import display_armature
from ..attach.operators import MMDSKIN_OT_attach, MMDSKIN_OT_detach, MMDSKIN_OT_show_pose
from ..bake import bake_state, cost, operators
from ..blender import native, registration, translations
from ..blender.blender_versions import identity
from ..blender.translations import label, name_of, tr, tr_count
from ..blender.user_error import UserError
from ..export.operators import MMDSKIN_OT_export
from ..import_motion.clear import MMDSKIN_OT_clear_motion
from ..mirror.operators import MMDSKIN_OT_flip_sliders, MMDSKIN_OT_mirror_pose
from ..mmd_look import switch as look
from ..mmd_look.operators import MMDSKIN_OT_look, MMDSKIN_OT_standard_colors
from ..operator_base import properties
from ..physics import cache, live
from ..physics.operators import MMDSKIN_OT_keep_physics, MMDSKIN_OT_settle, MMDSKIN_OT_simulate
from ..physics.together import MMDSKIN_OT_simulate_alone, MMDSKIN_OT_simulate_together
from ..pose import ik_source, physics_settings, pose_source
from ..preview import driver_function, single_user, switch
from ..preview.operators import MMDSKIN_OT_preview
from ..preview.override import MMDSKIN_OT_make_override, is_linked
from ..rename.operators import MMDSKIN_OT_switch_names
from ..scene import mesh_source, saved_state, scene_model, sliders
from . import shown_model, status, wrapping

_BACKENDS = {"gl": "OpenGL", "cpu": "CPU"}
_last: "_Shown | None" = None  # of the last redraw
_summaries: dict[int, tuple[tuple, "_Summary"]] = {}  # identity of a mesh object: (sizes, _Summary)


class _Summary(NamedTuple):
    deform: np.ndarray  # vertices per deform type
    limited: int  # vertices with more than four bones


class _Shown:
    """The model of the active object that all panels show, or why there is none."""

    def __init__(self, context: Context) -> None:
        self.key = _key(context)
        self.model: scene_model.SceneModel | None = None
        self.error: UserError | None = None
        try:
            self.model = shown_model.model_of(context.active_object, context.view_layer)
        except UserError as error:
            self.error = error

    @functools.cached_property
    def sliders(self) -> dict[str, list[sliders.Slider]]:
        return sliders.by_panel(self.model) if self.model is not None else {}


def _key(context: Context) -> tuple[int, int]:
    """Equal in all panels of one redraw."""
    active = context.active_object
    return identity(active) if active is not None else 0, context.view_layer.as_pointer()


def _shown(context: Context, is_first: bool = False) -> _Shown:
    """Made once per redraw."""
    global _last
    if is_first or _last is None or _last.key != _key(context):
        _last = _Shown(context)
    return _last


class Panel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MMD"
    bl_translation_context = translations.CONTEXT


class MMDSKIN_PT_skin(Panel, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_skin"
    bl_label = "MMD Skin"

    def draw(self, context: Context) -> None:
        layout = self.layout
        translations.follow()
        found = _shown(context, is_first=True)
        model = found.model
        if model is None:
            _without_model(layout, context, found.error)
            return
        layout.label(text=model.name, icon="ARMATURE_DATA", translate=False)
        wrapped(layout, status.of_model(model), context.region.width)
        if is_linked(model):
            layout.operator(MMDSKIN_OT_make_override.bl_idname, icon="LIBRARY_DATA_OVERRIDE")
        row = layout.row()
        row.scale_y = 1.3
        live = any(switch.is_live(obj) for obj in model.meshes)
        _button(row, MMDSKIN_OT_preview, model, "HIDE_OFF", depress=live)
        trouble = switch.problem_of(model)
        if trouble:
            wrapped(layout, trouble, context.region.width, alert=True)
            if single_user.shared(model):
                layout.operator(single_user.MMDSKIN_OT_own_meshes.bl_idname, icon="DUPLICATE")


def _without_model(layout: UILayout, context: Context, error: UserError) -> None:
    """Offer Import; an override of an instance; Clear or off for a mesh whose armature was removed."""
    row = layout.row()
    row.scale_y = 1.3
    row.operator("mmdskin.import_model", icon="IMPORT")
    instanced = scene_model.instanced(context.active_object)
    for model in instanced:
        wrapped(layout, f"{model.name}: {status.of_model(model)}", context.region.width)
        trouble = switch.problem_of(model)
        if trouble:
            wrapped(layout, trouble, context.region.width, alert=True)
    if any(is_linked(model) for model in instanced):
        layout.operator(MMDSKIN_OT_make_override.bl_idname, icon="LIBRARY_DATA_OVERRIDE")
    if instanced:
        return
    wrapped(layout, str(error), context.region.width)
    if context.active_object is not None and display_armature.constraints_of(context.active_object):
        layout.operator(MMDSKIN_OT_detach.bl_idname, icon="X")
    without_armature = scene_model.models_without_armature([context.active_object])
    for obj in (obj for model in without_armature for obj in model.meshes):
        if saved_state.PREVIEW in obj:
            operator = layout.operator(MMDSKIN_OT_preview.bl_idname, icon="HIDE_OFF", depress=True)
            operator.action = "DISABLE"
        if saved_state.exists(obj, saved_state.BAKE):
            layout.operator(operators.MMDSKIN_OT_clear_bake.bl_idname, icon="LOOP_BACK")


class _Below(Panel):
    """A child panel that needs a model."""

    bl_parent_id = MMDSKIN_PT_skin.bl_idname

    @classmethod
    def poll(cls, context: Context) -> bool:
        return _shown(context).model is not None


class MMDSKIN_PT_model(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_model"
    bl_label = "Model"

    def draw(self, context: Context) -> None:
        layout, model = self.layout, _shown(context).model
        settings = model.armature.mmdskin
        layout.operator("mmdskin.import_model", icon="IMPORT")
        normals = properties.shown_of_normals()
        _settings(layout, settings, properties.shown_of_deformation(settings) + normals)
        if settings.use_mmd_normals and not normals:  # in a file from a newer Blender
            text = tr("MMD Normals require Blender 4.5 or later")
            wrapped(layout, text, context.region.width)
        column = layout.column(align=True)
        column.operator(MMDSKIN_OT_attach.bl_idname, icon="CONSTRAINT_BONE")
        _button(column, MMDSKIN_OT_switch_names, model, "SORTALPHA")


class MMDSKIN_PT_attach(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_attach"
    bl_label = "Bones"
    bl_parent_id = MMDSKIN_PT_model.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        layout, model = self.layout, _shown(context).model
        display = display_armature.find(model.armature)
        on = display_armature.is_shown(display)
        _button(layout, MMDSKIN_OT_show_pose, model, "OUTLINER_OB_ARMATURE", depress=on)
        column = layout.column(align=True)
        for obj, constraint in display_armature.attachments(display) if display is not None else ():
            row = column.row()
            row.label(
                text=f"{obj.name}: {constraint.subtarget}", icon="OBJECT_DATA", translate=False
            )
            row.operator(MMDSKIN_OT_detach.bl_idname, text="", icon="X").object = obj.name


class MMDSKIN_PT_details(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_details"
    bl_label = "Details"
    bl_parent_id = MMDSKIN_PT_model.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        layout, model = self.layout, _shown(context).model
        summaries = [_summary(obj, model.armature) for obj in model.meshes]
        total: Any = sum(summary.deform for summary in summaries)
        grid = layout.grid_flow(columns=2, even_columns=True)
        for name, count in zip(mesh_source.DEFORM_NAMES, total, strict=True):
            grid.label(text=f"{name}: {count}", translate=False)
        limited = sum(summary.limited for summary in summaries)
        if limited:
            text = tr_count(
                "1 vertex has more than four bones: only the four strongest are used",
                "{count} vertices have more than four bones: only the four strongest are used",
                count=limited,
            )
            wrapped(layout, text, context.region.width)
        cost = driver_function.cost_of(model)
        if cost is not None:
            text = label("Last evaluation: {ms:.2f} ms", ms=cost)
            layout.label(text=text, icon="TIME", translate=False)
        if native.loaded():
            for backend in native.backends():
                text = backend.device if backend.available else label("not available")
                name = _BACKENDS.get(backend.name, backend.name)
                layout.label(text=f"{name}: {text}", translate=False)
        layout.operator("mmdskin.restore_deform_data", icon="FILE_REFRESH")


class MMDSKIN_PT_motion(Panel, bpy.types.Panel):
    """Also for armatures that are no model, which motions and retargeting move, too."""

    bl_idname = "MMDSKIN_PT_motion"
    bl_label = "Motion"
    bl_parent_id = MMDSKIN_PT_skin.bl_idname

    @classmethod
    def poll(cls, context: Context) -> bool:
        active = context.active_object
        is_armature = active is not None and active.type == "ARMATURE"
        return is_armature or _shown(context).model is not None

    def draw(self, context: Context) -> None:
        layout, model = self.layout, _shown(context).model
        column = layout.column(align=True)
        column.operator("mmdskin.import_motion", icon="IMPORT")
        if model is None:
            return
        _button(column, MMDSKIN_OT_clear_motion, model, "LOOP_BACK")
        armature, settings = model.armature, model.armature.mmdskin
        shown = properties.shown_of_pose(settings, context.scene)
        _settings(layout, settings, [name for name in shown if not name.startswith("physics")])
        if settings.source == ik_source.SOURCE and ik_source.has_muted_ik(armature):
            text = tr(
                "IK is muted because this motion has Solved Keys: to move the feet, import it as"
                " Original Keys"
            )
            wrapped(layout, text, context.region.width)


class MMDSKIN_PT_physics(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_physics"
    bl_label = "Physics"
    bl_parent_id = MMDSKIN_PT_motion.bl_idname

    @classmethod
    def poll(cls, context: Context) -> bool:
        model = _shown(context).model
        return model is not None and "physics" in properties.shown_of_pose(
            model.armature.mmdskin, context.scene
        )

    def draw_header(self, context: Context) -> None:
        self.layout.prop(_shown(context).model.armature.mmdskin, "physics", text="")

    def draw(self, context: Context) -> None:
        layout, model, width = self.layout, _shown(context).model, context.region.width
        armature, settings = model.armature, model.armature.mmdskin
        layout.enabled = settings.physics
        _live_physics(layout, model)
        usual, _ = _of_physics(settings, context.scene)
        _settings(layout, settings, usual)
        others = ", ".join(_simulated_with(armature, context.scene))
        if others:
            wrapped(layout, tr("Simulated together with {names}", names=others), width)
            layout.operator(MMDSKIN_OT_simulate_alone.bl_idname, icon="UNLINKED")
        if settings.source not in _WITHOUT_FILE or others:
            _button(layout, MMDSKIN_OT_simulate, model, "PHYSICS")
            if any(moving.played for moving in live.of_armature(armature)):
                layout.operator(MMDSKIN_OT_keep_physics.bl_idname, icon="FILE_TICK")
        trouble = _physics_trouble(model, bool(others)) if settings.physics else ""
        if trouble:
            wrapped(layout, trouble, width)


class MMDSKIN_PT_more_physics(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_more_physics"
    bl_label = "More Physics Settings"
    bl_parent_id = MMDSKIN_PT_physics.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        settings = _shown(context).model.armature.mmdskin
        self.layout.enabled = settings.physics
        _, rare = _of_physics(settings, context.scene)
        _settings(self.layout, settings, [*rare, *physics_settings.MORE])
        self.layout.operator(MMDSKIN_OT_simulate_together.bl_idname, icon="LINKED")


def _of_physics(settings: PropertyGroup, scene: Scene) -> tuple[list[str], list[str]]:
    """The settings of the physics that have an effect, and those of them that few users change."""
    shown = properties.shown_of_pose(settings, scene)
    found = [name for name in shown if name.startswith("physics_")]
    rare = [name for name in found if name in physics_settings.RARE]
    return [name for name in found if name not in rare], rare


_WITHOUT_FILE = {"ARMATURE", "MOTION"}  # pose sources that need no simulation, or have none


def _live_physics(layout: UILayout, model: scene_model.SceneModel) -> None:
    settings = model.armature.mmdskin
    if settings.source == "MOTION":  # which shows the physics of each frame
        return
    row = layout.row(align=True)
    row.active = cache.state_of(model.armature).moves
    row.prop(settings, physics_settings.LIVE)
    if settings.physics_live:
        row.operator(MMDSKIN_OT_settle.bl_idname, text="", icon="FILE_REFRESH")


def _physics_trouble(model: scene_model.SceneModel, grouped: bool) -> str:
    """What is worth telling about a model's physics, "" for nothing."""
    armature, settings = model.armature, model.armature.mmdskin
    if not any(switch.is_live(obj) for obj in model.meshes):
        needs_file = settings.source not in _WITHOUT_FILE
        return MMDSKIN_OT_simulate.unavailable(model) if needs_file else ""
    state = cache.state_of(armature)
    problem = state.problem_text
    if not settings.physics_live or settings.source == "MOTION" or not state.moves:
        return problem
    for moving in live.of_armature(armature):
        if moving.problem:
            return str(moving.problem)
    if grouped:
        return tr("Models of a group do not touch each other live")
    if settings.source not in _WITHOUT_FILE and problem and not settings.physics_cache:
        return tr("Renders show no live physics: Simulate, or play from the first frame and Keep")
    return problem


def _simulated_with(armature: Object, scene: Scene) -> list[str]:
    """Names of the other models of its group."""
    name = armature.mmdskin.physics_group
    members = pose_source.members_of(name, armature, scene) if name else []
    return sorted((scene_model.root_of(obj) or obj).name for obj in members if obj != armature)


class MMDSKIN_PT_look(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_look"
    bl_label = "Look"

    def draw(self, context: Context) -> None:
        layout, model = self.layout, _shown(context).model
        on = look.is_on(model)
        _button(layout, MMDSKIN_OT_look, model, "SHADING_RENDERED", depress=on)
        if not on:
            return
        settings = model.armature.mmdskin
        _settings(layout, settings, ["ground_shadow", "self_shadow", "edges_in_renders_only"])
        if settings.self_shadow and context.scene.render.engine == "CYCLES":
            wrapped(layout, tr("Cycles shows no self-shadow: use EEVEE"), context.region.width)
        if look.changes_colors(context.scene):
            text = tr("The scene's color management changes MMD's colors")
            wrapped(layout, text, context.region.width)
            layout.operator(MMDSKIN_OT_standard_colors.bl_idname, icon="COLOR")


class MMDSKIN_PT_bake(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_bake"
    bl_label = "Bake & Export"

    def draw(self, context: Context) -> None:
        layout = self.layout
        model = _shown(context).model
        settings = model.armature.mmdskin
        shown = properties.shown_of_target(settings) + properties.shown_of_range(settings)
        _settings(layout, settings, shown)
        _warn_of_size(layout, model, context)
        column = layout.column(align=True)
        _button(column, operators.MMDSKIN_OT_bake, model, "SHAPEKEY_DATA")
        _button(column, operators.MMDSKIN_OT_clear_bake, model, "LOOP_BACK")
        if any(bake_state.is_baked(obj) for obj in model.meshes):
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
    trouble = bake_state.needs_mesh_cache(model.meshes, settings.target)
    if trouble and not is_linked(model):  # whose settings cannot be changed here
        _offer_mesh_cache(layout, str(trouble), context)
        return
    if settings.target != "SHAPE_KEYS" or settings.range == "CURRENT":
        return
    count = cost.frames_of(settings, context.scene)
    if too_big := cost.warning(model.meshes, count):
        _offer_mesh_cache(layout, too_big, context)
    elif slow := cost.slowness(count):
        _offer_mesh_cache(layout, slow, context, alert=False)


def _offer_mesh_cache(layout: UILayout, reason: str, context: Context, alert: bool = True) -> None:
    wrapped(layout, reason, context.region.width, alert)
    layout.operator(operators.MMDSKIN_OT_use_mesh_cache.bl_idname)


class MMDSKIN_PT_morphs(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_morphs"
    bl_label = "Morphs"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return any(_shown(context).sliders.values())

    def draw(self, context: Context) -> None:
        column = self.layout.column(align=True)  # beside each other, translated names are cut
        column.operator(MMDSKIN_OT_flip_sliders.bl_idname, icon="ARROW_LEFTRIGHT")
        column.operator(MMDSKIN_OT_mirror_pose.bl_idname, icon="MOD_MIRROR")


class _Sliders(Panel):
    """The sliders of one of MMD's morph panels."""

    bl_parent_id = MMDSKIN_PT_morphs.bl_idname
    panel = ""

    @classmethod
    def poll(cls, context: Context) -> bool:
        return bool(_shown(context).sliders.get(cls.panel))

    def draw(self, context: Context) -> None:
        column = self.layout.column(align=True)
        for slider in _shown(context).sliders[self.panel]:
            column.prop(slider.owner, slider.path, text=slider.label, translate=False, slider=True)


class MMDSKIN_PT_eyes(_Sliders, bpy.types.Panel):
    bl_idname, bl_label, panel = "MMDSKIN_PT_eyes", "Eyes", "EYE"


class MMDSKIN_PT_mouth(_Sliders, bpy.types.Panel):
    bl_idname, bl_label, panel = "MMDSKIN_PT_mouth", "Mouth", "MOUTH"


class MMDSKIN_PT_brows(_Sliders, bpy.types.Panel):
    bl_idname, bl_label, panel = "MMDSKIN_PT_brows", "Brows", "EYEBROW"


class MMDSKIN_PT_others(_Sliders, bpy.types.Panel):
    bl_idname, bl_label, panel = "MMDSKIN_PT_others", "Other", "OTHER"


def _settings(layout: UILayout, settings: PropertyGroup, names: list[str]) -> None:
    column = layout.column()
    column.use_property_decorate = False
    for name in names:
        # A check box beside an empty half leaves no room for its name.
        column.use_property_split = settings.bl_rna.properties[name].type != "BOOLEAN"
        column.prop(settings, name, text=name_of(settings, name), translate=False)


def _button(
    layout: UILayout, operator: Any, model: scene_model.SceneModel, icon: Any, **options: Any
) -> None:
    """Draw an operator's button, grayed out if it cannot act; its tooltip gives the reason."""
    row = layout.row(align=True)
    row.enabled = not operator.unavailable(model)
    row.operator(operator.bl_idname, icon=icon, **options)


def _summary(obj: Object, armature: Object) -> _Summary:
    """Counted again only if a size has changed, since counting is slow, and not in Edit Mode."""
    keys = obj.data.shape_keys
    sizes = (
        len(obj.data.vertices),
        len(obj.vertex_groups),
        len(obj.data.attributes),
        len(keys.key_blocks) if keys else 0,
        len(armature.data.bones),
    )
    known = _summaries.get(identity(obj))
    if obj.data.is_editmode:  # attributes are empty in Edit Mode
        return known[1] if known else _Summary(np.zeros(len(mesh_source.DEFORM_NAMES), int), 0)
    if known is None or known[0] != sizes:
        try:
            source = mesh_source.read(obj, armature)
            deform, limited = source.deform, source.limited
        except UserError:
            deform, limited = np.empty(0, np.uint8), 0
        counts = np.bincount(deform, minlength=len(mesh_source.DEFORM_NAMES))
        known = _summaries[identity(obj)] = (sizes, _Summary(counts, limited))
    return known[1]


def wrapped(layout: UILayout, text: str, width: float, alert: bool = False) -> None:
    column = layout.column(align=True)
    column.alert = alert
    room = width / (8 * bpy.context.preferences.system.ui_scale)
    for line in wrapping.lines(text, room):
        column.label(text=line, translate=False)


_classes = (
    MMDSKIN_PT_skin,
    MMDSKIN_PT_model,
    MMDSKIN_PT_attach,
    MMDSKIN_PT_details,
    MMDSKIN_PT_motion,
    MMDSKIN_PT_physics,
    MMDSKIN_PT_more_physics,
    MMDSKIN_PT_look,
    MMDSKIN_PT_bake,
    MMDSKIN_PT_morphs,
    MMDSKIN_PT_eyes,
    MMDSKIN_PT_mouth,
    MMDSKIN_PT_brows,
    MMDSKIN_PT_others,
)
register, _unregister = registration.functions(*_classes)


def unregister() -> None:
    global _last
    _last = None
    _summaries.clear()
    _unregister()

# SPDX-License-Identifier: GPL-3.0-or-later
"""Switch Names: bones, shape keys and materials by their Japanese or their English names.

Only what bears a name of the file is renamed. Blender itself takes vertex groups, constraints,
drivers and the curves of what plays with it; what the add-on has noted by name follows here.
"""

import re
from collections.abc import Callable

import bpy
from bpy.props import EnumProperty

from . import actions, mmd_tools, names, registration, saved_state, scene_model
from .model_operator import ModelOperator
from .translations import tr
from .user_error import UserError, cancelled

LANGUAGE = "mmd_names"  # of the root: the language of the names, as in LANGUAGES
LANGUAGES = [
    ("JAPANESE", "Japanese", "The names that MMD shows"),
    ("ENGLISH", "English", "The English names of the file, where it has them"),
]


_ELEMENT = re.compile(r'[\w.]+\["(?:[^"\\]|\\.)*"\]')  # a data path up to a bone or shape key


def rename(model: scene_model.SceneModel, english: bool) -> int:
    """Give a model of our importer these names; how many have changed."""
    armature, root = model.armature, scene_model.bearer(model.armature, mmd_tools.NAME)
    if root is None:
        if any(map(mmd_tools.is_root, scene_model.ancestors(armature))):
            raise UserError(
                "'{name}' is a model of mmd_tools:"
                " Translate in its panel Model Production changes names",
                name=model.name,
            )
        raise UserError(
            "'{name}' was not imported by MMD Skin: its file's names are not known",
            name=model.name,
        )
    blocks = dict.fromkeys(obj.data.shape_keys for obj in model.meshes if obj.data.shape_keys)
    for thing in (root, armature, armature.data, *model.meshes, *blocks):
        if thing.library or thing.override_library:
            raise UserError(
                "'{name}' is linked from another file: append it or make it local first",
                name=thing.name,
            )
    for thing in (armature, *model.meshes, *blocks):
        for state in (saved_state.MOTION, saved_state.BAKE):
            saved_state.load(thing, state, dict)  # refuses what it cannot read
    count = _rename_bones(armature, model.meshes, english)
    count += _rename_keys(root, model.meshes, blocks, english)
    count += _rename_materials(model.meshes, english)
    root[LANGUAGE] = language(english)
    return count


def _rename_bones(armature, meshes, english):
    bones = sorted(
        (bone for bone in armature.pose.bones if mmd_tools.NUMBER in bone),
        key=lambda bone: bone[mmd_tools.NUMBER],
    )
    records = [names.Named(bone[mmd_tools.NAME], bone["mmd_name_e"]) for bone in bones]
    wanted = _changes([bone.name for bone in bones], lambda e: names.bones(records, e), english)
    curves = [(curve, curve.data_path) for curve in _curves_of_morphs(armature)] if wanted else []
    changed = _rename_all(armature.data.bones, wanted)
    _follow(armature, saved_state.MOTION, "pose.bones", changed)
    # Blender follows in actions of constraints not always, and not in all versions.
    paths = _paths("pose.bones", changed)
    for curve, path in curves:
        curve.data_path = _renamed(path, {}, paths)
    for obj in meshes:
        _follow_joints(obj, changed)
    return len(changed)


def _rename_keys(root, meshes, blocks, english):
    morphs = root.get(mmd_tools.MORPHS, ())
    records = [names.Named(morph["name"], morph["name_english"]) for morph in morphs]
    keys = [morph["key"] for morph in morphs]
    wanted = _changes(keys, lambda e: names.morphs(records, mmd_tools.RESERVED_KEYS, e), english)
    changed = {}
    for block in blocks:
        of_block = _rename_all(block.key_blocks, wanted)
        _follow(block, saved_state.MOTION, "key_blocks", of_block)
        changed |= of_block
    for obj in meshes:
        _follow(obj, saved_state.BAKE, "key_blocks", changed)
    for morph in morphs:
        morph["key"] = changed.get(morph["key"], morph["key"])
    mmd_tools.rename_morphs(root, changed)
    return len(changed)


def _rename_materials(meshes, english):
    found = dict.fromkeys(
        slot.material for obj in meshes for slot in obj.material_slots if slot.material
    )
    count = 0
    for material in found:
        if mmd_tools.NAME not in material or material.library:
            continue
        record = names.Named(material[mmd_tools.NAME], material["mmd_name_e"])
        new, old = names.material(record, english), names.material(record, not english)
        if new != old and names.without_number(material.name) == names.without_number(old):
            material.name = new
            count += 1
    return count


def _changes(current: list[str], table: Callable[[bool], list[str]], english: bool):
    """{name: new name} of those that bear the name of the other language."""
    pairs = zip(current, table(not english), table(english), strict=True)
    return {old: new for name, old, new in pairs if name == old != new}


def _rename_all(things, wanted: dict[str, str]) -> dict[str, str]:
    """Rename members of a collection; {name: new name} of those that it has."""
    found = {old: things[old] for old in wanted if old in things}
    # One may take the name that another gives up only afterwards.
    for old, thing in found.items():
        if wanted[old] in found:
            thing.name = f"{names.cut(old, names.LIMIT - 8)} mmdskin"
    for old, thing in found.items():
        thing.name = wanted[old]
    return {old: thing.name for old, thing in found.items()}


def _follow(owner, state, collection, changed):
    """Rename what a state that is noted on a datablock says of these names, also in its actions."""
    paths = _paths(collection, changed)
    if changed and state in owner:
        noted = saved_state.load(owner, state, dict)
        saved_state.store(owner, state, _renamed(noted, changed, paths))
    before = owner.get(f"{state}_before")
    if isinstance(before, bpy.types.Action) and before.users - before.use_fake_user <= 1:
        for curve in actions.of_action(before):
            curve.data_path = _renamed(curve.data_path, {}, paths)


def _curves_of_morphs(armature):
    """Of the action of bone morphs, which is from now on that of no other armature."""
    found: dict[bpy.types.Action, list] = {}
    # Objects that share the armature have renamed bones, too.
    sharing = [obj for obj in bpy.data.objects if obj.data == armature.data]
    for bone in (bone for obj in sharing for bone in obj.pose.bones):
        for constraint in bone.constraints:
            if constraint.name.startswith(names.BONE_MORPH) and constraint.action:
                found.setdefault(constraint.action, []).append(constraint)
    for action, constraints in found.items():
        if action.users - action.use_fake_user > len(constraints):  # a copy of the model has it
            action = action.copy()
            for constraint in constraints:
                actions.replace(constraint, action)
        yield from actions.of_action(action)


def _follow_joints(obj, changed):
    """Rename bones in what a bake keeps of single poses."""
    noted = saved_state.load(obj, saved_state.BAKE, dict)
    if saved_state.POSES in noted:
        noted[saved_state.POSES] = _renamed(noted[saved_state.POSES], changed, {})
        saved_state.store(obj, saved_state.BAKE, noted)


def _paths(collection, changed):
    """{data path: new data path} of renamed members of a collection."""
    return {
        f'{collection}["{bpy.utils.escape_identifier(old)}"]': (
            f'{collection}["{bpy.utils.escape_identifier(new)}"]'
        )
        for old, new in changed.items()
    }


def _renamed(value, changed, paths):
    """A state, or a part of it, with names and data paths changed."""
    if isinstance(value, dict):
        return {
            _renamed(key, changed, paths): _renamed(item, changed, paths)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_renamed(item, changed, paths) for item in value]
    if not isinstance(value, str):
        return value
    if value in changed:
        return changed[value]
    found = _ELEMENT.match(value)
    return paths.get(found[0], found[0]) + value[found.end() :] if found else value


class MMDSKIN_OT_switch_names(ModelOperator, bpy.types.Operator):
    """Name bones, shape keys and materials in Japanese or in English, as the model's file does"""

    bl_idname = "mmdskin.switch_names"
    bl_label = "Switch Names"

    language: EnumProperty(
        name="Language",
        items=[("SWITCH", "Switch", "The one that the names are not in"), *LANGUAGES],
        default="SWITCH",
        options={"SKIP_SAVE"},
    )

    def execute(self, context):
        try:
            count = sum(rename(model, self._english(model)) for model in self.models(context))
        except UserError as error:
            return cancelled(self, error)
        self.report({"INFO"}, tr("Renamed {count} bones, shape keys and materials", count=count))
        return {"FINISHED"}

    def _english(self, model):
        if self.language != "SWITCH":
            return self.language == "ENGLISH"
        return language_of(model.armature) == "JAPANESE"


def language(english: bool) -> str:
    """Of LANGUAGES."""
    return "ENGLISH" if english else "JAPANESE"


def language_of(armature: bpy.types.Object) -> str:
    """The language of a model's names, as in LANGUAGES."""
    root = scene_model.bearer(armature, LANGUAGE)
    return root[LANGUAGE] if root is not None else "JAPANESE"


register, unregister = registration.of(MMDSKIN_OT_switch_names)

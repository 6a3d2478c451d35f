# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator Switch Names: rename bones, shape keys and materials to their Japanese or English names.

Only items with a name from the file are renamed. Blender updates vertex groups, constraints,
drivers and the curves of playing actions; this module updates names stored by the add-on.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import bpy
from bpy.props import EnumProperty
from bpy.types import ID, Action, Context, FCurve, Material, Object, Operator, PoseBone

from .blender import actions, playhead, registration
from .blender.user_error import UserError, cancels
from .operator_base.editing import Edit, editing
from .operator_base.model_operator import ModelOperator
from .scene import mmd_tools, names, saved_state, scene_model, sliders, stored

_ELEMENT = re.compile(r'[\w.]+\["(?:[^"\\]|\\.)*"\]')  # a data path up to a bone or shape key
_BONES, _KEYS = "pose.bones", "key_blocks"  # collections in data paths


class MMDSKIN_OT_switch_names(ModelOperator, Operator):
    """Rename bones, shape keys and materials to their Japanese or English names"""

    bl_idname = "mmdskin.switch_names"
    bl_label = "Switch Names"

    language: EnumProperty(
        name="Language",
        description="Language to rename to",
        items=[("SWITCH", "Switch", "Switch to the other language"), *names.LANGUAGES],
        default="SWITCH",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        try:
            _root_with_names(model)
        except UserError as error:
            return str(error)
        return ""

    @cancels
    def execute(self, context: Context) -> set[Any]:
        count = unknown = 0
        with editing(self.models(context), _check) as edit:
            for model, root in edit.checked:
                english = self.language == "ENGLISH"
                if self.language == "SWITCH":
                    english = names.language_of(model.armature) == "JAPANESE"
                count += _rename(edit, model, root, english)
                if english:
                    unknown += _without_english(model, root)
        self.inform(
            "Renamed 1 bone, shape key or material",
            "Renamed {count} bones, shape keys and materials",
            count=count,
        )
        if unknown:
            self.inform(
                "1 keeps its Japanese name, because its English name is unknown",
                "{count} keep their Japanese names, because their English names are unknown",
                count=unknown,
            )
        return {"FINISHED"}


def _check(model: scene_model.SceneModel) -> Object:
    """The root of a model; UserError if it is not from our importer or not editable."""
    armature, root = model.armature, _root_with_names(model)
    blocks = scene_model.shape_keys(model.meshes)
    for thing in (root, armature, armature.data, *model.meshes, *blocks):
        if thing.library or thing.override_library:
            raise scene_model.needs_local(thing.name)
    for thing in (armature, *model.meshes, *blocks):
        for state in (saved_state.MOTION, saved_state.BAKE):
            saved_state.load(thing, state)  # raises an error if it cannot read it
    return root


def _root_with_names(model: scene_model.SceneModel) -> Object:
    """The root of a model from our importer, which stores its names."""
    root = scene_model.ancestor_with(model.armature, mmd_tools.NAME)
    if root is not None:
        return root
    if any(map(mmd_tools.is_root, scene_model.ancestors(model.armature))):
        raise UserError(
            "'{name}' is an mmd_tools model: use Translate in its Model Production"
            " panel to change names",
            name=model.name,
        )
    raise UserError(
        "'{name}' was not imported by MMD Skin: the names in its file are unknown", name=model.name
    )


def _rename(edit: Edit, model: scene_model.SceneModel, root: Object, english: bool) -> int:
    """Rename a checked model; returns the number of changes."""
    bones = _rename_bones(edit, model, english)
    keys = _rename_keys(edit, model, root, english)
    materials = _changes_of_materials(model.meshes, english)
    for material, name in materials:
        edit.set(material, "name", name)
    before, path = root.get(names.LANGUAGE), sliders.path(names.LANGUAGE)
    edit.on_failure(playhead.write, root, path, before)
    root[names.LANGUAGE] = "ENGLISH" if english else "JAPANESE"
    return len(bones) + len(keys) + len(materials)


def _without_english(model: scene_model.SceneModel, root: Object) -> int:
    """The number of bones, morphs and materials that keep their Japanese name."""
    items = [(names.BONES, _named(bone)) for bone in _bones(model.armature)]
    items += [(names.MORPHS, _of_morph(m)) for m in stored.groups(root, mmd_tools.MORPHS)]
    items += [(names.MATERIALS, _named(material)) for material in _materials(model.meshes)]
    return sum(
        not record.name.isascii() and names.chosen(record, True, kind) == record.name
        for kind, record in items
    )


def _bones(armature: Object) -> list[PoseBone]:
    """Those of the file, in its order."""
    found = (bone for bone in armature.pose.bones if mmd_tools.NUMBER in bone)
    return sorted(found, key=lambda bone: stored.number(bone, mmd_tools.NUMBER))


def _materials(meshes: Iterable[Object]) -> list[Material]:
    """Those of the file."""
    found = dict.fromkeys(slot.material for obj in meshes for slot in obj.material_slots)
    return [material for material in found if material and mmd_tools.NAME in material]


def _named(thing: PoseBone | Material) -> names.Named:
    """What an import has stored."""
    return names.Named(stored.text(thing, mmd_tools.NAME), stored.text(thing, "mmd_name_e"))


def _of_morph(morph: Any) -> names.Named:
    return names.Named(stored.text(morph, "name"), stored.text(morph, "name_english"))


def _rename_bones(edit: Edit, model: scene_model.SceneModel, english: bool) -> dict[str, str]:
    """{name: new name}."""
    armature = model.armature
    bones = _bones(armature)
    records = list(map(_named, bones))
    wanted = _changes([bone.name for bone in bones], lambda e: names.bones(records, e), english)
    found = _curves_of_morphs(edit, armature) if wanted else ()
    curves = [(curve, curve.data_path) for curve in found]
    changed = _rename_all(edit, armature.data.bones, wanted)
    _follow(edit, armature, saved_state.MOTION, _BONES, changed)
    # Blender does not always update actions of constraints, nor in all versions.
    paths = _paths(_BONES, changed)
    for curve, path in curves:
        edit.set(curve, "data_path", _renamed(path, {}, paths))
    for obj in model.meshes:
        _follow(edit, obj, saved_state.BAKE, _BONES, changed)
    return changed


def _rename_keys(
    edit: Edit, model: scene_model.SceneModel, root: Object, english: bool
) -> dict[str, str]:
    """{name: new name}."""
    morphs = list(stored.groups(root, mmd_tools.MORPHS))
    records = list(map(_of_morph, morphs))
    keys = [stored.text(morph, "key") for morph in morphs]
    reserved = mmd_tools.RESERVED_KEYS
    wanted = _changes(keys, lambda e: names.morphs(records, reserved, e), english)
    changed: dict[str, str] = {}
    for block in scene_model.shape_keys(model.meshes):
        of_block = _rename_all(edit, block.key_blocks, wanted)
        _follow(edit, block, saved_state.MOTION, _KEYS, of_block)
        changed |= of_block
    for obj in model.meshes:
        _follow(edit, obj, saved_state.BAKE, _KEYS, changed)
    for morph, key in zip(morphs, keys, strict=True):
        if key in changed:
            edit.on_failure(morph.__setitem__, "key", key)
            morph["key"] = changed[key]
    edit.on_failure(mmd_tools.rename_morphs, root, {new: old for old, new in changed.items()})
    mmd_tools.rename_morphs(root, changed)
    return changed


def _changes_of_materials(meshes: Iterable[Object], english: bool) -> list[tuple[Material, str]]:
    """Materials with the name of the other language, and their new names."""
    changes = []
    for material in _materials(meshes):
        if material.library:
            continue
        record = _named(material)
        new, old = names.material(record, english), names.material(record, not english)
        if new != old and names.without_number(material.name) == names.without_number(old):
            changes.append((material, new))
    return changes


def _changes(
    current: Sequence[str], table: Callable[[bool], list[str]], english: bool
) -> dict[str, str]:
    """{name: new name} of items that have the name of the other language."""
    pairs = zip(current, table(not english), table(english), strict=True)
    return {old: new for name, old, new in pairs if name == old != new}


def _rename_all(edit: Edit, things: Any, wanted: dict[str, str]) -> dict[str, str]:
    """Rename members of a collection; returns {name: new name} of those found."""
    found = {old: things[old] for old in wanted if old in things}
    # Use temporary names: a new name may still be in use by another member.
    for old, thing in found.items():
        if wanted[old] in found:
            edit.set(thing, "name", f"{names.cut(old, names.LIMIT - 8)} mmdskin")
    for old, thing in found.items():
        edit.set(thing, "name", wanted[old])
    return {old: thing.name for old, thing in found.items()}


def _follow(edit: Edit, owner: ID, state: str, collection: str, changed: dict[str, str]) -> None:
    """Update these names in a state that is stored on a datablock, and in its actions."""
    paths = _paths(collection, changed)
    if changed and saved_state.exists(owner, state):
        noted = saved_state.load(owner, state)
        edit.on_failure(saved_state.store, owner, state, dict(noted))
        for name, value in noted.items():
            # Of a bake, single poses have the names of bones, and all else those of keys.
            if state != saved_state.BAKE or (name == saved_state.POSES) == (collection == _BONES):
                noted[name] = _renamed(value, changed, paths)
        saved_state.store(owner, state, noted)
    before = saved_state.load_action(owner, f"{state}_before")
    if before is not None and before.users - before.use_fake_user <= 1:
        for curve in actions.curves_of(before):
            edit.set(curve, "data_path", _renamed(curve.data_path, {}, paths))


def _curves_of_morphs(edit: Edit, armature: Object) -> Iterator[FCurve]:
    """The curves of the action of bone morphs, which becomes a single user of this armature."""
    found: dict[Action, list] = {}
    # The bones of objects that share the armature are renamed too.
    sharing = [obj for obj in bpy.data.objects if obj.data == armature.data]
    for bone in (bone for obj in sharing for bone in obj.pose.bones):
        for constraint in bone.constraints:
            if constraint.name.startswith(names.BONE_MORPH) and constraint.action:
                found.setdefault(constraint.action, []).append(constraint)
    for action, constraints in found.items():
        if action.users - action.use_fake_user > len(constraints):  # a copy of the model uses it
            shared, action = action, action.copy()
            edit.on_failure(bpy.data.actions.remove, action)
            for constraint in constraints:
                slot = actions.slot_of(constraint)
                edit.on_failure(actions.put, constraint, shared, slot)
                actions.put(constraint, action, slot)
        yield from actions.curves_of(action)


def _paths(collection: str, changed: dict[str, str]) -> dict[str, str]:
    """{data path: new data path} of renamed members of a collection."""
    quoted = [map(sliders.path, pair) for pair in changed.items()]
    return {collection + old: collection + new for old, new in quoted}


def _renamed(value: Any, changed: dict[str, str], paths: dict[str, str]) -> Any:
    """A state, or a part of it, with names and data paths replaced."""
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


register, unregister = registration.functions(__name__)

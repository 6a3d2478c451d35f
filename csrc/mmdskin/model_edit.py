# SPDX-License-Identifier: MIT
"""scaled() and merged(): models made of other models."""

from __future__ import annotations

import itertools
import numbers
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

import mmdskin
from mmdskin.argument import check_model, wrong_type
from mmdskin.errors import printable

if TYPE_CHECKING:
    from collections.abc import Container

    from numpy.typing import NDArray

_LARGEST = 1e15  # factor, whose square float32 still holds
_MOST_OFFSETS = 1_000_000  # of material morphs whose index -1, all materials, is spelled out
_LENGTHS = {  # columns of a morph's values, and the power of the length that they have
    "vertex": ((slice(0, 3), 1),),
    "bone": ((slice(0, 3), 1),),
    "impulse": ((slice(1, 4), 1), (slice(4, 7), 2)),
}


def scaled(model: mmdskin.Model, factor: float) -> mmdskin.Model:
    """A model of another size, as if its unit of length were another: what is a length is multiplied
    by the factor, torques and the springs against turning by its square. Vertices, offsets of morphs,
    SDEF, bones, rigid bodies and joints are scaled; masses, angles and the width of edges, in
    pixels, are not.

        half = mmdskin.scaled(model, 0.5)
        motion, report = motion.for_model(half, made_for=model)

    Hair of a small model swings faster under MMD's gravity, as it does in nature; with
    Physics(gravity=(0, -98 * factor, 0)) it swings in about the same time.

    Raises ValueError for a factor that is not positive or beyond 1e15, and for coordinates beyond 1e10.
    """
    check_model(model)
    if not isinstance(factor, numbers.Real):
        raise TypeError(f"factor: expected a number, not {type(factor)!r}")
    if not 0 < factor <= _LARGEST:
        raise ValueError(f"factor: {factor}, expected a positive number up to {_LARGEST:g}")

    def lengths(vector: Iterable[float], power: int = 1) -> Any:
        return tuple(value * factor**power for value in vector)

    def morph_values(morph: mmdskin.Morph) -> NDArray[np.float32]:
        values = morph.values.copy()
        for columns, power in _LENGTHS.get(morph.kind, ()):
            values[:, columns] *= factor**power
        return values

    return model.replace(
        positions=model.positions * factor,
        sdef=model.sdef * factor,
        bones=[
            bone._replace(position=lengths(bone.position), tail_offset=lengths(bone.tail_offset))
            for bone in model.bones
        ],
        morphs=[morph._replace(values=morph_values(morph)) for morph in model.morphs],
        rigid_bodies=[
            body._replace(size=lengths(body.size), position=lengths(body.position))
            for body in model.rigid_bodies
        ],
        joints=[
            joint._replace(
                position=lengths(joint.position),
                translation_lower=lengths(joint.translation_lower),
                translation_upper=lengths(joint.translation_upper),
                rotation_spring=lengths(joint.rotation_spring, 2),
            )
            for joint in model.joints
        ],
    )


def merged(models: Iterable[mmdskin.Model], *, join_bones: bool = False) -> mmdskin.Model:
    """One model of several, in their order: a dancer with clothes or a prop.

        dressed = mmdskin.merged([dancer, coat], join_bones=True)

    models: at least one. The name is that of the first, the comments, where terms of use are, follow
        each other. Textures are found from the file of the first.
    join_bones: bones that have the name of an earlier model's bone become that bone. False: they get
        a name of their own, such as "頭 2", which motions do not move, as all morphs do whose name is
        taken. Bones and morphs of display frames with the same name are joined.

    Raises ValueError without a model, for material morphs of all materials that need more than
    1,000,000 offsets, and what Model.replace() raises.
    """
    if not isinstance(models, Iterable) or isinstance(models, (str, bytes)):
        raise wrong_type(models, "models: expected a list of models", "load_model")
    parts = list(models)
    for number, part in enumerate(parts):
        check_model(part, f"models[{number}]")
    if not parts:
        raise ValueError("models: expected at least one")
    found = _Merged()
    for part in parts:
        found.add(part, join_bones, parts[0].path)
    channels = max(part.additional_uvs.shape[1] for part in parts)

    def rows(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    def text(name: str) -> str:
        return "\n\n".join(dict.fromkeys(filter(None, (getattr(part, name) for part in parts))))

    return parts[0].replace(
        positions=rows("positions"),
        normals=rows("normals"),
        uvs=rows("uvs"),
        additional_uvs=np.concatenate(
            [
                np.pad(uvs, ((0, 0), (0, channels - uvs.shape[1]), (0, 0)))
                for uvs in (part.additional_uvs for part in parts)
            ]
        ),
        edge_scales=rows("edge_scales"),
        deform=rows("deform"),
        bone_weights=rows("bone_weights"),
        sdef=rows("sdef"),
        triangles=np.concatenate(found.triangles),
        bone_indices=np.concatenate(found.bone_indices),
        bones=found.bones,
        morphs=found.morphs,
        materials=found.materials,
        textures=found.textures,
        display_frames=[
            frame._replace(elements=tuple(dict.fromkeys(frame.elements)))
            for frame in found.frames.values()
        ],
        rigid_bodies=found.bodies,
        joints=found.joints,
        comment=text("comment"),
        comment_english=text("comment_english"),
        version=max(part.version for part in parts),
    )


class _Merged:
    """What models have in common, with indices and names of the merged one."""

    def __init__(self) -> None:
        self.vertices = self.spelled_out = 0
        self.triangles: list[NDArray[np.int32]] = []
        self.bone_indices: list[NDArray[np.int32]] = []
        self.bones: list[mmdskin.Bone] = []
        self.morphs: list[mmdskin.Morph] = []
        self.materials: list[mmdskin.Material] = []
        self.textures: list[str] = []
        self.frames: dict[tuple[str, bool], mmdskin.DisplayFrame] = {}
        self.bodies: list[mmdskin.RigidBody] = []
        self.joints: list[mmdskin.Joint] = []

    def add(self, part: mmdskin.Model, join_bones: bool, path: str | None) -> None:
        self.triangles.append(part.triangles + np.int32(self.vertices))
        bone = self._add_bones(part, join_bones)
        self.bone_indices.append(bone[part.bone_indices])
        body = _shifted(len(part.rigid_bodies), len(self.bodies))
        morph = _shifted(len(part.morphs), len(self.morphs))
        texture = _shifted(len(part.textures), len(self.textures))
        material = _shifted(len(part.materials), len(self.materials))
        vertex = _shifted(len(part.positions), self.vertices)
        of_kind = {"bone": bone, "impulse": body, "material": material}
        of_kind |= dict.fromkeys(("group", "flip"), morph)
        taken = {one.name for one in self.morphs}
        for one in part.morphs:
            if one.kind == "material":
                one = self._of_all(one, len(part.materials))
            indices = of_kind.get(one.kind, vertex)[one.indices]
            self.morphs.append(
                one._replace(name=_free(one.name, taken, part.morphs), indices=indices)
            )
        self.materials += [
            one._replace(
                texture=int(texture[one.texture]),
                sphere_texture=int(texture[one.sphere_texture]),
                toon=one.toon if one.shared_toon else int(texture[one.toon]),
            )
            for one in part.materials
        ]
        self.textures += [_from(path, part.path, name) for name in part.textures]
        for frame in part.display_frames:
            key = frame.name, frame.special
            numbers = {"bone": bone, "morph": morph}
            elements = tuple((kind, int(numbers[kind][n])) for kind, n in frame.elements)
            before = self.frames.get(key, frame._replace(elements=()))
            self.frames[key] = before._replace(elements=before.elements + elements)
        self.joints += [
            one._replace(body_a=int(body[one.body_a]), body_b=int(body[one.body_b]))
            for one in part.joints
        ]
        self.bodies += [one._replace(bone=int(bone[one.bone])) for one in part.rigid_bodies]
        self.vertices += len(part.positions)

    def _of_all(self, morph: mmdskin.Morph, count: int) -> mmdskin.Morph:
        """A material morph whose index -1, all materials, is spelled out."""
        is_all = morph.indices < 0
        self.spelled_out += int(is_all.sum()) * count
        if self.spelled_out > _MOST_OFFSETS:
            raise ValueError(
                f'morph "{printable(morph.name)}": offsets of all materials become one of each, '
                f"{self.spelled_out:,} so far, expected at most {_MOST_OFFSETS:,}"
            )
        every = np.arange(count, dtype=np.int32)
        indices = [every if index < 0 else [index] for index in morph.indices]
        return morph._replace(
            indices=np.concatenate([np.zeros(0, np.int32), *indices]),
            values=np.repeat(morph.values, np.where(is_all, count, 1), axis=0),
        )

    def _add_bones(self, part: mmdskin.Model, join_bones: bool) -> NDArray[np.int32]:
        """Appends a model's bones. Returns the number of each, with -1 at the end, for index -1."""
        earlier: dict[str, int] = {}
        for at, bone in enumerate(self.bones):
            earlier.setdefault(bone.name, at)
        joined = [earlier.get(bone.name) if join_bones else None for bone in part.bones]
        free = iter(range(len(self.bones), len(self.bones) + len(part.bones)))
        number = np.array([*(next(free) if n is None else n for n in joined), -1], np.int32)
        for bone, other in zip(part.bones, joined, strict=True):
            if other is not None:
                continue
            append, ik = bone.append, bone.ik
            if append is not None:
                append = append._replace(source=int(number[append.source]))
            if ik is not None:
                links = tuple(link._replace(bone=int(number[link.bone])) for link in ik.links)
                ik = ik._replace(target=int(number[ik.target]), links=links)
            self.bones.append(
                bone._replace(
                    name=_free(bone.name, earlier, part.bones),
                    parent=int(number[bone.parent]),
                    tail_bone=int(number[bone.tail_bone]),
                    append=append,
                    ik=ik,
                )
            )
        return number


def _shifted(count: int, first: int) -> NDArray[np.int32]:
    """The number of each item from `first` on, with -1 at the end, for index -1."""
    return np.append(np.arange(first, first + count, dtype=np.int32), np.int32(-1))


def _free(name: str, taken: Container[str], own: mmdskin.Named[Any]) -> str:
    """A name, or if earlier models have it, with the first number that no model has."""
    if name not in taken:
        return name
    numbered = (f"{name} {number}" for number in itertools.count(2))
    return next(one for one in numbered if one not in taken and one not in own)


def _from(path: str | None, other: str | None, texture: str) -> str:
    """A texture of another model's file, from the folder of a model's."""
    if not path or not other:
        return texture
    folders = os.path.dirname(os.path.abspath(path)), os.path.dirname(os.path.abspath(other))
    if folders[0] == folders[1]:
        return texture
    place = os.path.join(folders[1], texture.replace("\\", os.sep))
    try:
        return os.path.relpath(place, folders[0])
    except ValueError:  # on another drive of Windows
        return place

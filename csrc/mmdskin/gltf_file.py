# SPDX-License-Identifier: MIT
"""save_glb(): a model and its dance as glTF 2.0, by Khronos' specification of it, section by section:
meshes, materials, the skeleton, keyframes."""

from __future__ import annotations

import json
import os
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

import mmdskin
from mmdskin.argument import check_model, check_motion, frame_numbers, texture_items
from mmdskin.array_arguments import converted
from mmdskin.file_io import check_name, write
from mmdskin.notebook import png
from mmdskin.rotations import to_quaternions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    _Array = NDArray[Any]
    _Json = dict[str, Any]

FPS = 30
# Of GL, as the specification has them
_TYPES = {"f4": 5126, "u4": 5125, "u2": 5123}
_VERTICES, _INDICES = 34962, 34963
_LIGHT = 154 / 255  # of MMD, on a surface that faces it
_MAGIC, _VERSION, _JSON, _BIN = 0x46546C67, 2, 0x4E4F534A, 0x004E4942
_BLENDED = 0.1  # more texels than this between clear and opaque: alpha is blended, else cut off


def save_glb(
    path: str | os.PathLike[str],
    model: mmdskin.Model,
    motion: mmdskin.Motion | None = None,
    frames: ArrayLike | None = None,
    *,
    textures: dict[int, NDArray[np.uint8]] | None = None,
    physics: mmdskin.Physics | bool | None = None,
) -> None:
    """Writes a model, with its materials, skeleton and vertex morphs, and a dance as a .glb file.

        mmdskin.save_glb("dance.glb", model, motion, textures=mmdskin.load_textures(model))

    frames: (F,) increasing numbers, of which each becomes a keyframe; None: all of the motion.
    textures: as in render(); they are embedded. None: plain colors.
    physics: as in Model.pose().

    Programs that read it skin linearly: elbows of SDEF collapse there. Colors are those of MMD's light,
    unlit where KHR_materials_unlit is known; toons, sphere maps and edges are left out.

    Raises ValueError for frames that do not increase, for textures that the model lacks or that are not
    (h,w,4), and for a name that is not .glb, and OSError.
    """
    check_name(path, "glTF file", ".glb")
    check_model(model)
    check_motion(motion)
    file = _File(model)
    file.add_mesh(_images(textures, model))
    file.add_skeleton()
    if motion is not None:
        first, last = motion.frame_range
        numbers = np.arange(first, last + 1.0) if frames is None else frame_numbers(frames)
        if not len(numbers) or (np.diff(numbers) <= 0).any():
            raise ValueError("frames: expected (F,) numbers that increase")
        file.add_dance(model.pose(motion, numbers, physics=physics), (numbers - numbers[0]) / FPS)
    elif frames is not None:
        raise ValueError("frames: expected None without a motion")
    write(path, file.data())


def _images(
    textures: dict[int, NDArray[np.uint8]] | None, model: mmdskin.Model
) -> dict[int, NDArray[np.uint8]]:
    images = {}
    for index, name, given in texture_items(textures, model):
        image = images[index] = converted(given, name, "uint8", 3)[1]
        if image.ndim != 3 or image.shape[2] != 4 or not image.size:
            raise ValueError(f"{name}: shape {image.shape}, expected (h, w, 4)")
    return images


class _File:
    def __init__(self, model: mmdskin.Model) -> None:
        self.model = model
        self.blobs: list[bytes] = []
        self.length = 0
        self.json: _Json = {
            "asset": {"version": "2.0", "generator": f"mmdskin {mmdskin.__version__}"},
            "scene": 0,
            "accessors": [],
            "bufferViews": [],
        }
        rest = np.tile(np.eye(4, dtype="f4"), (len(model.bones), 1, 1))
        self.moving = [i for i, morph in enumerate(model.morphs) if morph.kind == "vertex"]
        self.worlds = mmdskin.convert(model.transforms(rest), "matrices", to="gltf")
        self.rest = self._local(rest)

    def data(self) -> bytes:
        self.json["buffers"] = [{"byteLength": self.length}]
        text = json.dumps(self.json, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        binary = b"".join(self.blobs)
        header = struct.pack("<III", _MAGIC, _VERSION, 28 + len(text) + len(binary))
        chunks = struct.pack("<II", len(text), _JSON), text, struct.pack("<II", len(binary), _BIN)
        return b"".join((header, *chunks, binary))

    def _view(self, data: bytes, target: int | None = None) -> int:
        view = {"buffer": 0, "byteOffset": self.length, "byteLength": len(data)}
        self.json["bufferViews"].append(view | ({"target": target} if target else {}))
        self.blobs.append(data + b"\0" * (-len(data) % 4))
        self.length += len(self.blobs[-1])
        return len(self.json["bufferViews"]) - 1

    def _accessor(
        self, values: ArrayLike, kind: str, target: int | None = None, bounds: bool = False
    ) -> int:
        array = np.ascontiguousarray(values)
        made: _Json = {
            "bufferView": self._view(array.tobytes(), target),
            "componentType": _TYPES[array.dtype.str[1:]],
            "count": len(array),
            "type": kind,
        }
        return self._described(made, array if bounds else None)

    def _described(self, accessor: _Json, bounded: _Array | None) -> int:
        if bounded is not None:
            rows = bounded.reshape(len(bounded), -1)
            accessor |= {"min": rows.min(0).tolist(), "max": rows.max(0).tolist()}
        self.json["accessors"].append(accessor)
        return len(self.json["accessors"]) - 1

    # The mesh

    def add_mesh(self, textures: Mapping[int, NDArray[np.uint8]]) -> None:
        model = self.model
        if not any(material.index_count for material in model.materials):
            return
        joints, weights = _influences(model)
        normals = mmdskin.convert(model.normals, "normals", to="gltf").astype("f8")
        lengths = np.linalg.norm(normals, axis=-1, keepdims=True)
        normals = np.where(lengths > 0, normals / np.where(lengths > 0, lengths, 1), (0, 1, 0))
        attributes = {
            "POSITION": self._accessor(_meters(model.positions), "VEC3", _VERTICES, bounds=True),
            "NORMAL": self._accessor(normals.astype("f4"), "VEC3", _VERTICES),
            "TEXCOORD_0": self._accessor(model.uvs, "VEC2", _VERTICES),
            "JOINTS_0": self._accessor(joints, "VEC4", _VERTICES),
            "WEIGHTS_0": self._accessor(weights, "VEC4", _VERTICES),
        }
        targets = [{"POSITION": self._morph(model.morphs[i])} for i in self.moving]
        corners = mmdskin.convert(model.triangles, "triangles", to="gltf").astype("u4").ravel()
        primitives, first = [], 0
        used: dict[int, int] = {}
        self.json["materials"] = []
        for material in model.materials:
            of_material = corners[first : first + material.index_count]
            first += material.index_count
            if not len(of_material):
                continue
            primitives.append(
                {
                    "attributes": attributes,
                    "indices": self._accessor(of_material, "SCALAR", _INDICES),
                    "material": len(self.json["materials"]),
                    **({"targets": targets} if targets else {}),
                }
            )
            self.json["materials"].append(self._material(material, textures, used))
        self.json["extensionsUsed"] = ["KHR_materials_unlit"]
        mesh: _Json = {"name": model.name, "primitives": primitives}
        if targets:
            mesh["weights"] = [0.0] * len(targets)
            mesh["extras"] = {"targetNames": [model.morphs[i].name for i in self.moving]}
        self.json["meshes"] = [mesh]

    def _morph(self, morph: mmdskin.Morph) -> int:
        """Offsets of the vertices that it moves; the others have none."""
        count = len(self.model.positions)
        accessor: _Json = {"componentType": _TYPES["f4"], "count": count, "type": "VEC3"}
        offsets = np.zeros((count, 3))
        np.add.at(offsets, morph.indices, morph.values)
        moved = np.flatnonzero(offsets.any(1)).astype("u4")
        values = _meters(offsets[moved])
        if len(moved):
            accessor["sparse"] = {
                "count": len(moved),
                "indices": {
                    "bufferView": self._view(moved.tobytes()),
                    "componentType": _TYPES["u4"],
                },
                "values": {"bufferView": self._view(values.tobytes())},
            }
        still = np.zeros((int(len(moved) < count), 3), "f4")
        return self._described(accessor, np.concatenate([values, still]))

    def _material(
        self,
        material: mmdskin.Material,
        textures: Mapping[int, NDArray[np.uint8]],
        used: dict[int, int],
    ) -> _Json:
        diffuse, ambient = np.array(material.diffuse), np.array(material.ambient)
        color = np.clip(ambient + diffuse[:3] * _LIGHT, 0, 1)
        linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
        alpha = float(np.clip(diffuse[3], 0, 1))
        surface: _Json = {
            "baseColorFactor": [*linear.tolist(), alpha],
            "metallicFactor": 0.0,
            "roughnessFactor": 0.9,
        }
        made: _Json = {
            "name": material.name,
            "pbrMetallicRoughness": surface,
            "doubleSided": bool(material.flags & 1),
            "extensions": {"KHR_materials_unlit": {}},
        }
        image = textures.get(material.texture)
        if image is not None:
            if material.texture not in used:
                used[material.texture] = self._texture(image)
            surface["baseColorTexture"] = {"index": used[material.texture]}
        levels = image[..., 3] if image is not None else np.full(1, 255, np.uint8)
        if alpha < 1 or ((levels > 8) & (levels < 247)).mean() > _BLENDED:
            made["alphaMode"] = "BLEND"
        elif levels.min() < 247:
            made["alphaMode"] = "MASK"
        return made

    def _texture(self, image: NDArray[np.uint8]) -> int:
        textures = self.json.setdefault("textures", [])
        self.json.setdefault("samplers", [{}])
        view = {"bufferView": self._view(png(image)), "mimeType": "image/png"}
        self.json.setdefault("images", []).append(view)
        textures.append({"sampler": 0, "source": len(textures)})
        return len(textures) - 1

    # The skeleton

    def add_skeleton(self) -> None:
        """The bones are the first nodes, in their order; below one root, which a skin needs."""
        bones = self.model.bones
        nodes: list[_Json] = []
        for bone, place, turn in zip(bones, *self.rest, strict=True):
            nodes.append(
                {"name": bone.name, "translation": place.tolist(), "rotation": turn.tolist()}
            )
        root: _Json = {"name": self.model.name}
        for index, bone in enumerate(bones):
            above = nodes[bone.parent] if bone.parent >= 0 else root
            above.setdefault("children", []).append(index)
        self.json["nodes"] = [*nodes, root]
        roots = [len(bones)]
        if "meshes" in self.json:
            shown: _Json = {"name": f"{self.model.name} mesh", "mesh": 0}
            if bones:
                inverse = np.linalg.inv(self.worlds).astype("f4").swapaxes(1, 2)  # columns
                inverse[:, :, 3] = (0, 0, 0, 1)  # exactly
                joints = [*range(len(bones))]
                matrices = self._accessor(inverse, "MAT4")
                self.json["skins"] = [{"joints": joints, "inverseBindMatrices": matrices}]
                shown["skin"] = 0
            roots.append(len(self.json["nodes"]))
            self.json["nodes"].append(shown)
        self.json["scenes"] = [{"nodes": roots}]

    def _local(self, of: ArrayLike | mmdskin.Pose) -> tuple[_Array, _Array]:
        """Translations and unit quaternions of bones, relative to their parents, in meters."""
        matrices = mmdskin.convert(self.model.transforms(of, "local"), "matrices", to="gltf")
        turns = to_quaternions(matrices[..., :3, :3].astype(float))
        turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
        return matrices[..., :3, 3].astype("f4"), turns.astype("f4")

    # The dance

    def add_dance(self, pose: mmdskin.Pose, seconds: _Array) -> None:
        samplers: list[_Json] = []
        channels: list[_Json] = []
        times = self._accessor(seconds.astype("f4"), "SCALAR", bounds=True)

        def animate(node: int, path: str, values: _Array, kind: str) -> None:
            samplers.append({"input": times, "output": self._accessor(values, kind)})
            target = {"node": node, "path": path}
            channels.append({"sampler": len(samplers) - 1, "target": target})

        moved = self._local(pose)
        for bone in range(len(self.model.bones)):
            for path, rest, values, kind in zip(
                ("translation", "rotation"), self.rest, moved, ("VEC3", "VEC4"), strict=True
            ):
                if np.abs(values[:, bone] - rest[bone]).max() > 1e-6:
                    animate(bone, path, values[:, bone], kind)
        weights = _final_weights(self.model, np.asarray(pose.morph_weights))[:, self.moving]
        if "meshes" in self.json and weights.any():
            animate(len(self.json["nodes"]) - 1, "weights", weights.ravel(), "SCALAR")
        if channels:
            self.json["animations"] = [
                {"name": "dance", "samplers": samplers, "channels": channels}
            ]


def _meters(values: ArrayLike) -> _Array:
    converted: _Array = mmdskin.convert(values, "positions", to="gltf").astype("f4")
    return converted


def _influences(model: mmdskin.Model) -> tuple[_Array, _Array]:
    """Joints (V,4) and weights (V,4): no joint twice, those without weight are 0, the sum is 1."""
    weights = np.where(model.bone_indices < 0, 0, np.maximum(model.bone_weights, 0)).astype(float)
    joints = np.maximum(model.bone_indices, 0)
    for k in range(1, 4):
        for i in range(k):
            same = joints[:, k] == joints[:, i]
            weights[:, i] += np.where(same, weights[:, k], 0)
            weights[:, k] = np.where(same, 0, weights[:, k])
    total = weights.sum(1, keepdims=True)
    weights = np.where(total > 0, weights / np.where(total > 0, total, 1), (1, 0, 0, 0)).astype(
        "f4"
    )
    return np.where(weights > 0, joints, 0).astype("u2"), weights


def _final_weights(model: mmdskin.Model, sliders: _Array) -> _Array:
    """(F,M): what sliders give each morph, also by its groups. Flip morphs are left out."""
    final = sliders.astype("f4")
    for number, morph in enumerate(model.morphs):
        if morph.kind == "group":
            np.add.at(final.T, morph.indices, morph.values[:, :1] * sliders[:, number])
    return final

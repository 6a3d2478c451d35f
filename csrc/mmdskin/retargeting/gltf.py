# SPDX-License-Identifier: MIT
"""load_gltf(): skeletons and animations of glTF 2.0, and VRM's and VRMA's humanoids, by their specifications."""

from __future__ import annotations

import base64
import codecs
import functools
import json
import os
import struct
import urllib.parse
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmdskin import FormatError, convert, errors, file_io
from mmdskin.retargeting.bones import LARGEST, Tree
from mmdskin.retargeting.skeleton import Skeleton
from mmdskin.rotations import Array, from_quaternions, slerp

if TYPE_CHECKING:
    from mmdskin import _Source

_Channel = tuple[Array, Array, str]  # times (K,), values (K,C) or (K,3,C), interpolation
_Channels = dict[tuple[int, str], _Channel]  # by node and path

_fail = functools.partial(errors.refuse, "glTF")
_FPS = 30.0
_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5126: "<f4"}
_SIZES = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
_PATHS = {  # types and defaults
    "translation": ("VEC3", (0, 0, 0)),
    "rotation": ("VEC4", (0, 0, 0, 1)),
    "scale": ("VEC3", (1, 1, 1)),
}
_MOST_NODES = 65_536
_MOST_TRANSFORMS = 1 << 22  # of all nodes in all frames, 512 MiB: two keys may be far apart
_MOST_VALUES = 1 << 27  # of the keys of all channels, 1 GiB: channels may share accessors
_MOST_BYTES = 1 << 30  # of the files that a file names
_INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")
# What a damaged file makes of Python's own operations: a text where a number is expected, ...
_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


def load_gltf(
    source: _Source, /, *, animation: int | str = 0
) -> tuple[Skeleton, NDArray[np.float64], float]:
    """Reads the skeleton of a glTF, VRM or VRMA file, and an animation.

        skeleton, poses, fps = mmdskin.load_gltf("dance.vrma")
        motion, report = mmdskin.Motion.from_skeleton(model, skeleton, poses, fps=fps)

    source: a path, the contents, or a file opened in mode "rb": .gltf, .glb, .vrm or .vrma. Files
        that a .gltf names are read if it is given by its path and they are in its folder.
    animation: index or name of the file's animation.

    Returns (Skeleton, poses, fps): world transforms of the bones (F,B,4,4) float64 in MMD's axes and
    units, sampled at 30 frames per second as the specification says; a single frame, the rest pose, of a file
    without animations. Bones are the joints of all skins, nodes that the animation moves, and those
    of the humanoid of VRM 0.x, VRM 1.0 or VRMC_vrm_animation, which is the skeleton's map then.
    Expressions, morph targets, meshes and constraints are not read.

    Raises FormatError for a file that is damaged, compressed or too large, and for an animation that
    it does not have, and OSError.
    """
    path, data = file_io.path_of(source), file_io.read(source)  # errors of the caller's, not damage
    try:
        file = _File(path, data)
        channels = file.channels(animation)
        human = file.human()
        chosen = {*human.values(), *(node for node, _ in channels)}
        for skin in file.json.get("skins", []):
            chosen.update(map(file.node, skin["joints"]))
        if not chosen:
            _fail("skins", "no skeleton: neither joints, nor a humanoid, nor animated nodes")
        return _posed(file, chosen, channels, human)
    except FormatError:
        raise
    except _DAMAGE as error:
        _fail("file", f"it is damaged, {type(error).__name__}: {error}")


class _File:
    """The JSON of a file, and its buffers."""

    def __init__(self, path: str | None, data: bytes) -> None:
        self._folder = None if path is None else os.path.dirname(path)
        self._binary = b""
        if data.startswith(b"glTF"):
            data, self._binary = _chunks(data)
        if not data.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"):
            _fail("header", "no JSON, nor binary glTF as in .glb and .vrm: this is no glTF file")
        self.json: dict[str, Any] = json.loads(data.decode("utf-8-sig"))
        if not str(self.json.get("asset", {}).get("version")).startswith("2."):
            _fail("asset", "expected version 2 of glTF")
        self.nodes: list[dict[str, Any]] = self.json.get("nodes", [])
        if len(self.nodes) > _MOST_NODES:
            _fail("nodes", f"{len(self.nodes):,}, expected at most {_MOST_NODES:,}")
        self._buffers: dict[int, bytes] = {}
        self._values = self._bytes = 0

    def at(self, what: str, index: Any) -> dict[str, Any]:
        """One of a list: of "accessors", ..."""
        items = self.json.get(what, [])
        if not isinstance(index, int) or not 0 <= index < len(items):
            _fail(what, f"{index!r} of {len(items)}")
        return items[index]

    def node(self, index: Any) -> int:
        """The index, checked."""
        self.at("nodes", index)
        return int(index)

    def parents(self) -> list[int]:
        """Of the nodes, -1 for none."""
        found = [-1] * len(self.nodes)
        for i, one in enumerate(self.nodes):
            for child in one.get("children", []):
                if found[self.node(child)] >= 0:
                    _fail(f"nodes[{child}]", "two parents")
                found[child] = i
        return found

    def human(self) -> dict[str, int]:
        """{slot: node}"""
        extensions = self.json.get("extensions", {})
        for name in ("VRMC_vrm", "VRMC_vrm_animation", "VRM"):
            if name in extensions:
                bones = extensions[name]["humanoid"]["humanBones"]
                pairs = [(bone["bone"], bone) for bone in bones] if name == "VRM" else bones.items()
                return {slot: self.node(bone["node"]) for slot, bone in pairs}
        return {}

    def channels(self, animation: int | str) -> _Channels:
        animations = self.json.get("animations", [])
        names = [one.get("name") for one in animations]
        if not animations and animation == 0:
            return {}
        if animation in names:
            animation = names.index(animation)
        if not isinstance(animation, int) or not 0 <= animation < len(names):
            _fail("animation", f"{animation!r}, expected 0 to {len(names) - 1} or one of {names}")
        samplers = animations[animation]["samplers"]
        found: _Channels = {}
        for channel in animations[animation]["channels"]:
            node, path = (channel["target"].get(key) for key in ("node", "path"))
            if node is not None and path in _PATHS:
                sampler = samplers[channel["sampler"]]
                found[self.node(node), path] = self._channel(sampler, path, f"nodes[{node}]")
        return found

    def _channel(self, sampler: dict[str, Any], path: str, node: str) -> _Channel:
        section, kind = f"animation of {node}", sampler.get("interpolation", "LINEAR")
        if kind not in _INTERPOLATIONS:
            _fail(section, f"interpolation {kind}, expected {', '.join(_INTERPOLATIONS)}")
        times = self._accessor(sampler["input"], "SCALAR")[:, 0]
        values = self._accessor(sampler["output"], _PATHS[path][0])
        if kind == "CUBICSPLINE":
            values = values.reshape(len(times), 3, -1)
        if not len(times) or len(values) != len(times) or (np.diff(times) < 0).any():
            _fail(section, "times that do not increase, or fit the values")
        return times, values, kind

    def _accessor(self, index: Any, kind: str) -> Array:
        """(N,C) float64."""
        accessor = self.at("accessors", index)
        section = f"accessors[{index}]"
        if accessor["type"] != kind or "sparse" in accessor:
            _fail(section, f"{accessor['type']}, expected {kind} that is not sparse")
        view = self.at("bufferViews", accessor["bufferView"])
        if view.get("extensions"):
            _fail(section, f"compressed by {', '.join(view['extensions'])}: decompress the file")
        dtype = np.dtype(_COMPONENTS[accessor["componentType"]])
        rows, size = accessor["count"], _SIZES[kind]
        stride = view.get("byteStride") or size * dtype.itemsize
        start = accessor.get("byteOffset", 0)
        data = memoryview(self._buffer(view["buffer"]))
        data = data[view.get("byteOffset", 0) :][: view["byteLength"]]
        end = start + max(rows - 1, 0) * stride + size * dtype.itemsize
        if min(rows, start) < 0 or stride < size * dtype.itemsize or end > len(data):
            _fail(
                section, f"{errors.counted(rows, 'value')} in {errors.counted(len(data), 'byte')}"
            )
        self._values += rows * size
        if self._values > _MOST_VALUES:
            _fail(section, f"over {_MOST_VALUES:,} numbers in the keys of all channels")
        array = np.ndarray((rows, size), dtype, data, start, (stride, dtype.itemsize)).astype(float)
        if dtype.kind != "f":
            array = np.maximum(array / np.iinfo(dtype).max, -1)
        if not np.isfinite(array).all():
            _fail(section, "expected finite numbers")
        return array

    def _buffer(self, index: Any) -> bytes:
        if index not in self._buffers:
            uri = self.at("buffers", index).get("uri")
            if uri is None:
                self._buffers[index] = self._binary
            elif uri.startswith("data:"):
                self._buffers[index] = base64.b64decode(uri.partition(",")[2])
            else:
                self._buffers[index] = self._beside(urllib.parse.unquote(uri), f"buffers[{index}]")
        return self._buffers[index]

    def _beside(self, name: str, section: str) -> bytes:
        if self._folder is None or name != os.path.basename(name) or name in ("", "..", "."):
            _fail(section, f"{name}: expected a file in the folder of a path")
        path = os.path.join(self._folder, name)
        self._bytes += os.path.getsize(path)
        if self._bytes > _MOST_BYTES:
            _fail(section, f"{name}: expected at most {_MOST_BYTES:,} bytes in all files together")
        return file_io.read(path)


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    """The JSON of binary glTF, and its buffer."""
    start, version = 12, int.from_bytes(data[4:8], "little")
    if version != 2:
        _fail("header", f"version {version} of binary glTF, expected 2")
    found: dict[bytes, bytes] = {}
    while start + 8 <= len(data):
        size, kind = struct.unpack_from("<I4s", data, start)
        start += 8 + size
        if start > len(data):
            _fail("header", f"a chunk of {size:,} bytes: the file is cut off")
        found.setdefault(kind, data[start - size : start])
    return found.get(b"JSON", b""), found.get(b"BIN\0", b"")


def _posed(
    file: _File, chosen: set[int], channels: _Channels, human: dict[str, int]
) -> tuple[Skeleton, Array, float]:
    names = [str(one.get("name") or f"node {i}") for i, one in enumerate(file.nodes)]
    parents = file.parents()
    tree = Tree(names, parents)
    needed: set[int] = set()  # what was chosen, and what is above
    for node in chosen:
        while node >= 0 and node not in needed:
            needed.add(node)
            node = parents[node]
    count = int(max([0.0, *(times[-1] for times, _, _ in channels.values())]) * _FPS + 1e-6) + 1
    if count * len(needed) > _MOST_TRANSFORMS:
        what = f"{errors.counted(count, 'frame')} of {errors.counted(len(needed), 'node')}"
        _fail("animation", f"{what}, expected at most {_MOST_TRANSFORMS:,} in all")
    times = np.arange(count) / _FPS
    bones = [node for node in tree.order if node in chosen]
    number = {node: i for i, node in enumerate(bones)}
    poses = np.empty((1 + count, len(bones), 4, 4))  # at rest, and over the frames
    worlds: dict[int, Array] = {-1: np.eye(4)[None]}
    bone_above = {-1: -1}
    for node in filter(needed.__contains__, tree.order):
        above = parents[node]
        moved = {path: channels[node, path] for path in _PATHS if (node, path) in channels}
        worlds[node] = worlds[above] @ _local(file.nodes[node], moved, times)
        bone_above[node] = number.get(above, bone_above[above])
        if node in number:
            poses[:, number[node]] = worlds[node]
    if not np.abs(poses).max() <= LARGEST:
        _fail("animation", f"a bone is over {LARGEST:g} away, or not finite")
    poses = convert(poses, "matrices", source="gltf")
    skeleton = Skeleton(
        [names[node] for node in bones],
        [bone_above[node] for node in bones],
        poses[0],
        human={slot: number[node] for slot, node in human.items()},
    )
    return skeleton, poses[1:], _FPS


def _local(node: dict[str, Any], moved: dict[str, _Channel], times: Array) -> Array:
    """(1+F,4,4), or (1,4,4) of a node that does not move: relative to its parent, at rest and over the
    frames."""
    if "matrix" in node:
        return np.array(node["matrix"], float).reshape(1, 4, 4).transpose(0, 2, 1)
    values = {}
    for path, (_, default) in _PATHS.items():
        still = np.array(node.get(path, default), float).reshape(1, len(default))
        still = from_quaternions(still) if path == "rotation" else still
        over = [_sampled(*moved[path], times)] if path in moved else []
        values[path] = np.concatenate([still, *over])
    found = np.zeros((max(map(len, values.values())), 4, 4))
    found[:, :3, :3] = values["rotation"] * values["scale"][:, None]
    found[:, :3, 3] = values["translation"]
    found[:, 3, 3] = 1
    return found


def _sampled(keys: Array, values: Array, kind: str, times: Array) -> Array:
    """(F,3), or rotations (F,3,3); appendix C of the specification."""
    first = np.clip(np.searchsorted(keys, times, "right") - 1, 0, len(keys) - 1)
    after = np.minimum(first + 1, len(keys) - 1)
    length = np.maximum(keys[after] - keys[first], 1e-9)[:, None]
    t = np.clip((times - keys[first])[:, None] / length, 0, 1) * (after > first)[:, None]
    if kind == "CUBICSPLINE":
        (_, start, leave), (arrive, end, _) = (np.moveaxis(values[i], 1, 0) for i in (first, after))
        found = (1 + 2 * t) * (1 - t) ** 2 * start + t**2 * (3 - 2 * t) * end
        found += length * t * (1 - t) * ((1 - t) * leave - t * arrive)
    else:
        t = np.zeros_like(t) if kind == "STEP" else t
        start, end = values[first], values[after]
        if start.shape[1] == 4:
            return slerp(from_quaternions(start), from_quaternions(end), t)
        found = start + t * (end - start)
    return from_quaternions(found) if found.shape[1] == 4 else found

# SPDX-License-Identifier: MIT
"""Writes glTF, VRM and VRMA files by their specifications. Shares no code with the reader."""

import base64
import json
import struct

import numpy as np

_TYPES = {"<f4": 5126, "<i2": 5122, "<u1": 5121}
_KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


def quaternions(turns):
    """x y z w of matrices (F,3,3), by the eigenvector of the symmetric 4x4 form (Bar-Itzhack)."""
    out = []
    for m in turns:
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = m
        k = [
            [xx - yy - zz, yx + xy, zx + xz, zy - yz],
            [yx + xy, yy - xx - zz, zy + yz, xz - zx],
            [zx + xz, zy + yz, zz - xx - yy, yx - xy],
            [zy - yz, xz - zx, yx - xy, xx + yy + zz],
        ]
        out.append(np.linalg.eigh(np.array(k))[1][:, -1])
    return np.array(out)


class File:
    """Nodes, and the animation of some of them."""

    def __init__(self, names, parents, rest):
        """rest (B,4,4): world matrices without scale, meters, y up."""
        locals_ = [
            m if p < 0 else np.linalg.inv(rest[p]) @ m for m, p in zip(rest, parents, strict=True)
        ]
        self.json = {
            "asset": {"version": "2.0"},
            "nodes": [
                {
                    "name": name,
                    "children": [child for child, above in enumerate(parents) if above == i],
                    "translation": m[:3, 3].tolist(),
                    "rotation": quaternions(m[None, :3, :3])[0].tolist(),
                }
                for i, (name, m) in enumerate(zip(names, locals_, strict=True))
            ],
            "accessors": [],
            "bufferViews": [],
        }
        for node in self.json["nodes"]:
            if not node["children"]:
                del node["children"]
        self.data = b""

    def skin(self):
        self.json["skins"] = [{"joints": list(range(len(self.json["nodes"])))}]

    def human(self, version, human):
        """The humanoid of "VRM" (0.x), "VRMC_vrm" (1.0) or "VRMC_vrm_animation"; {slot: node}."""
        bones = {slot: {"node": int(node)} for slot, node in human.items()}
        if version == "VRM":
            bones = [
                {"bone": slot, **bone, "useDefaultValues": True} for slot, bone in bones.items()
            ]
        self.json["extensions"] = {version: {"humanoid": {"humanBones": bones}}}

    def accessor(self, values, dtype="<f4", stride=0):
        array = np.asarray(values, dtype).reshape(len(values), -1)
        rows = [row.tobytes() for row in array]
        start, size = len(self.data), len(rows[0])
        self.data += b"".join(row + b"\xff" * (max(stride, size) - size) for row in rows)
        view = {"buffer": 0, "byteOffset": start, "byteLength": len(self.data) - start}
        self.data += b"\0" * (-len(self.data) % 4)
        self.json["bufferViews"].append(view | ({"byteStride": stride} if stride else {}))
        made = {"componentType": _TYPES[dtype], "count": len(rows), "type": _KINDS[array.shape[1]]}
        if dtype != "<f4":
            made["normalized"] = True
        self.json["accessors"].append({"bufferView": len(self.json["bufferViews"]) - 1, **made})
        return len(self.json["accessors"]) - 1

    def animate(self, node, path, times, values, interpolation="LINEAR", **storage):
        (animation,) = self.json.setdefault(
            "animations", [{"name": "take", "channels": [], "samplers": []}]
        )
        sampler = {"input": self.accessor(times), "output": self.accessor(values, **storage)}
        animation["samplers"].append({**sampler, "interpolation": interpolation})
        target = {"node": node, "path": path}
        animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": target})

    def dance(self, parents, poses, fps=30):
        """poses (F,B,4,4): world matrices without scale."""
        times = np.arange(len(poses)) / fps
        for i, above in enumerate(parents):
            local = poses[:, i] if above < 0 else np.linalg.inv(poses[:, above]) @ poses[:, i]
            self.animate(i, "rotation", times, quaternions(local[:, :3, :3]))
            if above < 0:
                self.animate(i, "translation", times, local[:, :3, 3])

    def glb(self):
        self.json["buffers"] = [{"byteLength": len(self.data)}]
        text = json.dumps(self.json).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
        chunks += struct.pack("<II", len(self.data), 0x004E4942) + self.data
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks

    def gltf(self, uri=None):
        uri = uri or "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
        return json.dumps(
            self.json | {"buffers": [{"byteLength": len(self.data), "uri": uri}]}
        ).encode()

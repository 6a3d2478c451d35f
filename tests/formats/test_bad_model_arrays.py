# SPDX-License-Identifier: MIT
"""`Model.from_arrays` refuses what no loaded model has, and names the item and its limit."""

import re

import mmdskin
import numpy as np
import pytest

Bone, Morph, Material = mmdskin.Bone, mmdskin.Morph, mmdskin.Material
make = mmdskin.Model.from_arrays
SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
CORNERS = [[0, 2, 1], [0, 3, 2]]
NAN, INF = float("nan"), float("inf")
BONES = [Bone("a"), Bone("b")]
BAD_VALUES = [
    ({"positions": [[0, NAN, 0]]}, "positions: vertex 0, component 1 is NaN"),
    (
        {"positions": SQUARE, "normals": [[0, 0, INF]] * 4},
        "normals: vertex 0, component 2 is infinite",
    ),
    ({"positions": SQUARE, "normals": [[0, 0, 1]]}, "normals: shape (1, 3), expected (4, 3)"),
    ({"positions": [[0, 0]]}, "positions: shape (1, 2), expected (V, 3)"),
    ({"positions": SQUARE, "triangles": [[0, 1, 2], [0, 1, 4]]}, "triangle 1: vertex 4 of 4"),
    ({"positions": SQUARE, "triangles": [[0, 1, -1]]}, "triangle 0: vertex -1 of 4"),
    (
        {"positions": SQUARE, "additional_uvs": np.zeros((5, 1, 4))},
        "additional_uvs: shape (5, 1, 4), expected (4, n, 4)",
    ),
    (
        {"positions": SQUARE, "bone_indices": np.zeros((4, 1, 1), int)},
        "bone_indices: shape (4, 1, 1), expected (4, K)",
    ),
    ({"positions": SQUARE, "additional_uvs": np.zeros((4, 5, 4))}, "5 additional UVs, limit 4"),
    ({"positions": SQUARE, "bone_indices": [0, 1, 2, 0], "bones": BONES}, "vertex 2: bone 2 of 2"),
    (
        {"positions": SQUARE, "bone_indices": [[0] * 5] * 4},
        "bone_indices: width 5, expected 1 to 4",
    ),
    ({"positions": SQUARE, "bone_indices": [[0, 1]] * 4}, "bone_weights: missing"),
    ({"positions": SQUARE, "bone_weights": [[1]] * 4}, "bone_indices: missing"),
    ({"positions": SQUARE, "deform": [0] * 4}, "bone_indices: missing"),
    (
        {"bone_indices": [[0, 1]], "bone_weights": [[0.5, 0.2]]},
        "vertex 0: its weights add up to 0.7, expected 1",
    ),
    (
        {"bone_indices": [[0, 1]], "bone_weights": [[0, 0]]},
        "vertex 0: its weights add up to 0, expected 1",
    ),
    ({"bone_indices": [[0, -1]], "bone_weights": [[0.5, 0.5]]}, "vertex 0: weight 0.5 has no bone"),
    (
        {"bone_indices": [[0]], "bone_weights": [[NAN]]},
        "bone_weights: vertex 0, component 0 is NaN",
    ),
    (
        {"bone_indices": [[0, 1]], "bone_weights": [[0.5, 0.2]], "deform": [1]},
        "vertex 0: its weights add up to 0.7, expected 1",
    ),
    (
        {"bone_indices": [[0, 1]], "bone_weights": [[0.5, 0.5]], "deform": [5]},
        "vertex 0: deform type 5 of 5",
    ),
    (
        {"bone_indices": [[0, 1]], "bone_weights": [[0.5, 0.5]], "deform": [3]},
        "vertex 0 is SDEF, but sdef is missing",
    ),
    ({"bones": [Bone("a"), Bone("b", parent=40)]}, "bone 1: parent 40 of 2"),
    ({"bones": [Bone("a", parent=-2)]}, "bone 0: parent -2 of 1"),
    (
        {"bones": [Bone("a", parent=1), Bone("b", parent=0)]},
        "bone 0: it is among its own ancestors",
    ),
    ({"bones": [Bone("a", parent=0)]}, "bone 0: it is among its own ancestors"),
    ({"bones": [Bone("a", position=(0, 1e39, 0))]}, "bone 0: position is infinite"),
    ({"bones": [Bone("a", position=(0, 1))]}, "bones[0].position: length 2, expected 3"),
    ({"bones": [Bone("a", flags=0x10000)]}, "bones[0].flags: 65536, expected 0 to 65535"),
    ({"bones": [Bone("a", tail_bone=3)]}, "bone 0: tail bone 3 of 1"),
    ({"bones": [Bone("a", append=mmdskin.Append(2))]}, "bone 0: append source 2 of 1"),
    (
        {"bones": [Bone("a", append=(0, 1, False))]},
        "bones[0].append: appends neither rotation nor translation",
    ),
    ({"bones": [Bone("a", ik=mmdskin.IK(1))]}, "bone 0: IK target 1 of 1"),
    ({"bones": [Bone("a", ik=(0, 1, 1, [(1,)]))]}, "bone 0: IK link 1 of 1"),
    (
        {"bones": [Bone("a", ik=(0, 1, 1, [(0, (1, 0, 0), (0, 0, 0))]))]},
        "bone 0: IK link 0: lower limit 1 is above the upper limit 0",
    ),
    (
        {"bones": [Bone("a", ik=(0, 1, 1, [(0, (1, 0, 0))]))]},
        "bones[0].ik.links[0].upper: expected both limits or neither",
    ),
    ({"bones": [Bone("a\0b")]}, "bone 0: name is not UTF-8, contains a NUL or is too long"),
    ({"bones": [Bone("\udc80")]}, "bone 0: name is not UTF-8, contains a NUL or is too long"),
    ({"bones": [Bone("\ud800")]}, "bones[0].name: unpaired surrogate"),
    ({"name": "a\0"}, "name: not UTF-8, contains a NUL or is too long"),
    ({"textures": ["a\0"]}, "texture 0: path is not UTF-8, contains a NUL or is too long"),
    (
        {"morphs": [Morph("m", kind="wave")]},
        'morphs[0].kind: "wave" is unknown, expected "group", "vertex"',
    ),
    (
        {"morphs": [("m", "", 4, "vertex", [4], [[0, 0, 0]])], "positions": SQUARE},
        "morph 0, offset 0: vertex 4 of 4",
    ),
    ({"morphs": [("m", "", 4, "group", [0, 1], [[1], [1]])]}, "morph 0, offset 1: morph 1 of 1"),
    ({"morphs": [("m", "", 4, "bone", [0], [[0] * 7])]}, "morph 0, offset 0: bone 0 of 0"),
    (
        {"morphs": [("m", "", 4, "material", [-2], [[0] * 29])]},
        "morph 0, offset 0: material -2 of 0",
    ),
    (
        {"morphs": [("m", "", 4, "material", [-1], [[2] + [0] * 28])]},
        "morph 0, offset 0: operation 2, expected 0 or 1",
    ),
    (
        {"morphs": [("m", "", 4, "vertex", [0], [[0, NAN, 0]])], "positions": SQUARE},
        "morph 0, offset 0: value 1 is NaN",
    ),
    (
        {"morphs": [("m", "", 4, "vertex", [0, 1], [[0, 0, 0]])]},
        "morphs[0].values: shape (1, 3), expected (2, 3)",
    ),
    (
        {"morphs": [("m", "", 4, "uv", [0], [[0, 0]])]},
        "morphs[0].values: shape (1, 2), expected (1, 4)",
    ),
    (
        {"materials": [Material("m", texture=2)], "textures": ["a", "b"]},
        "material 0: texture 2 of 2",
    ),
    ({"materials": [Material("m", toon=10, shared_toon=True)]}, "material 0: shared toon 10 of 10"),
    (
        {"materials": [Material("m", index_count=4)]},
        "material 0: index_count 4, expected a multiple of 3",
    ),
    (
        {"materials": [Material("m", index_count=9)], "positions": SQUARE, "triangles": CORNERS},
        "material 0: indices up to 9, but the triangles have 6",
    ),
    ({"materials": [Material("m", edge_size=NAN)]}, "material 0: edge_size is NaN"),
    (
        {"materials": [Material("m", sphere_mode="spin")]},
        'materials[0].sphere_mode: "spin" is unknown',
    ),
    (
        {"display_frames": [("f", "", False, [("bone", 3)])], "bones": BONES},
        "display frame 0: bone 3 of 2",
    ),
    (
        {"display_frames": [("f", "", False, [("hand", 0)])]},
        'display_frames[0].elements[0]: "hand" is unknown, expected "bone" or "morph"',
    ),
    ({"rigid_bodies": [mmdskin.RigidBody("r", bone=1)]}, "rigid body 0: bone 1 of 0"),
    ({"rigid_bodies": [mmdskin.RigidBody("r", mass=INF)]}, "rigid body 0: mass is infinite"),
    (
        {"rigid_bodies": [mmdskin.RigidBody("r", group=256)]},
        "rigid_bodies[0].group: 256, expected 0 to 255",
    ),
    ({"joints": [mmdskin.Joint("j", body_b=0)]}, "joint 0: rigid body 0 of 0"),
    (
        {"joints": [mmdskin.Joint("j", rotation_upper=(NAN, 0, 0))]},
        "joint 0: rotation_upper is NaN",
    ),
    ({"version": 2.2}, "version: 2.2, expected 2 or 2.1"),
    ({"version": NAN}, "version: nan, expected 2.0 or 2.1"),
]


@pytest.mark.parametrize("given, text", BAD_VALUES, ids=[text for _, text in BAD_VALUES])
def test_a_bad_value_is_refused_by_name(given, text):
    if "bone_indices" in given and "positions" not in given:
        given = {"positions": [[0, 0, 0]], "bones": BONES, **given}
    with pytest.raises(ValueError, match="^" + re.escape(text)):
        make(**given)


class Lookalike(str):
    """Shown as another text, and equal to nothing."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


BAD_TYPES = [
    ({"bones": 1}, "bones: expected a sequence, not <class 'int'>"),
    ({"bones": [1]}, "bones[0]: expected a Bone, not <class 'int'>"),
    ({"bones": ["a"]}, "bones[0]: expected a Bone, not <class 'str'>"),
    ({"bones": [()]}, "bones[0]: expected a Bone, not <class 'tuple'>"),
    ({"bones": [("a",) * 20]}, "bones[0]: expected a Bone, not <class 'tuple'>"),
    ({"bones": [{}]}, "bones[0]: the field 'name' of a Bone is missing"),
    ({"bones": [{"name": "a", "nmae": 1}]}, "bones[0]: a Bone has no field 'nmae'"),
    ({"bones": [{"name": "a", Lookalike("name"): 1}]}, "bones[0]: a Bone has no field 'name'"),
    ({"bones": [Bone("a", ik={})]}, "bones[0].ik: the field 'target' of an IK is missing"),
    ({"bones": [Bone("a", ik={"tip": 1})]}, "bones[0].ik: the field 'target' of an IK is missing"),
    ({"bones": [{"name": 1}]}, "bones[0].name: expected a str, not <class 'int'>"),
    (
        {"bones": [Bone("a", parent=0.5)]},
        "bones[0].parent: expected an integer, not <class 'float'>",
    ),
    (
        {"bones": [Bone("a", position=("x", 0, 0))]},
        "bones[0].position: expected a number, not <class 'str'>",
    ),
    ({"bones": [Bone("a", ik=3)]}, "bones[0].ik: expected an IK, not <class 'int'>"),
    ({"textures": "a.png"}, "textures: expected a sequence of names, not a str"),
    ({"name": b"a"}, "name: expected a str, not <class 'bytes'>"),
    ({"triangles": [[0.5, 1, 2]]}, "triangles: "),
    ({"position": SQUARE}, "'position' is an invalid keyword argument for from_arrays()"),
]


@pytest.mark.parametrize("given, text", BAD_TYPES, ids=[text for _, text in BAD_TYPES])
def test_a_bad_type_is_refused_by_name(given, text):
    with pytest.raises(TypeError, match="^" + re.escape(text)):
        make(**given)


def test_replace_is_named_in_errors_of_its_arguments():
    model = make(SQUARE, bones=[Bone("a")])
    with pytest.raises(TypeError, match=r"^'position' is an invalid keyword .* for replace\(\)$"):
        model.replace(position=SQUARE)
    with pytest.raises(ValueError, match=r"^positions: 2 vertices, but the model has 4: replace "):
        model.replace(positions=SQUARE[:2])


@pytest.mark.parametrize("name", ["positions", "bone_indices", "bones", "name", "version"])
def test_an_ellipsis_is_no_value(name):
    """Also for `replace`, within which it stands for what the model has."""
    for function in (make, make(SQUARE).replace):
        with pytest.raises(TypeError, match=f"^{name}: expected a value, not <class 'ellipsis'>$"):
            function(**{name: ...})

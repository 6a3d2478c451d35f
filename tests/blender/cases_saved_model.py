# SPDX-License-Identifier: GPL-3.0-or-later
"""A PMX that Model.save has written imports as what it was made from: arrays, or a PMD."""

import os
import sys

import imported
import numpy as np
import scene
from files import pmd_file, small


def native():
    return sys.modules["addon_package"].blender.native.load()


class FromArrays(imported.Case):
    """A leg with IK, a morph, two materials and rigid bodies."""

    points = np.float32([[0, 0, 0], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 2, 1], [0, 2, 0]])
    triangles = np.int32([[0, 1, 2], [0, 2, 3], [3, 2, 4], [3, 4, 5]])
    shares = np.float32([1, 1, 0.5, 0.5, 0, 0])

    def setUp(self):
        super().setUp()
        mmdskin = native()
        knee = mmdskin.IKLink(1, (-np.pi, 0, 0), (-0.01, 0, 0))
        model = mmdskin.Model.from_arrays(
            self.points,
            self.triangles,
            bone_indices=[[0, 1]] * 6,
            bone_weights=np.stack([1 - self.shares, self.shares], 1),
            bones=[
                mmdskin.Bone("左足", "leg_L", (0, 2, 0), tail_bone=1),
                mmdskin.Bone("左ひざ", "knee_L", (0, 1, 0), parent=0, tail_bone=2),
                mmdskin.Bone("左足首", "ankle_L", (0, 0, 0), parent=1),
                mmdskin.Bone("左足ＩＫ", ik=mmdskin.IK(2, links=(knee, mmdskin.IKLink(0)))),
            ],
            morphs=[("ふくらみ", "", 4, "vertex", [4, 5], [[1, 0, 0], [0, 0, -1]])],
            materials=[mmdskin.Material("布", index_count=6), {"name": "革", "flags": 0x1F}],
            rigid_bodies=[mmdskin.RigidBody("体", bone=0), mmdskin.RigidBody("足", bone=1)],
            joints=[mmdskin.Joint("継", body_a=0, body_b=1)],
            name="見本",
        )
        self.path = os.path.join(self.folder, "見本.pmx")
        model.save(self.path)
        self.model = self.load(self.path)

    def test_mesh_weights_and_materials_are_the_arrays(self):
        mesh = self.model.mesh.data
        self.assert_close(imported.read(mesh.vertices, "co", 3), scene.in_blender(self.points))
        corners = imported.read(mesh.loops, "vertex_index", 1, np.int32).reshape(-1, 3)
        np.testing.assert_array_equal(corners, self.triangles[:, ::-1])
        weights = self.model.weights()
        self.assertEqual(weights["足.L"], {2: 0.5, 3: 0.5, 4: 1, 5: 1})
        self.assertEqual(weights["ひざ.L"], {0: 1, 1: 1, 2: 0.5, 3: 0.5})
        self.assertEqual(weights.get("足首.L", {}), {})
        self.assertEqual([m.name for m in mesh.materials], ["布", "革"])
        numbers = imported.read(mesh.polygons, "material_index", 1, np.int32)
        self.assertEqual(numbers.tolist(), [0, 0, 1, 1])

    def test_bones_ik_morph_and_bodies_are_the_records(self):
        bones = {bone["mmd_name_j"]: bone for bone in self.model.armature.pose.bones}
        self.assert_close(bones["左ひざ"].bone.head_local, np.array((0, 0, 1)) * scene.SCALE)
        self.assertEqual(bones["左ひざ"].parent, bones["左足"])
        ik = [c for bone in bones.values() for c in bone.constraints if c.type == "IK"]
        self.assertEqual([c.chain_count for c in ik], [2])
        moved = self.model.key("ふくらみ") - self.model.key(None)
        expected = np.zeros((6, 3), np.float32)
        expected[4:] = [[1, 0, 0], [0, 0, -1]]
        self.assert_close(moved, scene.in_blender(expected))


class FromPmd(imported.Case):
    def test_a_pmd_and_the_pmx_saved_from_it_import_alike(self):
        source = self.write(pmd_file.write(small.small_pmd()), "見本.pmd")
        target = os.path.join(self.folder, "二.pmx")
        native().load_model(source).save(target)
        first, second = self.load(source), self.load(target)
        for model in (first, second):
            self.assertGreater(len(model.mesh.data.polygons), 0)
        one, other = first.mesh.data, second.mesh.data
        self.assert_close(
            imported.read(other.vertices, "co", 3), imported.read(one.vertices, "co", 3)
        )
        self.assertEqual(second.weights(), first.weights())
        self.assertEqual(
            [m.name.split(".")[0] for m in other.materials],
            [m.name.split(".")[0] for m in one.materials],
        )
        keys = [list(mesh.shape_keys.key_blocks.keys()) for mesh in (one, other)]
        self.assertEqual(*keys)
        for name in keys[0]:
            self.assert_close(second.key(name), first.key(name))
        rests = [
            {bone.name: np.array(bone.matrix_local) for bone in model.armature.data.bones}
            for model in (first, second)
        ]
        self.assertEqual(*map(set, rests))
        for name, matrix in rests[0].items():
            self.assert_close(rests[1][name], matrix, message=name)

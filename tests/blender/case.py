# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the cases: models, the baked scene and a record of everything a bake may change."""

import contextlib
import hashlib
import io
import os
import sys
import tempfile
import timeit
import unittest

import bpy
import fingerprint
import numpy as np
import scene
from files import locations, pmx_file

BAR = 1e-4  # model units


def folder(test):
    """A folder for files, removed after the test."""
    temporary = tempfile.TemporaryDirectory()
    test.addCleanup(temporary.cleanup)
    return temporary.name


def write_model(test, pmx):
    """The path of a file of the model, removed after the test."""
    path = os.path.join(folder(test), "model.pmx")
    with open(path, "wb") as file:
        file.write(pmx_file.write(pmx))
    return path


def shared_model(name):
    path = locations.MODELS / name
    if not path.exists():
        raise unittest.SkipTest(locations.not_shipped(path))
    return path


@contextlib.contextmanager
def unchanged(test):
    """At the end of the block, the file's content is as before it."""
    before = fingerprint.of_file()
    yield
    test.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])


@contextlib.contextmanager
def reports():
    """The lines that operators report within the block, as Blender prints them: "Info: …"."""
    said, printed = [], io.StringIO()
    with contextlib.redirect_stdout(printed):
        yield said
    said += printed.getvalue().splitlines()


def live_errors():
    """The errors of live meshes, of objects in the file."""
    live_of = addon().preview.driver_function.live_of
    blocks = [*bpy.data.meshes, *(obj for obj in bpy.data.objects if obj.type == "ARMATURE")]
    return [str(live_of(block).error) for block in blocks if live_of(block).error]


def physics_problems():
    """The reasons why the preview shows no physics, for objects in the file."""
    state_of = addon().physics.cache.state_of
    armatures = [obj for obj in bpy.data.objects if obj.type == "ARMATURE"]
    return [state_of(obj).problem_text for obj in armatures if state_of(obj).problem_text]


def addon():
    return sys.modules["addon_package"]


def bake_job(mesh, target, frames, pose=None, **options):
    """A bake of frames of a model, step by step; `pose`: settings of its pose source."""
    model = addon().scene.scene_model.model_of(mesh, bpy.context.view_layer)
    wanted = [(model, pose, addon().pose.deformation.Deformation())]
    chosen = addon().bake.frames.Options(target, tuple(frames), True, **options)
    steps = addon().bake.job.bake(bpy.context, wanted, chosen)
    return addon().operator_base.modal_job.Job(steps, len(frames))


class Case(unittest.TestCase):
    """Each test starts with a small model that has SDEF vertices and a vertex morph."""

    def setUp(self):
        scene.clear()
        self.scene = scene.Scene(small_model())
        self.mesh = self.scene.mesh
        scene.pose(self.scene)

    def assert_refused(self, words, **options):
        """Baking reports a sentence with `words` and changes nothing."""
        before = state(self.mesh)
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.mmdskin.bake(**options)
        self.assertIn(words, str(caught.exception))
        self.assertEqual(before, state(self.mesh))

    def assert_close(self, actual, expected, bar=BAR * scene.SCALE):
        self.assertEqual(actual.shape, expected.shape)
        self.assertLessEqual(float(np.abs(actual - expected).max()), bar)


def small_model():
    """A bent tube with two bones, every deform type that mmd_tools can store, and a morph."""
    rings, sides = 17, 12
    along = np.repeat(np.linspace(0, 8, rings), sides)
    angle = np.tile(np.arange(sides) * 2 * np.pi / sides, rings)
    positions = np.stack([along, 10 + np.cos(angle), np.sin(angle)], 1).astype(np.float32)
    count = len(positions)
    w0 = np.clip((6 - along) / 4, 0, 1).astype(np.float32)
    blended = (w0 > 0) & (w0 < 1)
    indices = np.full((count, 4), -1, np.int32)
    weights = np.zeros((count, 4), np.float32)
    # The higher bone comes first, so that the order of groups and of the file differ.
    indices[:, 0], indices[:, 1] = 2, 1
    weights[:, 0], weights[:, 1] = 1 - w0, w0
    indices[~blended, 0] = np.where(w0[~blended] == 1, 1, 2)
    indices[~blended, 1], weights[~blended, 0], weights[~blended, 1] = -1, 1, 0
    deform = np.where(blended, scene.SDEF, 0).astype(np.uint8)
    deform[blended & (angle > 4)] = 1
    four = blended & (angle > 5)
    deform[four] = 2
    indices[four], weights[four] = (0, 1, 2, 3), (0.1, 0.4, 0.3, 0.2)
    sdef = np.zeros((count, 3, 3), np.float32)
    chosen = deform == scene.SDEF
    sdef[chosen] = np.array([(4, 10, 0), (6, 10.2, 0), (2, 10, 0.1)], np.float32)
    row, next_row = np.arange(sides), (np.arange(sides) + 1) % sides
    quads = [
        (r * sides + row, r * sides + next_row, (r + 1) * sides + next_row, (r + 1) * sides + row)
        for r in range(rings - 1)
    ]
    triangles = np.concatenate(
        [np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]) for a, b, c, d in quads]
    )
    bones = [
        ("センター", (0, 10, 0), -1),
        ("左腕", (0, 10, 0), 0),
        ("左ひじ", (4, 10, 0), 1),
        ("左手首", (8, 10, 0), 2),
    ]
    moved = np.arange(0, count, 3)
    offsets = np.full((len(moved), 3), 0.3, np.float32)
    return pmx_file.PMX(
        name="小さい",
        positions=positions,
        normals=np.stack([0 * along, np.cos(angle), np.sin(angle)], 1),
        uvs=np.zeros((count, 2), np.float32),
        additional_uvs=np.zeros((count, 0, 4), np.float32),
        edge_scales=np.ones(count, np.float32),
        deform=deform,
        bone_indices=indices,
        bone_weights=weights,
        sdef=sdef,
        triangles=triangles.astype(np.int32),
        bones=[pmx_file.Bone(name, position=at, parent=parent) for name, at, parent in bones],
        morphs=[pmx_file.Morph("ふくらみ", kind=1, indices=moved, values=offsets)],
        rigid_bodies=[pmx_file.RigidBody("体")],
        joints=[pmx_file.Joint("関節")],
    )


def state(obj):
    """Everything of a mesh object that a bake may change, exactly."""
    keys = obj.data.shape_keys
    return {
        "keys": [_key(key) for key in keys.key_blocks] if keys else None,
        "active": (obj.active_shape_key_index, obj.show_only_shape_key),
        "modifiers": [
            (
                m.name,
                m.show_viewport,
                m.show_render,
                getattr(m, "vertex_group", ""),
                getattr(m, "invert_vertex_group", 0),
            )
            for m in obj.modifiers
        ],
        "groups": [group.name for group in obj.vertex_groups],
        "properties": {key: obj[key] for key in list(obj.keys()) if key != "mmd_type"},
        "vertices": _bytes(obj.data.vertices),
    }


def digest(obj):
    """A hash of the state, to compare between processes."""
    return hashlib.sha256(repr(state(obj)).encode()).hexdigest()


def _key(key):
    return key.name, key.value, key.mute, key.vertex_group, key.relative_key.name, _bytes(key.data)


def _bytes(collection):
    flat = np.empty(3 * len(collection), np.float32)
    collection.foreach_get("co", flat)
    return flat.tobytes()


def times_in_large_scene(test, *works):
    """How many times as long each takes where there are 10,000 other objects, until the test ends."""
    alone = [_least_time(work) for work in works]
    for number in range(10_000):
        bpy.data.objects.new(f"other {number}", bpy.data.meshes.new(f"other {number}"))
    others = [one for one in bpy.data.meshes if one.name.startswith("other ")]
    test.addCleanup(bpy.data.batch_remove, others)
    return np.divide([_least_time(work) for work in works], alone)


def _least_time(work):
    """Of one call, on a quiet machine; the first call may prepare what later ones use."""
    work()
    return min(timeit.repeat(work, number=5, repeat=20))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Time of a baked frame in Blender, for each target and source of the pose.

blender -b --factory-startup -P blender_bake.py -- --zip mmdskin.zip [MODEL MOTION]

Processor time of a model that is built for the purpose; or the time that passes for a model's file
with a motion.
"""

import contextlib
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import blender_script  # noqa: E402
import numpy as np  # noqa: E402
from files import motion_file, pmx_file  # noqa: E402

FRAMES, ROUNDS = 1000, 3


def measured(folder):
    """{row: ms per frame, or a ratio}; `scene` is the time that Blender itself takes to show the frames.

    What a bake takes once, about 0.1 s, is part of it: 0.1 ms per frame of 1,000.
    """
    import blender_model
    import bpy

    built = blender_model.build(FRAMES)
    model, motion = folder / "bench.pmx", folder / "bench.vmd"
    model.write_bytes(pmx_file.write(built.pmx))
    motion.write_bytes(motion_file.write_vmd(dance(built.pmx)))
    files = {"source": "MOTION", "model_path": str(model), "motion_path": str(motion)}
    files["motion_real_time"] = False
    cache = {"target": "MESH_CACHE", "folder": str(folder)}
    rows = {
        "scene": None,
        "VMD to PC2": {**cache, **files},
        "scene to PC2": cache,
        "VMD to keys": {"target": "SHAPE_KEYS", **files},
        "scene to keys": {"target": "SHAPE_KEYS"},
    }
    times = {name: [] for name in rows}
    for _ in range(ROUNDS):  # alternating, so that a busy machine slows all of them
        for name, row in rows.items():
            start = time.process_time()
            if row is None:
                for frame in range(1, FRAMES + 1):
                    bpy.context.scene.frame_set(frame)
            else:
                options = {"range": "CUSTOM", "frame_start": 1, "frame_end": FRAMES, **row}
                bpy.ops.mmdskin.bake(**options)
            times[name].append(1000 * (time.process_time() - start) / FRAMES)
            with contextlib.suppress(RuntimeError):
                bpy.ops.mmdskin.clear_bake()
            bpy.context.scene.frame_set(1)
    found = {name: min(values) for name, values in times.items()}
    for target in ("PC2", "keys"):
        relative = found[f"scene to {target}"] / found["scene"]
        found[f"scene to {target}, relative to the scene"] = relative
    return {name: round(value, 2) for name, value in found.items()}


def measured_of_file(options, folder):
    """{row: ms per frame} of a published model, time that passes: with Blender's own to show the
    frames, and with what a bake takes once.
    """
    import bpy
    import scene

    scene.clear()
    bpy.ops.mmdskin.import_model(filepath=options.model, look=False)
    bpy.ops.mmdskin.import_motion(filepath=options.motion)
    files = {"source": "MOTION", "model_path": options.model, "motion_path": options.motion}
    files["motion_real_time"] = False
    targets = {
        "mesh cache": {"target": "MESH_CACHE", "folder": str(folder)},
        "shape keys": {"target": "SHAPE_KEYS"},
    }
    poses = {"motion file": files, "armature": {"source": "ARMATURE"}}
    rows = {
        f"{pose} to {target}": {**targets[target], **poses[pose]}
        for pose in poses
        for target in targets
    }
    times = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, row in rows.items():
            start = time.perf_counter()
            bpy.ops.mmdskin.bake(range="CUSTOM", frame_start=1, frame_end=FRAMES, **row)
            times[name].append(1000 * (time.perf_counter() - start) / FRAMES)
            bpy.ops.mmdskin.clear_bake()
            bpy.context.scene.frame_set(1)
    return {name: round(min(values), 2) for name, values in times.items()}


def dance(pmx):
    """Three keys per bone."""
    numbers = np.random.default_rng(2)
    keys = []
    for bone in pmx.bones:
        for frame in (0, FRAMES // 2, FRAMES):
            turn = np.append(numbers.uniform(-0.4, 0.4, 3), 1.0)
            turn /= np.linalg.norm(turn)
            keys.append(motion_file.BoneKey(bone.name, frame, (0, 0, 0), tuple(turn)))
    return motion_file.Keys("bench", keys, [])


def in_new_folder(options):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        return measured_of_file(options, folder) if options.model else measured(folder)


if __name__ == "__main__":
    parser = blender_script.parser(__doc__)
    parser.add_argument("model", nargs="?")
    parser.add_argument("motion", nargs="?")
    blender_script.run(parser, in_new_folder)

# SPDX-License-Identifier: GPL-3.0-or-later
"""A model imported by mmd_tools, shown by the Armature modifier, by mmd_tools' SDEF and live by mmdskin:
milliseconds per frame, and the distance from `mmdskin.skin()`, on screen and in an animation render.

python-with-bpy tests/bench/beside_mmd_tools.py --zip dist/mmdskin-….zip [--mmd-tools mmd_tools.zip] [FILE]
blender -b --factory-startup -P tests/bench/beside_mmd_tools.py -- (the same arguments)

Without a file it measures our dancer. The last line of the output is the result as JSON.
"""

import math
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import blender_script  # noqa: E402

FRAMES = 30
RENDERED = (5, 8)
ROUNDS = 5


def measured(options):
    if options.mmd_tools:
        os.environ["MMDSKIN_MMD_TOOLS"] = options.mmd_tools
    import bpy
    import imported
    from recorder import Recorder

    with tempfile.TemporaryDirectory() as folder, imported.MmdTools():
        bpy.utils.register_class(Recorder)
        result = Scene(options.file or write_dancer(folder)).measured()
        bpy.utils.unregister_class(Recorder)
    return result


def write_dancer(folder):
    from sample.character import model

    return str(model.write_character(folder))


class Scene:
    """One model, imported by mmd_tools, whose bones move from frame 1 to the last."""

    def __init__(self, file):
        import bpy
        import imported
        import scene

        scene.clear()
        bpy.ops.mmd_tools.import_model(filepath=file)
        root = next(obj for obj in bpy.data.objects if obj.mmd_type == "ROOT")
        self.objects = imported.Imported(root)
        self.objects.mesh.name = "model_mesh"  # the recorder looks for this name
        self.mmdskin = sys.modules["addon_package"].native.load()
        self.model = self.mmdskin.load_model(file)
        self.bones = {bone.mmd_bone.name_j: bone for bone in self.objects.armature.pose.bones}
        self.move()
        self.variants = {
            "plain": (lambda: None, lambda: None),
            "mmd_tools": (self.bind, self.unbind),
            "mmdskin": (lambda: self.live(True), lambda: self.live(False)),
        }

    def move(self):
        import bpy
        from mathutils import Euler

        numbers = random.Random(1)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, FRAMES
        for bone in self.bones.values():
            bone.rotation_mode = "QUATERNION"
            for frame in (1, FRAMES):
                angles = [math.radians(numbers.uniform(-40, 40)) for _ in range(3)]
                bone.rotation_quaternion = Euler(angles).to_quaternion()
                bone.keyframe_insert("rotation_quaternion", frame=frame)

    def bind(self):
        self.select()
        import bpy

        bpy.ops.mmd_tools.sdef_bind()

    def unbind(self):
        self.select()
        import bpy

        bpy.ops.mmd_tools.sdef_unbind()

    def live(self, on):
        self.objects.armature.mmdskin.preview = on

    def select(self):
        import scene

        scene.select(self.objects.mesh)

    def measured(self):
        sdef = int((self.model.deform == 3).sum())
        result = {"vertices": len(self.model.positions), "sdef": sdef, "ms": {}, "error": {}}
        seen = {variant: [] for variant in self.variants}
        for _ in range(ROUNDS):  # alternating, so that a busy machine slows all of them
            for variant, (on, off) in self.variants.items():
                on()
                seen[variant].append(1e3 * frame_seconds())
                off()
        result["ms"] = {variant: round(min(times), 2) for variant, times in seen.items()}
        for variant, (on, off) in self.variants.items():
            on()
            result["error"][variant] = {
                "on screen": self.screen_error(),
                "rendered": self.render_error(),
            }
            off()
        return result

    def expected(self):
        """Expected positions in mesh space, for the pose that the scene shows."""
        import bpy
        import numpy as np
        import scene

        bpy.context.view_layer.update()
        graph = bpy.context.evaluated_depsgraph_get()
        pose = self.objects.armature.evaluated_get(graph).pose.bones
        names = [self.bones[bone.name].name for bone in self.model.bones]
        to_file = np.linalg.inv(scene.TO_BLENDER)
        matrices = [
            to_file
            @ np.array(pose[name].matrix @ pose[name].bone.matrix_local.inverted())
            @ scene.TO_BLENDER
            for name in names
        ]
        return scene.in_blender(self.mmdskin.skin(self.model, np.float32(matrices)).positions)

    def screen_error(self):
        import bpy
        import scene

        errors = []
        for frame in range(1, FRAMES, 4):
            bpy.context.scene.frame_set(frame)
            errors.append(self.difference(scene.evaluated_positions(self.objects.mesh)))
        return max(errors)

    def render_error(self):
        import bpy
        import recorder

        scene = bpy.context.scene
        recorder.Recorder.seen = {}
        scene.frame_start, scene.frame_end = RENDERED
        scene.frame_set(1)
        with tempfile.TemporaryDirectory() as folder:
            recorder.prepare(scene, os.path.join(folder, "frame"))
            bpy.ops.render.render(animation=True)
        errors = []
        for (frame, _), shown in recorder.Recorder.seen.items():
            scene.frame_set(frame)
            errors.append(self.difference(shown))
        return max(errors)

    def difference(self, shown):
        """Largest distance, in units of the file."""
        import numpy as np
        import scene

        return round(float(np.linalg.norm(shown - self.expected(), axis=1).max()) / scene.SCALE, 6)


def frame_seconds():
    """Median seconds per frame in one pass over all frames."""
    import bpy

    times = []
    for frame in range(1, FRAMES + 1):
        start = time.perf_counter()
        bpy.context.scene.frame_set(frame)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    parser = blender_script.parser(__doc__)
    parser.add_argument("--mmd-tools", help="zip of mmd_tools")
    parser.add_argument("file", nargs="?")
    blender_script.run(parser, measured)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Cost per frame of 50 objects that are attached to bones of a live model, over the model alone.

python-with-bpy tests/bench/blender_attach.py --zip dist/mmdskin-….zip MODEL MOTION
blender -b --factory-startup -P tests/bench/blender_attach.py -- (the same arguments)

Milliseconds of processor time. The last line of the output is the result as JSON.
"""

import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import blender_script  # noqa: E402

OBJECTS = 50
FRAMES, ROUNDS = 30, 6


class Stage:
    """Two scenes with the same model: alone, and with attached objects. None is the window's, from
    which Blender copies poses back to the file.
    """

    def __init__(self, options):
        import bpy
        import scene

        self.bpy = bpy
        scene.clear()
        bpy.ops.mmdskin.import_model(filepath=options.model, look=False)
        root = bpy.context.view_layer.objects.active
        bpy.ops.mmdskin.import_motion(filepath=options.motion)
        self.armature = next(obj for obj in root.children if obj.type == "ARMATURE")
        self.armature.mmdskin.motion_path = options.motion
        self.armature.mmdskin.preview = True
        model = [root, *root.children_recursive]
        of_mesh = {group.name for obj in model if obj.type == "MESH" for group in obj.vertex_groups}
        bones = [bone.name for bone in self.armature.data.bones if bone.name in of_mesh]
        chosen = bones[:: max(1, len(bones) // OBJECTS)][:OBJECTS]
        attached = self.attached(chosen)
        own = [child for child in self.armature.children if child not in model]
        self.scenes = [self.scene(model), self.scene(model + own + attached)]

    def attached(self, bones):
        bpy, found = self.bpy, []
        for bone in bones:
            before = set(bpy.data.objects)
            for obj in bpy.context.selected_objects:
                obj.select_set(False)
            bpy.context.view_layer.objects.active = self.armature
            bpy.ops.mmdskin.attach(bone=bone)
            new = set(bpy.data.objects) - before
            found += [obj for obj in new if obj.type == "EMPTY"]
        assert len(found) == OBJECTS
        return found

    def scene(self, objects):
        new = self.bpy.data.scenes.new("stage")
        for obj in objects:
            new.collection.objects.link(obj)
        return new

    def measured(self):
        """{pose source: ms of the model alone, and what attached objects add}."""
        result = {}
        for source in ("MOTION", "IK"):
            self.armature.mmdskin.source = source
            self.bpy.context.view_layer.update()
            alone, attached = (quantile(times) for times in self.frames())
            result[source] = {
                "alone ms": round(alone, 2),
                "attached ms": round(attached - alone, 2),
            }
        return result

    def frames(self):
        """Milliseconds of each frame in each scene, in turn, so that a busy machine slows all."""
        times = [[] for _ in self.scenes]
        for _ in range(ROUNDS):
            for frame in range(100, 100 + FRAMES):
                for scene, taken in zip(self.scenes, times, strict=True):
                    start = time.process_time()
                    scene.frame_set(frame)
                    taken.append(1000 * (time.process_time() - start))
        return times


def quantile(times):
    """A tenth of the frames are faster: other programs slow the others."""
    return statistics.quantiles(times, n=10)[0]


if __name__ == "__main__":
    parser = blender_script.parser(__doc__)
    parser.add_argument("model")
    parser.add_argument("motion")
    blender_script.run(parser, lambda options: Stage(options).measured())

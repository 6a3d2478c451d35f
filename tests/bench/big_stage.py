# SPDX-License-Identifier: GPL-3.0-or-later
"""Many characters and objects: frames with one and with five live models, in turn, and with the Armature
modifier only; redraws of the panel and imports among other objects; memory a model.

python-with-bpy tests/bench/big_stage.py --zip dist/mmdskin-….zip MODEL MOTION
blender -b --factory-startup -P tests/bench/big_stage.py -- (the same arguments)

Milliseconds of processor time, medians. The last line of the output is the result as JSON.
"""

import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import blender_script  # noqa: E402

MODELS = 5
OBJECTS = 5000
FRAMES = 60


class Stage:
    """The scene of the window, and two others: with all of its models, and with the first of them.

    Blender copies poses of the window's scene back to the file's data, which takes time for each bone:
    so neither of the scenes that are compared is the window's.
    """

    def __init__(self, options):
        import bpy
        import scene

        self.bpy, self.options = bpy, options
        scene.clear()
        self.window = bpy.context.scene
        self.one, self.all = (bpy.data.scenes.new(name) for name in ("one", "all"))
        self.armatures, self.megabytes = [], []
        for _ in range(MODELS):
            before = resident()
            self.armatures.append(self.load())
            self.armatures[-1].mmdskin.preview = True
            self.window.frame_set(2)
            self.megabytes.append(round(resident() - before))
        root = self.armatures[0].parent
        for obj in (root, *root.children_recursive):
            self.one.collection.objects.link(obj)
        for obj in self.window.objects:
            self.all.collection.objects.link(obj)

    def load(self):
        self.bpy.ops.mmdskin.import_model(filepath=self.options.model, look=False)
        root = self.bpy.context.view_layer.objects.active
        self.bpy.ops.mmdskin.import_motion(filepath=self.options.motion)
        return next(obj for obj in root.children if obj.type == "ARMATURE")

    def measured(self):
        live = self.frames()
        self.switch(False)
        plain = self.frames()
        self.switch(True)
        few = self.redraw()
        for number in range(OBJECTS):
            obj = self.bpy.data.objects.new(f"prop {number}", None)
            self.window.collection.objects.link(obj)
        self.bpy.context.view_layer.update()
        return {
            "live": live,
            "armature_modifier": plain,
            "redraw": [few, self.redraw()],
            "megabytes": self.megabytes,
        }

    def switch(self, on):
        for armature in self.armatures:
            armature.mmdskin.preview = on

    def frames(self):
        """[one model, all models, how many times as much each of all takes]."""
        times = {self.one: [], self.all: []}
        for frame in range(FRAMES):
            for shown, taken in times.items():
                taken.append(spent(lambda shown=shown, frame=frame: shown.frame_set(frame)))
        one, every = (statistics.median(taken[5:]) for taken in times.values())
        return [round(one, 2), round(every, 2), round(every / one / MODELS, 3)]

    def redraw(self):
        from cases_panel import redraw_as_it_is

        self.bpy.context.view_layer.objects.active = self.armatures[0]
        return round(
            statistics.median(spent(lambda: redraw_as_it_is(self.armatures[0])) for _ in range(15)),
            2,
        )


def spent(call):
    start = time.process_time()
    call()
    return 1000 * (time.process_time() - start)


def resident():
    """Megabytes of the process."""
    pages = int(pathlib.Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    parser = blender_script.parser(__doc__)
    parser.add_argument("model")
    parser.add_argument("motion")
    blender_script.run(parser, lambda options: Stage(options).measured())

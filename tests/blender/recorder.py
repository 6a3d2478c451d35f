# SPDX-License-Identifier: GPL-3.0-or-later
"""A render engine that records the mesh that Blender passes to it instead of drawing it.

As a script (`blender -b -P recorder.py FILE -a`) it writes each frame to $RECORDER_FOLDER.
"""

import os

import bpy
import numpy as np


class Recorder(bpy.types.RenderEngine):
    bl_idname = "MMDSKIN_RECORDER"
    bl_label = "Recorder"
    seen = {}  # (frame, view layer): positions of the watched mesh object
    watched = "model_mesh"

    def render(self, depsgraph):
        frame = depsgraph.scene.frame_current
        for instance in depsgraph.object_instances:
            if instance.object.name == self.watched:
                positions = positions_of(instance.object.data)
                Recorder.seen[frame, depsgraph.view_layer.name] = positions
                folder = os.environ.get("RECORDER_FOLDER")
                if folder:
                    np.save(os.path.join(folder, f"{frame}.npy"), positions)
        self.end_result(self.begin_result(0, 0, 4, 4))


def positions_of(mesh):
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def prepare(scene, path):
    """Make the scene render with the recorder into files that start with `path`."""
    render = scene.render
    render.engine, render.filepath = Recorder.bl_idname, path
    render.resolution_x = render.resolution_y = 4
    render.resolution_percentage = 100
    if scene.camera is None:
        scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
        scene.collection.objects.link(scene.camera)


if __name__ == "__main__":
    bpy.utils.register_class(Recorder)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Inside the windowed Blender: install the zip, open a posed sample and report the state to a file.

blender --factory-startup --python window_inside.py -- ZIP REPORT
"""

import json
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import addon_profile  # noqa: E402
import bpy  # noqa: E402
import case  # noqa: E402
import scene  # noqa: E402


def main(zip_path, report):
    bpy.context.preferences.view.show_splash = False
    addon_profile.install(zip_path)
    scene.clear()
    scene.pose(scene.Scene(case.small_model()), degrees=30)
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "sample.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    scene.select(bpy.data.objects["model_mesh"])

    def tick():
        mesh = bpy.data.objects["model_mesh"]  # by name: undo makes new objects
        write(report, {"mesh": case.digest(mesh), "keys": keys(mesh), "regions": regions()})
        return 0.1

    bpy.app.timers.register(tick, persistent=True, first_interval=0.5)


def keys(mesh):
    return [key.name for key in mesh.data.shape_keys.key_blocks]


def regions():
    """Rectangle (x, y from the top, width, height) of each region of the 3D view, by type."""
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    return {
        region.type: (
            region.x,
            window.height - region.y - region.height,
            region.width,
            region.height,
        )
        for region in area.regions
    }


def write(path, content):
    # Renamed when complete: the reader must not see half a file.
    pathlib.Path(f"{path}.part").write_text(json.dumps(content), "utf-8")
    os.replace(f"{path}.part", path)


main(*sys.argv[sys.argv.index("--") + 1 :])

# SPDX-License-Identifier: GPL-3.0-or-later
"""In the windowed Blender: open a moving sample and report to a file what the test asks for.

blender --factory-startup --python window_inside.py -- FOLDER START [ZIP]

START is "sample", "empty" or a function of window_scenes.py, which needs the add-on's zip.
FOLDER/report.json is renewed fifty times a second; while FOLDER/probe exists, with the names of an area
and a region, it also names the button under the mouse there. FOLDER/question has a number and a Python
expression: the report answers it. FOLDER/close closes every window but the first.
"""

import contextlib
import functools
import hashlib
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import addon_profile  # noqa: E402
import bpy  # noqa: E402
import case  # noqa: E402
import numpy as np  # noqa: E402
import scene  # noqa: E402
import window_scenes  # noqa: E402
from bpy_extras import view3d_utils  # noqa: E402

drawn = {"count": 0}


def main(folder, start, addon_zip=None):
    folder = pathlib.Path(folder)
    bpy.context.preferences.view.show_splash = False
    scene.clear()
    state = sample_state if start == "sample" else dancer_state
    if start == "sample":
        bpy.context.preferences.system.viewport_aa = "OFF"  # the processor draws
        dance(scene.Scene(case.small_model()))
    else:
        tidy_view()
    if addon_zip:
        state = any_state
        package = addon_profile.install(pathlib.Path(addon_zip))
        sys.modules["addon_package"] = sys.modules[package]
        getattr(window_scenes, start)(folder)
    path = str(folder / f"{start}.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    if start == "sample":
        scene.select(bpy.data.objects["model_mesh"])
    count = 0
    answer = [0, None, None]

    def tick():
        nonlocal count
        count += 1
        if (folder / "close").exists():
            (folder / "close").unlink()
            close_windows()
        if (folder / "question").exists():
            number, expression = json.loads((folder / "question").read_text("utf-8"))
            (folder / "question").unlink()
            answer[:] = number, *value_of(expression)
        found = {"tick": count, "answer": answer, **state(), "regions": regions(probed(folder))}
        write(folder / "report.json", found)
        return 0.02

    bpy.app.timers.register(tick, persistent=True, first_interval=0.5)


def value_of(expression):
    """(value, None), or (None, the error)."""
    names = {"bpy": bpy, "on_display": on_display, "points_hash": shown}
    try:
        return eval(expression, names), None
    except Exception as error:  # the test reports it
        return None, repr(error)


def dance(model):
    """Keys at frames 1 and 200, so that every frame has a different pose."""
    for frame, degrees in ((200, 60), (1, 30)):
        scene.pose(model, seed=frame, degrees=degrees)
        for bone in model.armature.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=frame)
            bone.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(1)


def tidy_view():
    """Textures, and nothing but the model."""
    for area in bpy.context.window_manager.windows[0].screen.areas:
        if area.type == "VIEW_3D":
            space = area.spaces.active
            space.shading.light, space.shading.color_type = "FLAT", "TEXTURE"
            space.overlay.show_overlays = False
            space.show_gizmo = space.show_region_toolbar = False


def sample_state():
    """The state of the window, and of the sample's mesh."""
    mesh = bpy.data.objects["model_mesh"]  # by name: undo makes new objects
    return {
        **any_state(),
        "mesh": case.digest(mesh),
        "shown": shown(mesh),
    }


def any_state():
    """The state of the window, with the settings of the only model."""
    watch_panels()
    armature, mesh = (
        next((obj for obj in bpy.data.objects if obj.type == kind), None)
        for kind in ("ARMATURE", "MESH")
    )
    settings = getattr(armature, "mmdskin", None)
    keys = mesh.data.shape_keys if mesh else None
    names = ("preview", "range", "target", "source", "motion_path")
    return {
        **{name: getattr(settings, name, None) for name in names},
        "model": armature.name if armature else None,
        "action": bool(armature and armature.animation_data and armature.animation_data.action),
        "keys": [key.name for key in keys.key_blocks] if keys else [],
        "frame": bpy.context.scene.frame_current,
        "end": bpy.context.scene.frame_end,
        "addons": [addon.module for addon in bpy.context.preferences.addons],
        "section": bpy.context.preferences.active_section,
        "drawn": drawn["count"],
        "mode": bpy.context.mode,
        "file": chosen_file(),
        "clipboard": bpy.context.window_manager.clipboard,
    }


def chosen_file():
    """The values of the file browser, None while it is not open."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            choice = area.spaces.active.params if area.type == "FILE_BROWSER" else None
            if choice:
                return os.path.join(os.fsdecode(choice.directory), choice.filename)
    return None


def dancer_state():
    """The state of the dancer in the window, once she is imported."""
    kinds = {obj.type: obj for obj in reversed(list(bpy.data.objects))}
    found = any_state()
    if "ARMATURE" in kinds and "MESH" in kinds:
        found |= posed(kinds["ARMATURE"], kinds["MESH"])
    return found


def posed(armature, mesh):
    """Where to grab the left foot on the display, its position, and the values of sliders."""
    evaluated = armature.evaluated_get(bpy.context.view_layer.depsgraph)
    grip = evaluated.pose.bones.get("足ＩＫ.L")
    active = armature.data.bones.active
    keys = mesh.data.shape_keys
    return {
        "grip": on_display(armature.matrix_world @ grip.head) if grip else None,
        "active": active.name if active else None,
        "foot": points(mesh)[foot(mesh)].mean(0).tolist(),
        "weights": {key.name: key.value for key in keys.key_blocks} if keys else {},
        "sliders": {name: v for name, v in armature.items() if isinstance(v, float)},
        "colors": [
            list(material.evaluated_get(bpy.context.view_layer.depsgraph).diffuse_color)
            for material in mesh.data.materials
        ],
    }


@functools.cache
def foot(mesh):
    """The vertices of the left foot."""
    groups = {group.index for group in mesh.vertex_groups if group.name.startswith("足首")}
    return [
        vertex.index
        for vertex in mesh.data.vertices
        if vertex.co.x > 0 and any(one.group in groups for one in vertex.groups)
    ]


def on_display(point):
    """(x, y from the top) of a point of the scene in the 3D view."""
    (window, *_) = bpy.context.window_manager.windows
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    view = area.spaces.active.region_3d
    place = view3d_utils.location_3d_to_region_2d(region, view, point)
    return place and [region.x + place.x, window.height - region.y - place.y]


def points(mesh):
    """(V, 3): the evaluated points; reading them must not cause an evaluation."""
    evaluated = mesh.evaluated_get(bpy.context.view_layer.depsgraph)
    found = np.empty((len(evaluated.data.vertices), 3), np.float32)
    evaluated.data.vertices.foreach_get("co", found.ravel())
    return found


def shown(mesh):
    """A hash of the evaluated points."""
    return hashlib.sha256(points(mesh).tobytes()).hexdigest()


def close_windows():
    for window in bpy.context.window_manager.windows[1:]:
        with bpy.context.temp_override(window=window):
            bpy.ops.wm.window_close()


def watch_panels():
    """Count the redraws of the add-on's panels, which show that the MMD tab is open."""
    for panel in bpy.types.Panel.__subclasses__():
        if getattr(panel, "bl_category", "") == "MMD" and "watched" not in panel.__dict__:
            panel.watched = True
            panel.append(lambda _panel, _context: drawn.update(count=drawn["count"] + 1))


def probed(folder):
    """The names of the area and the region whose buttons are asked for."""
    with contextlib.suppress(FileNotFoundError):
        return (folder / "probe").read_text("utf-8").split()
    return None


def regions(probed):
    """Every visible region: names of its area and kind, its rectangle on the display, its button."""
    found = []
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            for region in area.regions:
                if region.width > 1 and region.height > 1:
                    is_probed = [area.ui_type, region.type] == probed
                    record = {
                        "area": area.ui_type,
                        "kind": region.type,
                        # From the top left corner; a window tells its place from the bottom.
                        "x": window.x + region.x,
                        "bottom": window.y + region.y,
                        "width": region.width,
                        "height": region.height,
                        "button": button(window, area, region) if is_probed else None,
                    }
                    found.append(record)
    return found


def button(window, area, region):
    """What the button under the mouse does, from Blender's own Copy Python Command or Path."""
    manager = bpy.context.window_manager
    with bpy.context.temp_override(window=window, area=area, region=region):
        if bpy.ops.ui.copy_python_command_button.poll():
            bpy.ops.ui.copy_python_command_button()
        elif bpy.ops.ui.copy_data_path_button.poll():
            bpy.ops.ui.copy_data_path_button(full_path=True)
        else:
            return None
        return manager.clipboard


def write(path, content):
    # Renamed when complete: the reader must not see half a file.
    pathlib.Path(f"{path}.part").write_text(json.dumps(content), "utf-8")
    os.replace(f"{path}.part", path)


main(*sys.argv[sys.argv.index("--") + 1 :])

# SPDX-License-Identifier: GPL-3.0-or-later
"""What a windowed Blender shows at first, made with the add-on by script."""

import functools

import bpy
import humanoids
import numpy as np
import scene
from sample.character import dance, model

LAST = 20  # frame of the scenes


def dancer(folder):
    """The dancer, with the keys of her dance; one eye is half closed, and a wrist is the active bone."""
    root = _dancer(folder)
    armature = _armature(root)
    bpy.ops.mmdskin.import_motion(filepath=str(dance.write_dance(folder)), mode="ORIGINAL")
    armature.data.bones.active = armature.data.bones["手首.R"]
    (mesh,) = (obj for obj in root.children_recursive if obj.type == "MESH" and obj.vertex_groups)
    mesh.data.shape_keys.key_blocks["ウィンク２"].value = 0.5
    bpy.context.scene.frame_end = LAST


def dancer_and_rig(folder):
    """Her keys, and an armature beside her, which is active; both are selected."""
    armature = _dancer_with_rig(folder)
    bpy.ops.mmdskin.import_motion(filepath=str(dance.write_dance(folder)), mode="ORIGINAL")
    armature.mmdskin.source = "IK"
    rig = bpy.data.objects["humanoid"]
    scene.select(rig)
    armature.select_set(True)


def rig_and_dancer(folder):
    """The armature waves, she rests; she is active, and both are selected."""
    armature = _dancer_with_rig(folder)
    rig = bpy.data.objects["humanoid"]
    for frame in (1, LAST):
        humanoids.pose(rig, frame)
    scene.select(armature)
    rig.select_set(True)


def _dancer_with_rig(folder):
    armature = _armature(_dancer(folder))
    rig = humanoids.fk_rig()
    rig.location.x = 1.5
    bpy.context.view_layer.update()
    bpy.context.scene.frame_end = LAST
    scene.select(armature)
    return armature


def english_dancer(folder):
    """The same with English names."""
    root = _dancer(folder, names="ENGLISH")
    bpy.ops.mmdskin.import_motion(filepath=str(dance.write_dance(folder)), mode="ORIGINAL")
    bpy.context.view_layer.objects.active = _armature(root)
    bpy.context.scene.frame_end = LAST


def nothing(folder):
    """An empty scene, with the add-on."""


def two_dancers(folder):
    """Two beside each other, the second one active."""
    for x in (-0.5, 0.5):
        root = _dancer(folder)
        root.location.x = x
        _follow(root, dance.write_dance(folder))
    bpy.context.scene.frame_end = LAST


def live_dancer(folder):
    """In Pose Mode, her head selected; hair moves while she is posed. Counts evaluations and draws."""
    armature = _armature(_dancer(folder))
    settings = armature.mmdskin
    settings.source, settings.physics, settings.physics_live = "IK", True, True
    bpy.ops.mmdskin.import_motion(filepath=str(dance.write_dance(folder)), mode="ORIGINAL")
    settings.physics = settings.physics_live = True
    bpy.context.scene.frame_end = 120
    bpy.context.preferences.system.viewport_aa = "OFF"
    bpy.ops.object.select_all(action="DESELECT")
    armature.select_set(True)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    select_bone("頭")
    bpy.app.handlers.load_post.append(_count)


def select_bone(name):
    for bone in bpy.context.object.pose.bones:
        (bone if bpy.app.version >= (5, 0) else bone.bone).select = bone.name == name
    bpy.context.object.data.bones.active = bpy.context.object.data.bones[name]
    return name


def film(folder, fps):
    """Pictures film0.png, … of the viewport while her head turns; returns how many."""
    live = __import__("addon_package").physics.live
    render, head = bpy.context.scene.render, bpy.context.object.pose.bones["頭"]
    render.resolution_x, render.resolution_y, render.resolution_percentage = 320, 320, 100
    head.rotation_mode = "XYZ"
    (window, *_) = bpy.context.window_manager.windows
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    view = area.spaces.active.region_3d
    view.view_location = bpy.context.object.matrix_world @ head.bone.head_local
    view.view_location.z -= 0.05
    view.view_distance = 1.25
    area.spaces.active.overlay.show_overlays = False
    live.is_running = True
    start, clock = live.clock(), live.clock
    for number in range(4 * fps):
        seconds = number / fps
        live.clock = functools.partial(float, start + seconds)
        swing = np.interp(seconds, (0.3, 0.6, 1.5, 1.9, 2.8, 3.1), (0, 1, 1, -1, -1, 0))
        head.rotation_euler = (0, 0.7 * swing, 0.25 * swing)
        for one in live.every():
            one.ticks += 1
        bpy.context.object.update_tag()
        bpy.context.view_layer.update()
        render.filepath = f"{folder}/film{number}.png"
        with bpy.context.temp_override(window=window, area=area, region=region):
            bpy.ops.render.opengl(write_still=True)
    live.clock = clock
    return 4 * fps


counted = {"evaluated": 0, "drawn": 0}
_handles = []


@bpy.app.handlers.persistent
def _count(*_):
    """Evaluations of the scene and draws of the 3D view, from the opened file on."""

    @bpy.app.handlers.persistent
    def evaluated(*_):
        counted["evaluated"] += 1

    def drawn():
        counted["drawn"] += 1

    bpy.app.handlers.depsgraph_update_post.append(evaluated)
    _handles.append(bpy.types.SpaceView3D.draw_handler_add(drawn, (), "WINDOW", "POST_PIXEL"))


def stage(folder):
    """Nothing, with a dancer who can be linked beside it: library.blend, collection "cast"."""
    root = _dancer(folder)
    _follow(root, dance.write_dance(folder))
    cast = bpy.data.collections.new("cast")
    bpy.context.scene.collection.children.link(cast)
    for obj in list(bpy.context.scene.collection.objects):
        cast.objects.link(obj)
        bpy.context.scene.collection.objects.unlink(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "library.blend"), copy=True)
    scene.clear()
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    bpy.context.scene.frame_end = LAST


def _dancer(folder, **options):
    """Her root, live as an import by hand is."""
    bpy.ops.mmdskin.import_model(filepath=str(model.write_character(folder)), **options)
    bpy.ops.mmdskin.preview(action="ENABLE")
    obj = bpy.context.active_object
    while obj.parent is not None:
        obj = obj.parent
    return obj


def _armature(root):
    return next(obj for obj in root.children_recursive if obj.type == "ARMATURE")


def _follow(root, path):
    settings = _armature(root).mmdskin
    settings.source, settings.motion_path = "MOTION", str(path)

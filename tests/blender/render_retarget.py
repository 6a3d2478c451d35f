# SPDX-License-Identifier: GPL-3.0-or-later
"""Her dance on a plain humanoid and on a Rigify rig, side by side: tests/sample/pictures/retarget.png.

blender -b --factory-startup --python tests/blender/render_retarget.py -- mmdskin.zip out.png
"""

import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import addon_profile  # noqa: E402
import bpy  # noqa: E402
import humanoids  # noqa: E402
import numpy as np  # noqa: E402
import scene  # noqa: E402
from mathutils import Matrix  # noqa: E402
from sample.character import dance, model  # noqa: E402
from sample.shapes import capsule  # noqa: E402

FRAME, APART = 47, 1.5
THICK = {"spine": 0.11, "hips": 0.11, "head": 0.1, "leg": 0.06, "thigh": 0.07, "shin": 0.05}


def main(archive, output):
    with addon_profile.installed(archive):
        scene.clear()
        with tempfile.TemporaryDirectory() as folder:
            she = imported(folder)
            for number, make in enumerate((humanoids.fk_rig, humanoids.rigify_rig), 1):
                rig = make()
                rig.location.x = APART * number
                rig.scale = (1, 1, 1) if number == 1 else (0.92, 0.92, 0.92)
                rig.hide_render = True
                clothe(rig, (0.55, 0.62, 0.72, 1) if number == 1 else (0.78, 0.6, 0.45, 1))
                bpy.context.view_layer.update()
                scene.select(rig)
                she.select_set(True)
                assert bpy.ops.mmdskin.retarget_to_armature() == {"FINISHED"}
            bpy.context.scene.frame_set(FRAME)
            render(output)


def imported(folder):
    bpy.ops.mmdskin.import_model(filepath=str(model.write_character(folder)))
    root = bpy.context.object
    armature = next(child for child in root.children if child.type == "ARMATURE")
    setup = bpy.context.scene
    setup.render.fps, setup.frame_start, setup.frame_end = 30, FRAME - 15, FRAME + 15
    scene.select(armature)
    bpy.ops.mmdskin.import_motion(
        filepath=str(dance.write_dance(folder)), mode="FILE", extend_range=False
    )
    armature.mmdskin.preview = True
    armature.hide_render = True
    return armature


def clothe(rig, color):
    """A capsule around each bone that deforms."""
    points, faces, groups = [], [], []
    deforming = any(bone.name.startswith("DEF-") for bone in rig.data.bones)
    for bone in rig.data.bones:
        if bone.name.startswith("DEF-") != deforming or bone.length < 0.03 or "_End" in bone.name:
            continue
        known = [size for word, size in THICK.items() if word in bone.name.lower()]
        radius = min(known[0] if known else 0.04, 0.5 * bone.length + 0.03)
        own, _, _, triangles, _ = capsule(-0.4 * radius, bone.length + 0.4 * radius, radius)
        matrix = np.array(bone.matrix_local)
        faces += (triangles + sum(map(len, points))).tolist()
        points.append(own @ matrix[:3, :3].T + matrix[:3, 3])
        groups.append(bone.name)
    mesh = bpy.data.meshes.new("body")
    mesh.from_pydata(np.concatenate(points).tolist(), [], faces)
    mesh.polygons.foreach_set("use_smooth", np.ones(len(faces), bool))
    material = bpy.data.materials.new("body")
    material.diffuse_color = color
    mesh.materials.append(material)
    body = bpy.data.objects.new("body", mesh)
    bpy.context.scene.collection.objects.link(body)
    first = 0
    for name, own in zip(groups, points, strict=True):
        body.vertex_groups.new(name=name).add(range(first, first + len(own)), 1, "REPLACE")
        first += len(own)
    body.parent = rig
    body.modifiers.new("Armature", "ARMATURE").object = rig


def render(output):
    setup = bpy.context.scene
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    setup.collection.objects.link(camera)
    camera.data.type, camera.data.ortho_scale = "ORTHO", 3 * APART + 0.3
    camera.matrix_world = Matrix.Translation((APART, -8, 0.95)) @ Matrix.Rotation(np.pi / 2, 4, "X")
    setup.camera = camera
    setup.render.engine = "BLENDER_WORKBENCH"
    setup.display.shading.color_type = "TEXTURE"
    setup.display.shading.show_cavity = True
    setup.render.film_transparent = False
    setup.world = bpy.data.worlds.new("world")
    setup.world.color = (0.9, 0.92, 0.95)
    setup.view_settings.view_transform = "Standard"
    setup.render.resolution_x, setup.render.resolution_y = 1200, 520
    setup.render.filepath = str(pathlib.Path(output).resolve())
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    main(*sys.argv[sys.argv.index("--") + 1 :])

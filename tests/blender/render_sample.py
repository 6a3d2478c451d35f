# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a PMX model into Blender and render it with MMD Skinning off and on, in one picture.

python tests/blender/render_sample.py sample.pmx build/demo [--blender PROGRAM] [--zip ZIP]

Started by a plain Python it runs itself in a Blender with the add-on in a throw-away profile.
"""

import argparse
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import addon_profile  # noqa: E402

BEND, TWIST = 120, 150
LABELS = ("Armature modifier", "MMD Skinning")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path, help="folder of the pictures")
    parser.add_argument("--zip", type=pathlib.Path, help="default: made from the wheel in dist/")
    parser.add_argument("--blender", default="blender")
    options = parser.parse_args(arguments)
    if "bpy" in sys.modules:
        with addon_profile.installed(options.zip):
            render(options)
    else:
        launch(options)


def launch(options):
    if not shutil.which(options.blender):
        sys.exit(f"{options.blender} is not installed: run tests/blender/setup.sh")
    with tempfile.TemporaryDirectory() as folder:
        archive = options.zip or package(folder)
        script = [options.blender, "--background", "--factory-startup", "--python", __file__, "--"]
        done = subprocess.run(
            [*script, options.model, options.output, "--zip", archive],
            env=addon_profile.environment(folder),
            capture_output=True,
            text=True,
            check=False,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("picture: ")]
    if not lines:
        sys.exit(f"Blender rendered nothing:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    print("\n".join(lines))


def package(folder):
    """The add-on's zip with the wheel for this machine."""
    wheels = list((ROOT / "build/wheels/own").glob("*.whl"))
    if not wheels:
        sys.exit("there is no wheel in build/wheels/own: run make wheel")
    command = [sys.executable, ROOT / "addon/package.py", "--wheel", wheels[0], "--output", folder]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def render(options):
    """Inside Blender."""
    import scene

    options.output.mkdir(parents=True, exist_ok=True)
    poses = [("pose", lambda model: scene.pose(model, degrees=35))]
    if Imported(options.model).elbows:
        poses = [
            (f"bend-{BEND}", lambda model: turn_elbows(model, (0, 1, 0), BEND)),
            (f"twist-{TWIST}", lambda model: turn_elbows(model, (0, 0, 1), TWIST)),
        ]
    for name, pose in poses:
        scene.clear()
        path = options.output.resolve() / f"blender-{name}.png"
        picture(options.model, pose, path)
        print(f"picture: {path}", flush=True)


class Imported:
    """The objects of one import."""

    def __init__(self, path):
        import bpy

        before = set(bpy.data.objects)
        bpy.ops.mmdskin.import_model(filepath=str(path))
        new = {obj.type: obj for obj in bpy.data.objects if obj not in before}
        self.root, self.armature, self.mesh = bpy.context.object, new["ARMATURE"], new["MESH"]
        self.armature.hide_render = True
        self.bone_names = [bone.name for bone in self.armature.pose.bones]
        self.elbows = [name for name in self.bone_names if name.startswith("ひじ")]


def turn_elbows(model, axis, degrees):
    """Rotate the elbows of the sample about an axis of the armature, their helpers by half."""
    import bpy
    from mathutils import Quaternion

    for name in model.elbows:
        bone = model.armature.pose.bones[name]
        angle = math.radians(degrees / 2 if "補助" in name else degrees)
        rest = bone.bone.matrix_local.to_quaternion()
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = rest.inverted() @ Quaternion(axis, angle) @ rest
    bpy.context.view_layer.update()


def picture(file, pose, path):
    import scene

    before, after = (Imported(file) for _ in LABELS)
    for model in (before, after):
        pose(model)
    after.armature.mmdskin.preview = True
    low, high = bounds((before.mesh, after.mesh))
    width, height = high[0] - low[0], high[2] - low[2]
    margin = 0.05 * max(width, height)
    row_height = height + 3 * margin
    # Wide models stand one above the other, tall ones side by side.
    stacked = width > height
    for place, model in enumerate((before, after)):
        offset = (0, 0, -place * row_height) if stacked else (place * (width + margin), 0, 0)
        scene.transform(model.root, offset)
        corner = (low[0] + offset[0], low[1], high[2] + offset[2] + 0.5 * margin)
        label(LABELS[place], corner, 0.8 * margin)
        for text, x in captions(model):
            label(text, (x, low[1], low[2] + offset[2] - 0.6 * margin), 0.5 * margin, "CENTER")
    columns, rows = (1, 2) if stacked else (2, 1)
    view(low, high, (columns * (width + margin), rows * row_height), margin)
    shoot(path, columns * (width + margin) / (rows * row_height))


def captions(model):
    """(text, x) for each limb of the sample; nothing for other models."""
    for name in model.elbows:
        if "補助" not in name:
            yield name.partition("_")[2], model.armature.data.bones[name].head_local.x


def bounds(objects):
    import numpy as np
    import scene

    points = np.concatenate([scene.evaluated_positions(obj) for obj in objects])
    return points.min(0).tolist(), points.max(0).tolist()


def label(text, corner, size, align="LEFT"):
    import bpy

    curve = bpy.data.curves.new(text, "FONT")
    curve.body, curve.size, curve.align_x = text, size, align
    obj = bpy.data.objects.new(text, curve)
    obj.location, obj.rotation_euler = corner, (math.pi / 2, 0, 0)
    material = bpy.data.materials.new(text)
    material.diffuse_color = (0.02, 0.02, 0.02, 1)
    curve.materials.append(material)
    bpy.context.scene.collection.objects.link(obj)


def view(low, high, size, margin):
    """An orthographic camera in front of the model that shows `size` from the top left corner."""
    import bpy

    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.data.type, camera.data.ortho_scale = "ORTHO", max(size) * 1.02
    top = high[2] + 1.8 * margin
    camera.location = (low[0] - margin / 2 + size[0] / 2, low[1] - 10, top - size[1] / 2)
    camera.rotation_euler = (math.pi / 2, 0, 0)
    camera.data.clip_end = 100
    bpy.context.scene.collection.objects.link(camera)
    bpy.context.scene.camera = camera


def shoot(path, aspect):
    import bpy

    settings = bpy.context.scene.render
    settings.engine = "BLENDER_WORKBENCH"
    settings.resolution_x = int(min(1400, 1000 * aspect))
    settings.resolution_y = int(settings.resolution_x / aspect)
    settings.dither_intensity = 0  # noise would make the file ten times larger
    settings.image_settings.compression = 100
    settings.filepath = str(path)
    shading = bpy.context.scene.display.shading
    shading.light, shading.color_type = "STUDIO", "MATERIAL"
    shading.show_cavity, shading.show_shadows = True, False
    shading.background_type, shading.background_color = "VIEWPORT", (0.9, 0.9, 0.9)
    bpy.context.scene.display.render_aa = "16"
    world = bpy.data.worlds.new("world")
    world.color = (0.85, 0.85, 0.87)
    bpy.context.scene.world = world
    bpy.context.scene.view_settings.view_transform = "Standard"
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:])

# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw a model in Blender with the MMD Look, by EEVEE and Cycles, beside render(look="mmd").

PYTHONPATH=tests python tests/blender/look_beside.py dancer.pmx look.png [--motion dancer.vmd --frame 130]

Started by a plain Python it runs itself in a Blender with the add-on in a throw-away profile.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import addon_profile  # noqa: E402
from render_sample import package  # noqa: E402

SCALE = 0.08
SAMPLES = 16
ENGINES = ("EEVEE", "CYCLES")
LABELS = {"EEVEE": "Blender, EEVEE", "CYCLES": "Blender, Cycles", "mmdskin": 'render(look="mmd")'}
GAP, BAND = 6, 30


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--motion", type=pathlib.Path)
    parser.add_argument("--frame", type=int, default=0)
    parser.add_argument("--size", type=int, nargs=2, default=(330, 400))
    parser.add_argument("--center", type=float, nargs=3, help="what the camera looks at")
    parser.add_argument("--height", type=float, help="of what it sees, in units of the file")
    parser.add_argument("--yaw", type=float, default=-12)
    parser.add_argument("--pitch", type=float, default=5)
    parser.add_argument("--light", type=float, nargs=3, default=(154 / 255,) * 3, help="its color")
    parser.add_argument("--self-shadow", action="store_true", help="not in Cycles")
    parser.add_argument("--blender", default="4.5", help="version, such as 4.5")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.job:
        job = json.loads(options.job)
        with addon_profile.installed(job["zip"]) as package_name:
            shoot(job, sys.modules[package_name])
    else:
        draw(options)


def draw(options):
    import mmdskin
    import numpy as np
    from PIL import Image
    from sample import picture

    model = mmdskin.load_model(options.model)
    pose = model.pose_from({})
    if options.motion:
        pose = model.pose(mmdskin.load_motion(options.motion), options.frame)
    out = mmdskin.skin(model, pose)
    low, high = out.positions.min(0), out.positions.max(0)
    center = options.center or ((low + high) / 2).tolist()
    camera = picture.camera(
        center, options.height or 1.1 * (high[1] - low[1]), options.yaw, options.pitch
    )
    textures = {}
    for number, name in enumerate(model.textures):
        path = options.model.parent / name
        if path.is_file():
            textures[number] = np.asarray(Image.open(path).convert("RGBA"))
    drawn = mmdskin.render(
        model,
        out,
        size=tuple(options.size),
        camera=camera,
        textures=textures,
        look="mmd",
        edges=True,
        samples=4,
        light_color=options.light,
        self_shadow=options.self_shadow,
    ).image
    with tempfile.TemporaryDirectory() as folder:
        shots = in_blender(options, camera, folder)
        shots["mmdskin"] = drawn
        put_side_by_side(shots, options)


def put_side_by_side(shots, options):
    from PIL import Image, ImageDraw
    from sample import picture

    width, height = options.size
    page = Image.new("RGB", (len(shots) * (width + GAP) - GAP, BAND + height), "white")
    pen = ImageDraw.Draw(page)
    for place, (name, image) in enumerate(shots.items()):
        left = place * (width + GAP)
        page.paste(picture.on_background(image), (left, BAND))
        pen.text((left + width / 2, BAND / 2), LABELS[name], (40, 44, 52), picture.font(18), "mm")
    page.quantize(256).save(options.output, optimize=True)


def in_blender(options, camera, folder):
    """{engine: (H, W, 4)} of Blender's pictures."""
    import numpy as np
    from PIL import Image

    job = {
        "zip": package(folder),
        "folder": folder,
        "model": str(options.model.resolve()),
        "motion": str(options.motion.resolve()) if options.motion else "",
        "frame": options.frame,
        "size": list(options.size),
        "position": np.asarray(camera.position, float).tolist(),
        "target": np.asarray(camera.target, float).tolist(),
        "up": np.asarray(camera.up, float).tolist(),
        "fov": float(camera.fov),
        "light": list(options.light),
        "self_shadow": options.self_shadow,
    }
    command = addon_profile.blender_command(options.blender)
    if command is None:
        sys.exit(f"Blender {options.blender} is not installed: run tests/blender/setup.sh")
    script = [*command, __file__, "--", "-", "-", "--job", json.dumps(job)]
    done = subprocess.run(
        script,
        env=addon_profile.environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    found = {}
    for engine in ENGINES:
        path = pathlib.Path(folder, f"{engine}.png")
        if not path.is_file():
            sys.exit(f"Blender drew nothing:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        found[engine] = np.asarray(Image.open(path).convert("RGBA"))
    return found


def shoot(job, addon):
    """Inside Blender."""
    import bpy
    from mathutils import Matrix, Vector

    scene = bpy.context.scene
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    scene.render.fps = 30
    bpy.ops.mmdskin.import_model(filepath=job["model"])
    if job["motion"]:
        bpy.ops.mmdskin.import_motion(filepath=job["motion"], frame_start=0, types={"MODEL"})
    scene.frame_set(job["frame"])
    if job["self_shadow"]:
        armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        armature.mmdskin.self_shadow = True
    sun = addon.scene.light.of_scene(scene)
    sun.data.color = job["light"]
    position, target, up = (Vector(job[name]).xzy for name in ("position", "target", "up"))
    back = (position - target).normalized()
    right = up.cross(back).normalized()
    axes = Matrix((right, back.cross(right), back)).transposed().to_4x4()
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    camera.matrix_world = Matrix.Translation(position * SCALE) @ axes
    camera.data.sensor_fit, camera.data.angle = "VERTICAL", math.radians(job["fov"])
    render = scene.render
    render.resolution_x, render.resolution_y = job["size"]
    render.film_transparent, render.dither_intensity = True, 0
    scene.view_settings.view_transform = "Standard"
    names = bpy.types.RenderSettings.bl_rna.properties["engine"].enum_items.keys()
    for engine in ENGINES:
        render.engine = next((name for name in names if engine in name), engine)
        render.filter_size = 1.0
        scene.eevee.taa_render_samples = SAMPLES
        scene.cycles.samples, scene.cycles.use_denoising = SAMPLES, False
        scene.cycles.pixel_filter_type, scene.cycles.filter_width = "BOX", 1.0
        render.filepath = f"{job['folder']}/{engine}.png"
        bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:])

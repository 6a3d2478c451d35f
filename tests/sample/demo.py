# SPDX-License-Identifier: MIT
"""`make demo`: poses the sample, skins it with every backend, and lets the dancer dance.

Pictures and files go to build/demo.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import mmdskin
import numpy as np
from judges import twin
from sample import coordinates_page, front_page, methods_page, picture, retargeting_page
from sample import model as sample
from sample import motion as sample_motion
from sample import shapes as sample_shapes
from sample.character import dance
from sample.character import model as character

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "build" / "demo"
POSES = (("bend", 120, sample.bend), ("twist", 150, sample.twist))
# For each row of the picture: camera target, visible height in units, size in pixels
FRAMING = (((1.7, 5.4, 0), 10.4, (330, 330)), ((0, 7, 0), 13.6, (330, 390)))

CALLS = 9
LINE = "{:8} {:40} {:>9} {:>10} {:>19}"


def seconds(call):
    """Median time of several calls."""
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def skin_seconds(model, pose, backend):
    """Time of one call that writes into existing arrays."""
    out = mmdskin.skin(model, *pose, backend=backend)
    return seconds(partial(mmdskin.skin, model, *pose, backend=backend, out=out))


def table(model):
    """Prints the time of each backend and its largest difference from float64."""
    frames = np.stack([f(a) for _, _, f in POSES for a in np.linspace(0, 150, 8)])
    weights = np.zeros(len(model.morphs), np.float32)
    weights[:3] = 0.5, 0.25, 0.75
    exact = twin.skin(sample.sample(), frames, weights)[0]
    print("\n" + LINE.format("backend", "device", "vertices", "ns/vertex", "largest difference"))
    for backend in mmdskin.backends():
        if not backend.available:
            print(f"{backend.name:8} not available: {backend.reason}")
            continue
        out = mmdskin.skin(model, frames, weights, backend=backend.name)
        count = out.positions[..., 0].size
        ns = f"{skin_seconds(model, (frames, weights), backend.name) / count * 1e9:.2f}"
        difference = f"{abs(out.positions - exact).max():.1e}"
        device = (backend.device or "")[:40]
        print(LINE.format(backend.name, device, count, ns, difference))
    print(f"({len(frames)} frames per call, positions and normals, median of {CALLS} calls)\n")


def skin_poses(model):
    """Skins the two poses, writes them to sample.npz, and returns them."""
    poses = {name: mmdskin.skin(model, f(angle)) for name, angle, f in POSES}
    arrays = {"rest": model.positions, "triangles": model.triangles, "deform": model.deform}
    for name, angle, f in POSES:
        arrays |= {
            f"{name}_bone_matrices": f(angle),
            f"{name}_positions": poses[name].positions,
            f"{name}_normals": poses[name].normals,
        }
    np.savez_compressed(DEMO / "sample.npz", **arrays)
    return poses


def narrowest(positions, rest):
    """Smallest area of a cross-section of the limb's tube, as a fraction of the area at rest."""
    areas, whole = (
        picture.ring_areas(p.astype(np.float64).reshape(-1, sample_shapes.AROUND + 1, 3)[:, :-1])
        for p in (positions, rest)
    )
    tube = whole > 0.99 * whole.max()
    return (areas[tube] / whole[tube]).min()


def draw(model, poses):
    rows, notes = [], []
    for (name, _, _), (center, height, size) in zip(POSES, FRAMING, strict=True):
        rows.append([])
        notes.append([])
        for i, kind in enumerate(sample.LIMBS):
            v, triangles = sample.limb_vertices(kind), sample.limb_triangles(kind)
            positions, normals = poses[name].positions[v], poses[name].normals[v]
            place = np.add(center, [sample.limb_x(i), 0, 0])
            camera = picture.camera(place, height, yaw=-18, pitch=12)
            surface = positions, normals, model.uvs[v], triangles
            texture = picture.chequer(sample.COLORS[i])
            rows[-1].append(picture.surface(*surface, texture, size, camera))
            notes[-1].append(f"narrowest section {narrowest(positions, model.positions[v]):.0%}")
    titles = [f"Elbow bent by {POSES[0][1]}°", f"Forearm twisted by {POSES[1][1]}°"]
    page = picture.sheet(rows, sample.LIMBS, titles, notes, "Five deform types, the same two poses")
    page.save(DEMO / "deform_types.png")


def dance_table(model, motion):
    """Prints the time of a frame of the dance: the pose, and skinning with each backend."""
    frames = np.arange(sample_motion.LAST + 1)
    pose = model.pose(motion, frames)
    rows = [
        ("pose", seconds(partial(model.pose, motion, frames))),
        ("pose without IK", seconds(partial(model.pose, motion, frames, ik=False))),
    ]
    for backend in mmdskin.backends():
        if backend.available:
            rows.append((f"skin, {backend.name}", skin_seconds(model, pose, backend.name)))
    line = "{:16} {:>9}"
    print(line.format("dance", "us/frame"))
    for name, taken in rows:
        print(line.format(name, f"{taken / len(frames) * 1e6:.1f}"))
    print(
        f"({len(frames)} frames per call, {len(model.positions)} vertices, median of {CALLS} calls)\n"
    )


def contact_sheet(model_path, motion_path):
    """The dance with and without physics, drawn by the example in docs/examples."""
    script = ROOT / "docs" / "examples" / "contact_sheet.py"
    subprocess.run(
        [sys.executable, script, model_path, motion_path, DEMO / "physics.png"], check=True
    )


def blender(path):
    """Renders before and after the bake in Blender. Returns why not, or None on success."""
    if not shutil.which("blender"):
        return "Blender is not installed: no renders of the bake (apt-get install blender)"
    script = ROOT / "tests" / "blender" / "render_sample.py"
    done = subprocess.run(
        [sys.executable, script, path, DEMO], stderr=subprocess.PIPE, text=True, timeout=600
    )
    return f"Blender's renders failed: {done.stderr.strip()}" if done.returncode else None


def look(model_path, motion_path):
    """The dancer with MMD Look beside our picture of her. Returns why not, or None on success."""
    script = ROOT / "tests" / "blender" / "look_beside.py"
    command = [sys.executable, script, model_path, DEMO / "look.png"]
    done = subprocess.run(
        [*command, "--motion", motion_path, "--frame", "130"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        stderr=subprocess.PIPE,
        text=True,
        timeout=600,
    )
    return f"No picture of the look: {done.stderr.strip()}" if done.returncode else None


def main():
    DEMO.mkdir(parents=True, exist_ok=True)
    path = sample.write_sample(DEMO)
    model = mmdskin.load_model(path)
    print(
        f"{model.name}: {len(model.positions)} vertices, {len(model.bones)} bones, "
        f"{len(model.morphs)} morphs"
    )
    table(model)
    draw(model, skin_poses(model))
    methods_page.draw(model).save(DEMO / "methods.png")
    motion = mmdskin.load_motion(sample_motion.write_motion(DEMO))
    dance_table(model, motion)
    front_page.write_pictures(DEMO)
    dancer = character.write_character(DEMO), dance.write_dance(DEMO)
    contact_sheet(*dancer)
    coordinates_page.draw(dancer[0]).save(DEMO / "coordinates.png")
    retargeting_page.draw(*dancer).save(DEMO / "retargeting.png")
    retargeting_page.draw_walk(dancer[0]).save(DEMO / "capture.png")
    for complaint in (look(*dancer), blender(path)):
        if complaint:
            print(complaint)
    print("Look at:")
    for file in sorted(DEMO.iterdir()):
        if file.suffix in (".gif", ".png", ".pmx", ".vmd", ".npz"):
            print(f"  {file.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""The rows of `make bench` that are measured in Blender, by the scripts of this folder."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import addon_profile
from files import locations

ROOT = Path(__file__).resolve().parent.parent.parent
MODEL = locations.MODELS / "巡音ルカ.pmx"
SDEF_MODEL = locations.MODELS / "巡音ルカ_sdefr.pmx"
SMALL_MODEL = locations.MODELS / "初音ミク.pmx"
MOTION = locations.MODELS / "wavefile_v2.vmd"
MMD_TOOLS = locations.SHARED / "mmd_tools" / "mmd_tools-4.5.13.zip"
BAKE_BARS = {  # of 1,000 frames; Blender copies each shape key once more to show it
    "VMD to PC2": ("ms/frame", 0.8),
    "VMD to keys": ("ms/frame", 1.2),
    "scene to PC2, relative to the scene": ("x", 1.25),
    "scene to keys, relative to the scene": ("x", 1.25),
}
# Time that passes, with Blender's own for the frames, which poses bones and copies keys on all cores.
FILE_BAKE_BARS = {
    "motion file to mesh cache": 0.6,
    "motion file to shape keys": 0.6,
    "armature to mesh cache": 2.0,
    "armature to shape keys": 2.0,
}
# Over plain. Blender's own nodes, which show the positions, take 0.15 ms of it in 4.5, 0.7 in 3.4.
LIVE_BARS = {"3.4": 1.0, "4.2": 0.7, "4.5": 0.6, "5.0": 0.5, "5.2": 0.8}
TICK_BARS = {
    "live physics": 0.5,
    "live physics, head turned": None,
    "one with edges": 3,
    "one with edges, head turned": None,
    "three with edges": 9,
    "three with edges, head turned": None,
}
ATTACH_BARS = {"MOTION": ("motion file", 0.3), "IK": ("MMD's IK", 0.3)}  # of processor time


def rows():
    """The add-on in every Blender that tests/blender/setup.sh installed."""
    zips = sorted((ROOT / "dist").glob("mmdskin-*.zip"))
    if not zips:
        print("no add-on in dist/, so nothing is measured in Blender (make addon)")
        return
    for version in ("3.4", "4.2", "4.5", "5.0", "5.2"):
        command = addon_profile.blender_command(version)
        if command is None:
            continue
        found = in_blender(command, "blender_preview.py", zips[-1])
        yield f"Blender {version}, plain frame", found["plain ms"], "ms", None, None
        over, bar = found["over plain ms"], LIVE_BARS[version]
        yield f"Blender {version}, live over plain", over, "ms", "<=", bar
        if version != "4.5":
            continue
        found = in_blender(command, "blender_bake.py", zips[-1])
        for row, (unit, bar) in BAKE_BARS.items():
            yield f"Blender 4.5, bake 1,000 frames, {row}", found[row], unit, "<=", bar
        if MODEL.exists():
            found = in_blender(command, "blender_preview.py", zips[-1], MODEL, MOTION)
            name = f"Blender {version}, live over plain, {MODEL.name}"
            yield name, found["over plain ms"], "ms", "<=", 0.5
            found = in_blender(command, "blender_bake.py", zips[-1], MODEL, MOTION)
            for row, bar in FILE_BAKE_BARS.items():
                name = f"Blender 4.5, bake 1,000 frames of {MODEL.name}, {row}"
                yield name, found[row], "ms/frame", "<=", bar
            found = in_blender(command, "blender_attach.py", zips[-1], MODEL, MOTION)
            for source, (what, bar) in ATTACH_BARS.items():
                over = found[source]["attached ms"]
                yield f"Blender 4.5, 50 attached objects, {what}", over, "ms", "<=", bar
            found = in_blender(command, "blender_ticks.py", zips[-1], SMALL_MODEL)
            for row, bar in TICK_BARS.items():
                name = f"Blender 4.5, {SMALL_MODEL.name}, a tick, {row}"
                yield name, found[row], "ms", "<=" if bar else None, bar
            found = in_blender(command, "blender_retarget.py", zips[-1], MODEL, MOTION)
            yield "Blender 4.5, Another Armature", found["live ms"], "ms", "<=", 2
            yield "Blender 4.5, 1,000 frames to an FK rig", found["keyed s"], "s", "<=", 2
            tools = os.environ.get("MMDSKIN_MMD_TOOLS", MMD_TOOLS)
            options = ["--mmd-tools", tools] if Path(tools).exists() else []
            if options:
                found = in_blender(command, "beside_mmd_tools.py", zips[-1], *options, SDEF_MODEL)
                for variant, ms in found["ms"].items():
                    yield f"Blender 4.5, model of mmd_tools, {variant}", ms, "ms", None, None
                over = found["ms"]["mmdskin"] - found["ms"]["plain"]
                yield "Blender 4.5, model of mmd_tools, live over plain", over, "ms", "<=", 1.2
            found = in_blender(command, "import_model.py", zips[-1], *options)
            for file, times in found["import_ms"].items():
                for importer, ms in times.items():
                    yield f"Blender 4.5, {importer}: {file}", ms, "ms", None, None
            for file, times in found["import_motion_ms"].items():
                theirs = times.pop("mmd_tools", None)
                for importer, ms in times.items():
                    yield f"Blender 4.5, {importer}: {file}", ms, "ms", None, None
                    if theirs:
                        yield "  relative to mmd_tools", ms / theirs, "x", "<=", 1


def in_blender(command, script, addon_zip, *options):
    """The JSON line that a script of this folder prints in Blender."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [*command, Path(__file__).with_name(script), "--", "--zip", addon_zip, *options],
            env=addon_profile.environment(profile),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=600,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise RuntimeError(
            f"{script} printed no result:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return json.loads(lines[-1])

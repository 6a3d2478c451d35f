# SPDX-License-Identifier: MIT
"""python -m mmdskin info and sample."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import mmdskin
from mmdskin import command_input
from mmdskin.command_console import CommandError, warn
from mmdskin.errors import printable
from mmdskin.sample_files import write_sample
from mmdskin.texture_files import texture_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFORM = ("BDEF1", "BDEF2", "BDEF4", "SDEF", "QDEF")
_NAMES_SHOWN = 10
_MOTIONS = (b"Vocaloid Motion Data", b"Vocaloid Pose Data", b"\xef\xbb\xbfVocaloid Pose Data")


def run(options: Any) -> int:
    status, model = 0, None
    for path in options.files:
        try:
            with open(path, "rb") as file:  # once, as it may be a pipe
                if file.peek().startswith(_MOTIONS):
                    motion = command_input.load_motion(path, options.encoding, model, file)
                    found = of_motion(motion, model)
                else:
                    model = command_input.load_model(path, file)
                    found = of_model(model, path)
        except OSError as error:
            warn(f"{path}: {error.strerror or error}")
            status = 1
        except CommandError as error:
            warn(str(error))
            status = 1
        else:
            found = {"file": path, **found}
            print(json.dumps(found) if options.json else _text(found))
    return status


def of_model(model: mmdskin.Model, path: str) -> dict[str, Any]:
    types = Counter(model.deform.tolist())
    paths = texture_paths(model, os.path.dirname(path))
    missing = [index for index, found in paths.items() if not found]
    return {
        "kind": "model",
        "name": model.name,
        "name_english": model.name_english,
        "version": round(model.version, 2),
        "vertices": len(model.positions),
        "triangles": len(model.triangles),
        "bounds": model.bounds.tolist(),
        "deform": {name: types[i] for i, name in enumerate(_DEFORM) if types[i]},
        "bones": len(model.bones),
        "ik_bones": sum(bone.ik is not None for bone in model.bones),
        "append_bones": sum(bone.append is not None for bone in model.bones),
        "morphs": dict(Counter(morph.kind for morph in model.morphs)),
        "materials": len(model.materials),
        "textures": len(model.textures),
        "missing_textures": [model.textures[index] for index in missing],
        "rigid_bodies": dict(Counter(body.mode for body in model.rigid_bodies)),
        "joints": len(model.joints),
        "notes": _notes(model),
    }


def _notes(model: mmdskin.Model) -> list[str]:
    """Warnings about the rigid bodies, or why they cannot be simulated."""
    try:
        return list(mmdskin.Simulation(model).notes)
    except ValueError as error:
        return [f"no physics: {error}"]


def of_motion(motion: mmdskin.Motion, model: mmdskin.Model | None) -> dict[str, Any]:
    first, last = motion.frame_range
    switched = [t for t in motion.bones if t.physics is not None and not t.physics.all()]
    found = {
        "kind": "motion",
        "name": motion.name,
        "encoding": motion.encoding,
        "first_frame": first,
        "last_frame": last,
        "seconds": round(motion.duration, 3),
        "bones": len(motion.bones),
        "bone_keys": sum(len(track.frames) for track in motion.bones),
        "bones_without_physics": [track.name for track in switched],
        "morphs": len(motion.morphs),
        "morph_keys": sum(len(track.frames) for track in motion.morphs),
        "camera_keys": len(motion.camera.frames),
        "light_keys": len(motion.light.frames),
        "shadow_keys": len(motion.shadow.frames),
        "property_keys": len(motion.properties.frames),
        "ik_switches": list(motion.properties.ik_names),
    }
    if model:
        found["unmatched"] = {
            name: list(names) for name, names in motion.unmatched(model)._asdict().items()
        }
    return found


def _text(found: Mapping[str, Any]) -> str:
    """The file, and a line for each value that is neither empty nor zero."""
    lines = [f"{found['file']}: {found['kind']} {found['name']}".rstrip()]
    for key, value in found.items():
        shown = _bounds(value) if key == "bounds" else _value(value)
        if key not in ("file", "kind", "name") and shown not in ("", "0"):
            lines.append(f"  {key.replace('_', ' '):21} {shown}")
    return "\n".join(map(printable, lines))


def _bounds(bounds: list[list[float]]) -> str:
    return " to ".join("(" + ", ".join(f"{x:.2f}" for x in corner) + ")" for corner in bounds)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        if value and all(isinstance(part, int) for part in value.values()):
            total = sum(value.values())
            return f"{total:,}: " + ", ".join(f"{part:,} {name}" for name, part in value.items())
        return "; ".join(f"{name} {_value(part)}" for name, part in value.items() if part)
    if isinstance(value, list):
        names = ", ".join(map(str, value[:_NAMES_SHOWN]))
        more = len(value) - _NAMES_SHOWN
        return f"{names} and {more:,} more" if more > 0 else names
    return f"{value:,}" if isinstance(value, int) else str(value)


def sample(options: Any) -> int:
    os.makedirs(options.folder, exist_ok=True)
    for path in write_sample(options.folder):
        print(printable(path))
    return 0

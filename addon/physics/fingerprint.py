# SPDX-License-Identifier: GPL-3.0-or-later
"""A fingerprint of the inputs of a simulation, as text, by which an outdated file is recognized."""

import functools
import hashlib
from typing import Any

from bpy.types import Object

from ..blender import input_files
from ..pose import motion_source, physics_settings, pose_source
from ..pose.ik_source import Solver
from ..pose.motion_source import Motion
from . import key_inputs
from .key_inputs import Inputs

_VERSION = 3


def of_motion(motion: Motion, settings: motion_source.Settings) -> str:
    """The inputs of a motion's simulation."""
    physics = settings.physics
    assert physics is not None
    return _text(*_files_of(motion, settings), *physics.own, *_of_group(physics))


def of_run(motion: Motion, settings: motion_source.Settings) -> str:
    """The inputs of the run of a motion, which those of a group share."""
    assert settings.physics is not None
    return "".join(_of_group(settings.physics)) or of_motion(motion, settings)


def of_keys(solver: Solver, armature: Object, inputs: Inputs) -> str:
    """All inputs besides the values of bones and sliders; the last word is the digest of the keyframes."""
    physics = solver.settings.physics
    assert physics is not None
    keys = key_inputs.digest_of_keys(armature, inputs)
    return _text("keys", *_of_solver(solver), *_of_group(physics), keys)


def _files_of(motion: Motion, settings: motion_source.Settings) -> list[str]:
    """Digests of the model and its motion files, and where motions start that are merged into one."""
    found = [_digest(path) for path in (motion.rig.path, motion.path)]
    if settings.earlier:
        for path, start in (*settings.earlier, (motion.path, settings.start)):
            found += [_digest(path), f"{start - settings.first:g}"]
    return found


def _of_solver(solver: Solver) -> tuple:
    settings, rig = solver.settings, solver.rig
    assert settings.physics is not None
    bones = hashlib.sha256(repr(sorted(rig.bones.items())).encode())
    bones.update(solver.rests.tobytes())
    return _digest(rig.path), bones.hexdigest(), *settings.physics.own, settings.fps


def _of_group(physics: physics_settings.Settings) -> list[str]:
    """A digest of the models that are simulated together; none for a model alone."""
    if not physics.group:
        return []
    parts = [_of_member(member) for member in physics.group]
    return [hashlib.sha256(repr(parts).encode()).hexdigest()]


def _of_member(member: physics_settings.Member) -> tuple:
    armature, settings = pose_source.armature_of(member), member.settings
    opened: Any = pose_source.load(armature, settings)
    if isinstance(opened, Motion):
        time = settings.start, opened.speed
        return *_files_of(opened, settings), *map(str, settings.physics.own), *time, member.world
    inputs = Inputs(opened)
    keys = key_inputs.digest_of_keys(armature, inputs)
    return *map(str, _of_solver(opened)), keys, member.world


def _text(*parts: object) -> str:
    return " ".join(
        str(int(part) if isinstance(part, bool) else part) for part in (_VERSION, *parts)
    )


def _digest(path: str) -> str:
    """A digest of a file's contents."""
    stat = input_files.check(path)
    return _digest_of(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=32)
def _digest_of(path: str, mtime: int, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()

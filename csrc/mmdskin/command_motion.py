# SPDX-License-Identifier: MIT
"""python -m mmdskin simulate, convert and fit: what writes a model or a motion."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import mmdskin
from mmdskin import command_input
from mmdskin.command_console import CommandError, Progress, warn
from mmdskin.errors import counted, printable

FRAMES_AT_ONCE = 64
_SHOWN = {"body": "MODEL", "settings": "--set"}  # arguments that are not called as they are stored


def simulate(options: Any) -> int:
    command_input.check_output(options.output, options.model, options.motion)
    model = command_input.load_model(options.model)
    motion = command_input.load_motion(options.motion, options.encoding, model)
    numbers = command_input.frame_numbers(options.motion, motion)
    simulation = mmdskin.Simulation(model, motion, command_input.physics_settings(options))
    poses = []
    with Progress("frame", len(numbers), options.progress) as bar:
        for first in range(0, len(numbers), FRAMES_AT_ONCE):
            part = numbers[first : first + FRAMES_AT_ONCE]
            poses.append(simulation.pose(part))
            bar.add(len(part))
    for note in simulation.notes:
        warn(f"{options.model}: {note}")
    pose = mmdskin.Pose(*(np.concatenate(arrays) for arrays in zip(*poses, strict=True)))
    solved = with_physics(model, motion, pose, options.tolerance)
    _save(solved, options.output, part="model", names=options.names or "error")
    return 0


def with_physics(
    model: mmdskin.Model, motion: mmdskin.Motion, pose: mmdskin.Pose, tolerance: float
) -> mmdskin.Motion:
    """The motion with keys for the bones that physics moves in the poses, which switch their
    physics off. All other keys are kept, but IK of these bones is switched off."""
    moved = {body.bone for body in model.rigid_bodies if body.mode != "follow_bone"} - {-1}
    off = []
    for bone in model.bones:
        links = {link.bone for link in bone.ik.links} if bone.ik else set()
        if bone.ik and (links | {bone.ik.target}) & moved:
            off.append(bone.name)
            moved |= links
    off = [name for name in dict.fromkeys(off) if name]  # a switch is for all IK of its name
    translations, rotations = model.locals_of(pose)
    # A key moves the first bone of its name; MMD simulates the others.
    named = [i for i in sorted(moved) if (name := model.bones[i].name) and model.bone(name) == i]
    values = {model.bones[i].name: (translations[:, i], rotations[:, i]) for i in named}
    fitted, _ = mmdskin.Motion.from_locals(
        model, values, ik="off", physics="keys", physics_tolerance=tolerance
    )
    kept = [track for track in motion.bones if track.name not in values]
    return mmdskin.Motion.from_tracks(
        [*kept, *(track for track in fitted.bones if track.name in values)],
        motion.morphs,
        properties=_switched_off(motion.properties, off),
        name=motion.name,
    )


def _switched_off(track: mmdskin.PropertyTrack, names: list[str]) -> mmdskin.PropertyTrack:
    """A track with the IK of these names off in all keys, of which there is at least one."""
    if not names:
        return track
    if not len(track.frames):
        one = np.zeros(1, np.uint32), np.ones(1, bool)
        return mmdskin.PropertyTrack(*one, tuple(names), np.zeros((1, len(names)), bool))
    all_names = (*track.ik_names, *(name for name in names if name not in track.ik_names))
    added = len(all_names) - len(track.ik_names)
    enabled = np.pad(np.asarray(track.ik_enabled), ((0, 0), (0, added)))
    enabled[:, [all_names.index(name) for name in names]] = False
    return track._replace(ik_names=all_names, ik_enabled=enabled)


def convert(options: Any) -> int:
    command_input.check_output(options.output, options.input, options.body, options.motion)
    if command_input.is_capture(options.input):
        return _convert_capture(options)
    captures = "are for a .bvh, .gltf, .glb, .vrm or .vrma"
    _refuse(options, captures, "body", "legs", "tolerance", "up")
    if options.output.lower().endswith(".glb"):
        return _convert_to_glb(options)
    _refuse(options, "are for a .glb", "motion", "frames", "physics", "settings")
    if options.output.lower().endswith(".pmx"):
        _refuse(options, "are for motions", "frame", "model", "part", "names", "encoding")
        _save(command_input.load_model(options.input), options.output)
        return 0
    is_pose = options.output.lower().endswith(".vpd")
    if not is_pose:
        _refuse(options, "are for a .vpd", "frame", "model")
    of = command_input.load_model(options.model) if options.model else None
    motion = command_input.load_motion(options.input, options.encoding, of)
    arguments = {"part": options.part, "names": options.names or "error"}
    if is_pose:
        arguments |= {"frame": options.frame, "model": of}
    _save(motion, options.output, **arguments)
    return 0


def _convert_capture(options: Any) -> int:
    """A .bvh, .glb, … as the motion of a model."""
    ending = os.path.splitext(options.input)[1].lower()
    if not options.body or not options.output.lower().endswith(".vmd"):
        raise CommandError(
            f"a {ending} needs a model and a .vmd: IN{ending} MODEL OUT.vmd", status=2
        )
    _refuse(options, f"are not for a {ending}", "frame", "model", "part", "encoding")
    if ending != ".bvh":
        _refuse(options, "is for a .bvh", "up")
    model = command_input.load_model(options.body)
    skeleton, poses, fps = command_input.load_capture(options.input, options.up)
    arguments: dict[str, Any] = {"legs": options.legs, "tolerance": options.tolerance}
    chosen = {name: value for name, value in arguments.items() if value is not None}
    try:
        motion, report = mmdskin.Motion.from_skeleton(model, skeleton, poses, fps=fps, **chosen)
    except ValueError as error:
        raise CommandError(f"{options.input}: {error}") from error
    _save(motion, options.output, names=options.names or "error")
    _show(report)
    return 0


def fit(options: Any) -> int:
    command_input.check_output(options.output, options.motion, options.made_for, options.model)
    target = command_input.load_model(options.model)
    source = command_input.load_model(options.made_for) if options.made_for else None
    motion = command_input.load_motion(options.motion, options.encoding, source or target)
    try:
        fitted, report = motion.for_model(
            target, made_for=source, hands=not options.no_hands, scale=options.scale
        )
    except ValueError as error:
        raise CommandError(f"{options.motion}: {error}") from error
    _save(fitted, options.output, names=options.names or "error")
    _show(report)
    return 0


def _show(report: mmdskin.FitReport) -> None:
    """A line for each note, with all that it is about."""
    about: dict[str, list[str]] = {}
    for name, note in report.notes:
        about.setdefault(note, []).append(name)
    print(counted(report.keys, "key"))
    for note, names in about.items():
        print(printable(f"{', '.join(names)}: {note}" if any(names) else note))


def _convert_to_glb(options: Any) -> int:
    _refuse(options, "are for motions", "frame", "model", "part", "names")
    if not options.motion:
        _refuse(options, "need --motion", "frames", "physics", "encoding")
    model = command_input.load_model(options.input)
    motion = numbers = None
    if options.motion:
        motion = command_input.load_motion(options.motion, options.encoding, model)
        numbers = command_input.frame_numbers(options.motion, motion, options.frames or slice(None))
    mmdskin.save_glb(
        options.output,
        model,
        motion,
        numbers,
        textures=command_input.textures(model, options.input),
        physics=command_input.physics(options),
    )
    return 0


def _refuse(options: Any, why: str, *names: str) -> None:
    """Raises CommandError if one of these options is given."""
    values = [getattr(options, name) for name in names]
    if all(value is None or value is False or value in ("", []) for value in values):
        return
    *others, last = [_SHOWN.get(name, f"--{name}") for name in names]
    listed = f"{', '.join(others)} and {last}" if others else last
    raise CommandError(f"{listed} {why}", status=2)


def _save(thing: mmdskin.Model | mmdskin.Motion, path: str, **arguments: Any) -> None:
    try:
        thing.save(path, **arguments)
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error

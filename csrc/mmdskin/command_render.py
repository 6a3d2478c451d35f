# SPDX-License-Identifier: MIT
"""python -m mmdskin render."""

from __future__ import annotations

import contextlib
import fractions
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

import mmdskin
from mmdskin import command_input, video_file
from mmdskin.command_console import CommandError, Progress
from mmdskin.file_io import numbered
from mmdskin.new_file import new_file
from mmdskin.notebook import png

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    _Numbers = NDArray[np.floating[Any]]

SAMPLES_AT_ONCE = 1 << 23  # of a batch; more make render() read the textures again
PICTURES_AT_ONCE = 16
FPS = 30


def run(options: Any) -> int:
    _check(options)
    command_input.check_output(options.output, options.model, options.motion, options.camera)
    images: dict[int, NDArray[np.uint8]]
    motion = None
    if options.model is None or _is_motion(options.model):
        options.motion, options.model = options.motion or options.model, None
        model, _, images = mmdskin.sample()  # dances what is there
    else:
        model = command_input.load_model(options.model)
        images = command_input.textures(model, options.model)
    if options.motion:
        motion = command_input.load_motion(options.motion, options.encoding, model)
    seen = command_input.load_motion(options.camera) if options.camera else None
    if seen and not len(seen.camera.frames):
        raise CommandError(f"{options.camera}: has no camera")
    numbers: _Numbers = np.array([options.frame or 0.0])
    is_video = _is_video(options)
    if is_video:
        options.frames = options.frames or slice(None)
    if options.frames is not None:
        longest = max((m for m in (motion, seen) if m), key=lambda m: m.frame_range, default=None)
        file = options.motion or options.camera or options.model or model.name
        numbers = command_input.frame_numbers(file, longest, options.frames).astype(float)
    still = None
    if not seen:
        still = mmdskin.framing(model, motion, numbers if motion else None, size=options.size)
    with contextlib.ExitStack() as stack:
        if is_video:
            video = stack.enter_context(new_file(options.output))
            rate = fractions.Fraction(FPS, options.frames.step or 1)
            write = stack.enter_context(video_file.writer(video, options.size, rate))
        bar = stack.enter_context(Progress("picture", len(numbers), options.progress))
        for part, pose in _poses(options, model, motion, numbers):
            arguments = _look(options, model, pose, [m for m in (seen, motion) if m], part)
            camera = seen.camera_at(part) if seen else still
            found = mmdskin.render(
                model,
                pose,
                size=options.size,
                camera=camera,
                background=options.background,
                textures=images,
                samples=options.samples,
                **arguments,
            )
            for number, image in zip(part, found.image, strict=True):
                if is_video:
                    write(image)
                else:
                    with new_file(_name(options, number)) as picture:
                        picture.write(png(image))
                bar.add(1)
    return 0


def _check(options: Any) -> None:
    """Raises CommandError for what would have no effect."""
    if options.motion and _is_motion(options.model):
        raise CommandError(f"{options.model}: expected a model before the motion", status=2)
    if _is_video(options) and options.frame is not None:
        raise CommandError("--frame is for a picture: choose --frames of a video", status=2)
    if options.look != "mmd" and (options.ground_shadow or options.self_shadow):
        raise CommandError("--ground-shadow and --self-shadow are for --look mmd", status=2)


def _is_motion(path: str) -> bool:
    return path.lower().endswith((".vmd", ".vpd"))


def _is_video(options: Any) -> bool:
    return bool(options.output.lower().endswith(".mp4"))


def _name(options: Any, number: float) -> str:
    """The name of a frame's picture."""
    path: str = options.output
    return path if options.frames is None else numbered(path, int(number))


def _poses(
    options: Any, model: mmdskin.Model, motion: mmdskin.Motion | None, numbers: _Numbers
) -> Iterator[tuple[_Numbers, mmdskin.Pose]]:
    """Some frames at a time: those that show the same materials."""
    width, height = options.size
    fitting = SAMPLES_AT_ONCE // (width * height * options.samples**2 or 1)
    count = max(1, min(PICTURES_AT_ONCE, fitting))
    physics = command_input.physics(options)
    simulation = mmdskin.Simulation(model, motion, physics) if physics else None
    for first in range(0, len(numbers), count):
        part = numbers[first : first + count]
        pose = simulation.pose(part) if simulation else model.pose(motion, part)
        weights = np.asarray(pose.morph_weights)

        def shown(frame: int, weights: NDArray[np.float32] = weights) -> object:
            factors = model.texture_factors_at(weights[frame])
            return model.materials_at(weights[frame]), factors.tobytes()

        for _, found in itertools.groupby(range(len(part)), shown):
            chosen = [*found]
            yield part[chosen], mmdskin.Pose(pose.bone_matrices[chosen], weights[chosen])


def _look(
    options: Any,
    model: mmdskin.Model,
    pose: mmdskin.Pose,
    motions: list[mmdskin.Motion],
    numbers: _Numbers,
) -> dict[str, Any]:
    """The arguments of render() that morphs, light keys and --look decide."""
    weights = np.asarray(pose.morph_weights)
    arguments: dict[str, Any] = {
        "look": options.look,
        "materials": model.materials_at(weights[0]),
        "uvs": model.uvs_at(weights),
    }
    lit = next((motion for motion in motions if len(motion.light.frames)), None)
    light = lit.light_at(numbers) if lit else None
    if light:
        arguments["light"] = light.direction
    if options.look == "mmd":
        arguments |= {
            "edges": True,
            "factors": model.texture_factors_at(weights[0]),
            "additional_uvs": model.uvs_at(weights, 1),
            "light_color": light.color if light else None,
            "ground_shadow": options.ground_shadow or None,
            "self_shadow": options.self_shadow,
        }
    return arguments

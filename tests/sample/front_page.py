# SPDX-License-Identifier: MIT
"""The moving pictures of the README's first screen: the dancer, and her elbow before and after."""

from functools import cache, partial

import mmdskin
import numpy as np
from PIL import Image, ImageDraw
from sample import picture, stage
from sample.character import dance, model, skeleton
from sample.motion import axis_angle

FPS = 20
COLORS = 128

DANCE = {"size": (400, 440), "camera": picture.camera((0, 10.7, 0), 24.6, yaw=-12, pitch=8)}
ELBOW = {"size": (330, 250), "camera": picture.camera((4.7, 14.1, 0), 5.8, yaw=-8, pitch=6)}
LABELS = {"linear": "Armature modifier", "mmd": "mmdskin, as in MMD"}
SIDEWAYS, UPWARDS = (0.99, -0.02, -0.1), (0, 1, -0.1)
GAP, BAND = 6, 34
FLOOR_SHADOW = (0.3, 0.32, 0.4, 0.25)
BEND, TWIST = 125, 160
HALF = 22  # frames of half a movement


@cache
def _loaded(folder):
    found = mmdskin.load_model(model.write_character(folder))
    return found, mmdskin.load_motion(dance.write_dance(folder))


@cache
def _textures(folder):
    names = enumerate(_loaded(folder)[0].textures)
    return {i: np.asarray(Image.open(folder / name).convert("RGBA")) for i, name in names}


def _dance_frame(folder, frame):
    found, motion = _loaded(folder)
    options = {"look": "mmd", "edges": True, "ground_shadow": FLOOR_SHADOW}
    image = mmdskin.render(
        found, found.pose(motion, frame), textures=_textures(folder), samples=3, **DANCE, **options
    ).image
    return picture.on_background(image)


def _elbow_frame(folder, frame):
    """Both methods side by side: first the elbow bends, then the forearm twists."""
    found, _ = _loaded(folder)
    bending = frame < 2 * HALF
    degrees = (BEND if bending else TWIST) * (1 - np.cos(np.pi * frame / HALF)) / 2
    pose = _arm_pose(found, skeleton.HINGE if bending else skeleton.REACH, degrees)
    width, height = ELBOW["size"]
    page = Image.new("RGB", (2 * width + GAP, BAND + height), "white")
    pen = ImageDraw.Draw(page)
    for i, (method, label) in enumerate(LABELS.items()):
        left = i * (width + GAP)
        out = mmdskin.skin(found, pose, method=method)
        image = stage.draw(found, *out[:2], folder, shadow=False, **ELBOW)
        page.paste(image, (left, BAND))
        pen.text((left + 8, BAND / 2), label, (40, 44, 52), picture.font(19), "lm")
        what = f"{'bent' if bending else 'twisted'} by {degrees:.0f}°"
        place = (left + width - 10, BAND + height - 12)
        pen.text(place, what, (110, 116, 128), picture.font(16), "rs")
    return page


def _arm_pose(found, axis, degrees):
    """The left arm stretched to the side with the elbow rotated; the hair does not hide it."""
    bones = {
        "左腕": (None, dance.arm(SIDEWAYS, UPWARDS)[0]),
        "左ひじ": (None, axis_angle(axis, degrees)),
        "左髪1": (None, axis_angle((1, 0, 0), 75)),
    }
    return found.pose_from(bones)


def _animate(path, frames, draw):
    """A GIF of draw(frame) with one palette for all frames, so that still parts do not flicker."""
    images = [draw(frame) for frame in frames]
    strip = Image.new("RGB", (images[0].width, 8 * images[0].height))
    for i, image in enumerate(images[:: -(-len(images) // 8)]):
        strip.paste(image, (0, i * image.height))
    # k-means: small areas such as the eyes keep their own colors
    palette = strip.quantize(COLORS, Image.Quantize.MEDIANCUT, 6, dither=Image.Dither.NONE)
    small = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    small[0].save(
        path, save_all=True, append_images=small[1:], duration=1000 // FPS, loop=0, optimize=True
    )
    return path


def write_pictures(folder):
    """Writes dancer.gif and elbows.gif; returns their paths."""
    _loaded(folder)
    step = 30 / FPS
    dancing = _animate(
        folder / "dancer.gif", np.arange(0, dance.LAST, step), partial(_dance_frame, folder)
    )
    frames = np.roll(np.arange(4 * HALF), -HALF)  # pages without motion show the bent elbow
    elbows = _animate(folder / "elbows.gif", frames, partial(_elbow_frame, folder))
    return dancing, elbows

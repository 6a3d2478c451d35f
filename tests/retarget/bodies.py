# SPDX-License-Identifier: MIT
"""Models of the tests, variants of their bodies, and what is measured in their poses."""

from functools import cache
from itertools import pairwise

import mmdskin
import numpy as np
from files import locations

JAPANESE = {"left": "左", "right": "右"}
MM = 80  # per unit


@cache
def dancer():
    return mmdskin.load_model(locations.own_files()["dancer.pmx"])


@cache
def dance():
    return mmdskin.load_motion(locations.own_files()["dancer.vmd"])


def humans():
    """The models with MMD's bones and a mesh: the dancer, and published ones where they are at hand."""
    found = [mmdskin.load_model(path) for path in locations.published("pmx", "pmd")]
    bones = {"センター", "左足ＩＫ", "左手首"}
    named = [m for m in found if bones <= set(m.bones.names) and len(m.positions)]
    return [dancer(), *named]


def long_dance():
    """Four minutes, 7,600 frames: the dance, again and again."""
    starts = np.arange(0, 7600, 121)
    tracks = []
    for name, frames, *values in (track[:5] for track in dance().bones):
        repeated = [np.concatenate([one] * len(starts)) for one in values]
        tracks.append((name, (starts[:, None] + frames).ravel(), *repeated))
    return mmdskin.Motion.from_tracks(tracks)


def variant(model, scale=1.0, arms=0.0, legs=1.0, broader=0.0, renamed=()):
    """The same bones on another body: larger, arms lower by degrees, legs of another length, broader
    shoulders, and some bones by other names."""
    bones = model.bones
    places = scale * np.array([bone.position for bone in bones], float)
    hips = scale * bones["左足"].position[1]
    below = places[:, 1] < hips
    grown = (legs - 1) * hips
    places[:, 1] = np.where(below, places[:, 1] * legs, places[:, 1] + grown)
    for side, sign in (("左", -1), ("右", 1)):
        root = bones.names.index(side + "腕")
        angle = np.radians(sign * arms)
        turn = [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
        arm = [i for i in range(len(bones)) if root in _chain(bones, i)]
        moved = places[root] - (sign * broader, 0, 0)
        places[arm] = moved + (places[arm] - places[root]) @ np.array(turn).T
    changed = []
    for bone, place in zip(bones, places, strict=True):
        axis = bone.fixed_axis
        if axis is not None:
            following = {"腕捩": "ひじ", "手捩": "手首"}.get(bone.name[1:3], "手首")
            start, end = (places[bones.names.index(bone.name[0] + n)] for n in ("腕", following))
            axis = tuple((end - start) / np.linalg.norm(end - start))
        name = bone.name + "旧" if bone.name in renamed else bone.name
        changed.append(bone._replace(name=name, position=tuple(place), fixed_axis=axis))
    return model.replace(bones=changed)


def write_tall_dancer(folder):
    """The dancer's bones, longer and with level arms, as tall.pmx."""
    variant(dancer(), scale=1.2, arms=-39, legs=1.1).save(folder / "tall.pmx")


def _chain(bones, i):
    while i >= 0:
        yield i
        i = bones[i].parent


def posed(model, motion, frames, **options):
    return model.transforms(model.pose(motion, frames, **options)).astype(float)


def places(model, world, name):
    return world[:, model.bone(name), :3, 3]


def directions(model, world, *parts):
    """Unit vectors (n,F,3) from joint to joint, of both sides: "腕", "ひじ", "手首"."""
    found = []
    for side in "左右":
        for a, b in pairwise(parts):
            found.append(places(model, world, side + b) - places(model, world, side + a))
    found = np.array(found)
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def degrees(a, b):
    return np.degrees(2 * np.arcsin(np.clip(np.linalg.norm(a - b, axis=-1) / 2, 0, 1)))


def turned(a, b):
    """Degrees between rotations (...,3,3)."""
    trace = np.trace(np.swapaxes(a, -1, -2) @ b, axis1=-2, axis2=-1)
    return np.degrees(np.arccos(np.clip((trace - 1) / 2, -1, 1)))


def leg(model):
    hip, knee, ankle = (np.array(model.bones["左" + n].position) for n in ("足", "ひざ", "足首"))
    return np.linalg.norm(knee - hip) + np.linalg.norm(ankle - knee)


def wrists_apart(model, world):
    """The gap (F,3), in lengths of the arms."""
    shoulder, elbow, wrist = (
        np.array(model.bones["左" + n].position) for n in ("腕", "ひじ", "手首")
    )
    arm = np.linalg.norm(elbow - shoulder) + np.linalg.norm(wrist - elbow)
    return (places(model, world, "左手首") - places(model, world, "右手首")) / arm

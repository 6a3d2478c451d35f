# SPDX-License-Identifier: MIT
"""What a retargeted motion is judged by: directions of limbs, and feet that stand."""

import itertools

import numpy as np

SIDES = ("left", "right")
_LIMBS = ("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot")
_FINGERS = [
    tuple(f + p for p in ("Proximal", "Intermediate", "Distal"))
    for f in ("Thumb", "Index", "Middle", "Ring", "Little")
]
BONES = [
    (side + a, side + b)
    for side in SIDES
    for chain in (*_LIMBS, *_FINGERS)
    for a, b in itertools.pairwise(chain)
]
SLOW, LOW = 0.12, 0.06  # legs per second, and legs above the lowest height: a foot that stands


def read_human(skeleton):
    """Slots, and the D bones in place of a model's legs: the mesh follows them."""
    names = {name: bone for bone, name in enumerate(skeleton.names)}
    human = dict(skeleton.human)
    for side, word in (("left", "左"), ("right", "右")):
        for part, name in (("UpperLeg", "足D"), ("LowerLeg", "ひざD"), ("Foot", "足首D")):
            human[side + part] = names.get(word + name, human[side + part])
    return human


def _facing(skeleton):
    """The rotation that brings the left of the rest pose to +X."""
    rest, human = skeleton.rest[:, :3, 3], skeleton.human
    x, _, z = rest[human["leftUpperLeg"]] - rest[human["rightUpperLeg"]]
    x, z = np.array([x, z]) / np.hypot(x, z)
    return np.array([[x, 0, z], [0, 1, 0], [-z, 0, x]])


def joints(skeleton, transforms):
    """{slot: (F,3)}, facing -Z at rest."""
    C = _facing(skeleton)
    return {s: transforms[:, b, :3, 3] @ C.T for s, b in read_human(skeleton).items()}


def direction_errors(source, poses, target, moved):
    """{slot: degrees (F,) between the directions of its bone}, for slots that both have."""
    a, b = joints(source, poses), joints(target, moved)
    found = {}
    for first, second in BONES:
        if all(slot in one for slot in (first, second) for one in (a, b)):
            u, v = a[second] - a[first], b[second] - b[first]
            sine = np.linalg.norm(np.cross(u, v), axis=-1)
            found[first] = np.degrees(np.arctan2(sine, np.sum(u * v, -1)))
    return found


def leg(skeleton):
    rest = skeleton.rest[:, :3, 3]
    hip, knee, foot = (
        rest[skeleton.human[s]] for s in ("leftUpperLeg", "leftLowerLeg", "leftFoot")
    )
    return np.linalg.norm(knee - hip) + np.linalg.norm(foot - knee)


def contacts(skeleton, poses, fps=30):
    """{slot: frames (F,) in which an ankle or toe stands: low and slow}."""
    found = {}
    at, size = joints(skeleton, poses), leg(skeleton)
    rest = joints(skeleton, skeleton.rest[None])
    for slot in (side + part for side in SIDES for part in ("Foot", "Toes")):
        if slot in at:
            speed = np.linalg.norm(np.gradient(at[slot], axis=0), axis=-1) * fps
            height = at[slot][:, 1]
            low = min(rest[slot][0, 1], np.percentile(height, 5)) + LOW * size
            found[slot] = (speed < SLOW * size) & (height < low)
    return found


def slide(skeleton, poses, found, fps=30):
    """Path over the floor in the contacts of the source, units per second of contact."""
    at = joints(skeleton, poses)
    path = frames = 0
    for slot, stands in found.items():
        both = stands[1:] & stands[:-1]
        if slot in at:
            path += np.linalg.norm(np.diff(at[slot][:, [0, 2]], axis=0), axis=-1)[both].sum()
            frames += both.sum()
    return path / max(frames, 1) * fps


def sink(skeleton, poses):
    """How far ankles or toes are below their rest: the 99th percentile."""
    at, rest = joints(skeleton, poses), joints(skeleton, skeleton.rest[None])
    slots = [side + part for side in SIDES for part in ("Foot", "Toes") if side + part in at]
    return np.percentile(np.max([rest[s][0, 1] - at[s][:, 1] for s in slots], 0).clip(0), 99)

# SPDX-License-Identifier: MIT
"""The character's bones: the standard names that dances move, IK legs, twist and D bones.

Positions are in MMD's units; the character looks towards -z and her left is +x.
"""

from functools import cache
from itertools import pairwise

import numpy as np
from files import pmx_file as pmx

HIP, KNEE, ANKLE, TOE = (0.95, 10.0, 0.0), (0.95, 5.6, -0.3), (0.95, 1.4, 0.1), (0.95, 0.25, -1.5)
WAIST = (0.0, 11.3, 0.0)
CHEST, NECK, HEAD = (0.0, 12.6, 0.0), (0.0, 14.5, 0.1), (0.0, 15.3, 0.05)
SHOULDER, ARM = (0.3, 14.0, 0.1), np.array((1.5, 13.75, 0.1))
SLOPE = np.radians(40)
# from the shoulder to the fingers, and about which elbows bend the hand forwards
REACH = np.array((np.cos(SLOPE), -np.sin(SLOPE), 0.0))
HINGE = np.array((np.sin(SLOPE), np.cos(SLOPE), 0.0))
UPPER, FORE, HAND = 3.0, 2.8, 0.8  # lengths
ELBOW, WRIST = ARM + UPPER * REACH, ARM + (UPPER + FORE) * REACH
EYE = (
    0.35,
    17.65,
    -0.6,
)  # behind the eye, at the center of the face's curvature, so that the eye slides over the face

SKIRT_CHAINS = 10
SKIRT_HEIGHTS = (11.0, 9.6, 8.4)
TAIL = ((2.45, 19.3, 0.7), (4.05, 18.2, 1.0), (4.75, 15.9, 1.2), (4.7, 13.4, 1.3), (4.3, 11.2, 1.2))
COWLICK = ((0.0, 21.1, -0.3), (0.15, 22.2, -0.4))

VISIBLE_MOVING = 0x1E  # rotatable, movable, visible and operable
TURNING = 0x1A
HIDDEN = 0x02


def skirt_point(chain, height):
    """A point on the skirt: chain 0 is at the back, numbered around by her left."""
    angle = 2 * np.pi * chain / SKIRT_CHAINS
    radius = skirt_radius(height)
    return (radius * np.sin(angle), height, radius * np.cos(angle))


def skirt_radius(height):
    fraction = (11.45 - height) / 4.25
    return 1.15 + 2.15 * fraction**0.8 if fraction > 0 else 1.15


def _floats(values):
    return tuple(map(float, values))


class _Bones:
    """Bones in file order, which others refer to by name."""

    def __init__(self):
        self.records, self.index = [], {}

    def add(self, name, english, position, parent=None, tail=(0, 0.6, 0), **fields):
        """`tail`: the name of a bone, which may be added later, or an offset."""
        self.index[name] = len(self.records)
        is_bone = isinstance(tail, str)
        bone = pmx.Bone(
            name,
            english,
            _floats(position),
            parent,
            tail_bone=tail if is_bone else None,
            tail_offset=None if is_bone else _floats(tail),
            **fields,
        )
        self.records.append(bone)

    def finished(self):
        """The records, with names replaced by indices."""
        for bone in self.records:
            bone.parent = self._number(bone.parent)
            if bone.tail_bone is not None:
                bone.tail_bone = self.index[bone.tail_bone]
            if bone.append:
                bone.append.source = self.index[bone.append.source]
            if bone.ik:
                bone.ik.target = self.index[bone.ik.target]
                for link in bone.ik.links:
                    link.bone = self.index[link.bone]
        return self.records

    def _number(self, name):
        return -1 if name is None else self.index[name]


def _body(add):
    add("全ての親", "root", (0, 0, 0), tail="センター", flags=VISIBLE_MOVING)
    add("センター", "center", (0, 8, 0), "全ての親", (0, -1, 0), flags=VISIBLE_MOVING)
    add("グルーブ", "groove", (0, 8.2, 0), "センター", (0, 0.8, 0), flags=VISIBLE_MOVING)
    add("腰", "waist", (0, 10.6, 0.1), "グルーブ", flags=VISIBLE_MOVING)
    add("下半身", "lower body", WAIST, "腰", (0, -1.2, 0), flags=TURNING)
    add("上半身", "upper body", WAIST, "腰", "上半身2", flags=TURNING)
    add("上半身2", "upper body 2", CHEST, "上半身", "首", flags=TURNING)
    add("首", "neck", NECK, "上半身2", "頭", flags=TURNING)
    add("頭", "head", HEAD, "首", (0, 2.5, 0), flags=TURNING)
    add("両目", "eyes", (0, 22.5, -0.6), "頭", (0, 0, -1), flags=TURNING)


def _twists(add, side, part, english, start, end, axis, parent):
    """A twist bone and three bones that append parts of its rotation, so that the skin twists evenly."""
    name = f"{side}{part}捩"
    places = [start + (end - start) * fraction for fraction in (0.25, 0.5, 0.75)]
    tail = axis * 0.5
    add(name, f"{english} twist", places[1], parent, tail, flags=TURNING, fixed_axis=_floats(axis))
    for i, (place, ratio) in enumerate(zip(places, (0.25, 0.5, 0.75), strict=True), 1):
        append = pmx.Append(name, ratio)
        add(f"{name}{i}", f"{english} twist {i}", place, parent, tail, flags=HIDDEN, append=append)


def _arm(add, side, english, flip):
    eye, shoulder, arm, elbow, wrist, reach = (
        flip * np.array(place) for place in (EYE, SHOULDER, ARM, ELBOW, WRIST, REACH)
    )
    append = pmx.Append("両目", 1.0)
    add(f"{side}目", f"{english} eye", eye, "頭", (0, 0, -1), flags=TURNING, append=append)
    add(f"{side}肩", f"{english} shoulder", shoulder, "上半身2", f"{side}腕", flags=TURNING)
    add(f"{side}腕", f"{english} arm", arm, f"{side}肩", f"{side}ひじ", flags=TURNING)
    _twists(add, side, "腕", f"{english} arm", arm, elbow, reach, f"{side}腕")
    add(f"{side}ひじ", f"{english} elbow", elbow, f"{side}腕捩", f"{side}手首", flags=TURNING)
    _twists(add, side, "手", f"{english} wrist", elbow, wrist, reach, f"{side}ひじ")
    add(f"{side}手首", f"{english} wrist", wrist, f"{side}手捩", reach * HAND, flags=TURNING)


def _leg(add, side, english, flip):
    places = [flip * np.array(place) for place in (HIP, KNEE, ANKLE, TOE)]
    hip, knee, ankle, toe = places
    names = [f"{side}{part}" for part in ("足", "ひざ", "足首", "つま先")]
    add(names[0], f"{english} leg", hip, "下半身", names[1], flags=TURNING)
    add(names[1], f"{english} knee", knee, names[0], names[2], flags=TURNING)
    add(names[2], f"{english} ankle", ankle, names[1], names[3], flags=TURNING)
    add(names[3], f"{english} toe", toe, names[2], (0, 0, -0.5), flags=HIDDEN)
    bent = ((-np.pi, 0.0, 0.0), (np.radians(-0.5), 0.0, 0.0))
    ik = pmx.IK(names[2], 40, 2.0, [pmx.IKLink(names[1], *bent), pmx.IKLink(names[0])])
    add(f"{side}足ＩＫ", f"{english} leg IK", ankle, "全ての親", (0, 0, 1.3), ik=ik)
    ik = pmx.IK(names[3], 3, 4.0, [pmx.IKLink(names[2])])
    add(f"{side}つま先ＩＫ", f"{english} toe IK", toe, f"{side}足ＩＫ", (0, -0.8, 0), ik=ik)
    # The bones that deform the skin, in a layer after the IK.
    parent = "下半身"
    for part, word, place in zip(
        ("足", "ひざ", "足首"), ("leg", "knee", "ankle"), places, strict=False
    ):
        append = pmx.Append(f"{side}{part}", 1.0)
        name = f"{side}{part}D"
        add(name, f"{english} {word} D", place, parent, layer=1, flags=TURNING, append=append)
        parent = name


def _chain(add, name, english, places, parent):
    """Bones from each position to the next."""
    for i, (place, end) in enumerate(pairwise(places), 1):
        tail = np.subtract(end, place)
        add(f"{name}{i}", f"{english} {i}", place, parent, tail, flags=TURNING)
        parent = f"{name}{i}"


@cache
def bones():
    """(records, index by name)"""
    found = _Bones()
    _body(found.add)
    for side, english, flip in SIDES:
        _arm(found.add, side, english, flip)
        _leg(found.add, side, english, flip)
    for side, english, flip in SIDES:
        places = [flip * np.array(place) for place in TAIL]
        _chain(found.add, f"{side}髪", f"{english} tail", places, "頭")
    _chain(found.add, "アホ毛", "cowlick", COWLICK, "頭")
    for chain in range(SKIRT_CHAINS):
        places = [skirt_point(chain, height) for height in (*SKIRT_HEIGHTS, 7.2)]
        _chain(found.add, f"スカート{chain}_", f"skirt {chain}", places, "下半身")
    return found.finished(), found.index


SIDES = (("左", "left", np.array((1, 1, 1))), ("右", "right", np.array((-1, 1, 1))))


def number(name):
    return bones()[1][name]

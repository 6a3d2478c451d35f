# SPDX-License-Identifier: MIT
"""Which bone is which, by names: one table (bone_names.txt) for all conventions."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mmdskin.retargeting.slots import FINGERS, LIMBS, PHALANGES, SIDES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mmdskin.retargeting.bones import Bones

    _Find = Callable[[str, str, str, bool], list[int]]
    _First = Callable[[Iterable[int]], int | None]

_SIDE_WORDS = {"left": ("left", "l", "左", "lt"), "right": ("right", "r", "右", "rt")}
_CENTER = {"hips": "HIPS", "neck": "NECK", "head": "HEAD", "jaw": "JAW"}
_SHARED = 0.6  # of the bones begin with a prefix
_METACARPAL = 0.45  # of the distance from the wrist to the next joint


class Table(NamedTuple):
    keys: dict[str, list[tuple[str, str, bool]]]  # word: (section, key, whether it is the only use)
    ignore: set[str]
    never: set[str]


class Name(NamedTuple):
    """What a bone's name says."""

    side: str  # "" in the middle
    keys: dict[tuple[str, str], bool]  # (section, key): whether the name has no other meaning


def _load() -> Table:
    text = Path(__file__).with_name("bone_names.txt").read_text("utf-8")
    found = Table({}, set(), set())
    section = ""
    for line in (line.strip() for line in text.splitlines()):
        if line.startswith("["):
            section = line[1:-1]
        elif not line or line.startswith("#"):
            continue
        elif "=" in line:
            key, words = line.split("=")
            for word in words.split():
                entry = (section, key.strip(), not word.endswith("*"))
                found.keys.setdefault(word.rstrip("*"), []).append(entry)
        else:
            (found.ignore if section == "ignore" else found.never).update(line.split())
    return found


_TABLE = _load()


def words_of(name: str) -> list[str]:
    """Lower-case words: "mixamorig:LeftUpLeg" has left, up and leg."""
    name = re.split(r"[:|]", unicodedata.normalize("NFKC", name))[-1]
    name = re.sub(r"([左右])", r" \1 ", name)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word.lower() for word in re.split(r"[\s_.\-()]+", name) if word]


def _without_digits(word: str) -> str:
    return word.rstrip("0123456789")


def _side_of(words: list[str]) -> tuple[str, list[str]]:
    """The side, and the words without it; glued ones, too: lfemur."""
    for i, word in enumerate(words):
        for side, forms in _SIDE_WORDS.items():
            if word in forms:
                return side, words[:i] + words[i + 1 :]
    for i, word in enumerate(words):
        for side, form in ((side, forms[n]) for n in (0, 1) for side, forms in _SIDE_WORDS.items()):
            rest = word.removeprefix(form)
            uses = _TABLE.keys.get(_without_digits(rest), ())
            sided = any(section != "body" or key == "EYE" for section, key, _ in uses)
            if rest != word and sided:
                return side, [*words[:i], rest, *words[i + 1 :]]
    return "", words


def _prefixes(names: list[list[str]]) -> set[str]:
    """Words with which most names begin, one after the other."""
    common: set[str] = set()
    sides = {form for forms in _SIDE_WORDS.values() for form in forms}
    while len(names) > 8:
        first = Counter(next((w for w in words if w not in common), "") for words in names)
        more = {w for w, n in first.items() if w and n > _SHARED * len(names)} - sides
        if not more:
            break
        common |= more
    return common


def _read(words: list[str]) -> Name:
    side, words = _side_of(words)
    words = [word for word in words if word not in _TABLE.ignore]
    whole = re.sub(
        r"^(finger\d)\d+$", r"\1", "".join(words)
    )  # Biped's Finger01: the first finger's
    core = re.sub(
        r"^(hand|f|finger)(?=thumb|index|middle|ring|pinky|little)", "", _without_digits(whole)
    )
    dotted = ".".join(words)  # Rigify's spine.006
    never = _TABLE.never
    uses = {
        (section, key): alone
        for form in (core, whole, dotted)
        for section, key, alone in _TABLE.keys.get(form, ())
    }
    excluded = (
        any(_without_digits(word) in never for word in words)
        or any(word in core for word in never if len(word) > 1 and not word.isascii())
        or core.endswith("ik")
    )
    return Name(side, {} if excluded and core not in _TABLE.keys else uses)


def _limb(rig: Bones, find: _Find, first: _First, side: str, limb: str) -> dict[str, int]:
    parts = LIMBS[limb]
    taken = {part: first(find(side, limb, part.upper(), True)) for part in parts}
    is_above = rig.tree.is_above
    # Ambiguous names: a free slot gets the first that lies between its neighbors.
    for n, part in enumerate(parts):
        if taken[part] is not None:
            continue
        upper = [bone for p in parts[:n] if (bone := taken[p]) is not None][-1:]
        lower = [bone for p in parts[n + 1 :] if (bone := taken[p]) is not None][:1]
        taken[part] = first(
            i
            for i in find(side, limb, part.upper(), False)
            if i not in taken.values()
            and all(is_above(bone, i) for bone in upper)
            and all(is_above(i, bone) for bone in lower)
        )
    if limb == "arm" and taken["UpperArm"] is None:  # no clavicle: "shoulder" is the upper arm
        taken["UpperArm"], taken["Shoulder"] = taken["Shoulder"], None
    return {side + part: bone for part, bone in taken.items() if bone is not None}


def _phalanges(rig: Bones, bones: list[int], hand: int | None, finger: str) -> list[int]:
    """The three joints that bend, of those that are named like the finger, root to tip."""
    bones = sorted(bones, key=lambda i: (rig.tree.depth[i], rig.names[i]))
    if len(bones) <= 3 or hand is None or finger == "Thumb":
        return bones[:3]
    places = rig.rest[:, :3, 3]
    near, far = np.linalg.norm(places[bones[:2]] - places[hand], axis=-1)
    starts_with_metacarpal = near < _METACARPAL * far
    return bones[1:4] if starts_with_metacarpal else bones[:3]


def by_names(rig: Bones) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Slots by name; and the bones of [double], [twist] and [root], by slot."""
    words = [words_of(name) for name in rig.names]
    common = _prefixes(words)
    names = [_read([word for word in one if word not in common]) for one in words]
    tree = rig.tree

    def find(side: str, section: str, key: str, alone: bool) -> list[int]:
        return [
            i for i, n in enumerate(names) if n.side == side and n.keys.get((section, key)) is alone
        ]

    def first(bones: Iterable[int]) -> int | None:
        """The nearest to the root, then the one with the most descendants."""
        return min(bones, key=lambda i: (tree.depth[i], -tree.size[i], rig.names[i]), default=None)

    human: dict[str, int] = {}
    for side in SIDES:
        for limb in LIMBS:
            human |= _limb(rig, find, first, side, limb)
        for finger in FINGERS:
            bones = find(side, "finger", finger.upper(), True)
            hand = human.get(side + "Hand")
            if hand is not None:
                bones = [i for i in bones if tree.is_above(hand, i)]
            joints = _phalanges(rig, bones, hand, finger)
            human |= dict(zip((side + finger + p for p in PHALANGES), joints, strict=False))
        eye = first(find(side, "body", "EYE", True))
        if eye is not None:
            human[side + "Eye"] = eye
    for slot, key in _CENTER.items():
        bone = first(find("", "body", key, True))
        if bone is None:
            bone = first(find("", "body", key, False))
        if bone is not None and bone not in human.values():
            human[slot] = bone

    special: dict[str, dict[str, int]] = {"double": {}, "twist": {}, "root": {}}
    for i, name in enumerate(names):
        for section, key in name.keys:
            if section in special:
                slots = [part for limb in LIMBS.values() for part in limb if part.upper() == key]
                special[section].setdefault(name.side + (slots[0] if slots else key), i)
    return human, special

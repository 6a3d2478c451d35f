# SPDX-License-Identifier: MIT
"""Which bone is which, by names: one table (bone_names.txt) for all conventions."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mmdskin.retargeting.bones import Tree
from mmdskin.retargeting.slots import FINGERS, LIMBS, MIDDLE, PHALANGES, SIDES
from mmdskin.rotations import Array

_SIDE_OF = {"left": "left", "l": "left", "左": "left", "lt": "left"}
_SIDE_OF |= {"right": "right", "r": "right", "右": "right", "rt": "right"}
_DIGITS = "0123456789"
_GLUED = ("left", "right", "l", "r")  # sides that names begin with: lfemur
_SHARED = 0.6  # of the bones begin with a prefix
_METACARPAL = 0.45  # of the distance from the wrist to the next joint
_FIRST_OF_FINGER = re.compile(r"^(finger\d)\d+$")  # Biped's Finger01: the first finger's
_OF_HAND = re.compile(r"^(hand|f|finger)(?=thumb|index|middle|ring|pinky|little)")

_Use = tuple[str, str, bool]  # section, slot, whether the word has no other use


def _load() -> tuple[dict[str, list[_Use]], dict[str, set[str]]]:
    """The uses of words, and the words of sections without slots."""
    uses: dict[str, list[_Use]] = {}
    others: dict[str, set[str]] = {}
    section = ""
    for line in Path(__file__).with_name("bone_names.txt").read_text("utf-8").splitlines():
        slot, is_slot, words = line.partition("=")
        if line.startswith("["):
            section = line[1:-1]
        elif is_slot:
            for word in words.split():
                use = (section, slot.strip(), not word.endswith("*"))
                uses.setdefault(word.rstrip("*"), []).append(use)
        elif not line.startswith("#"):
            others.setdefault(section, set()).update(line.split())
    return uses, others


_USES, _OTHERS = _load()


def _words_of(name: str) -> list[str]:
    """Lower-case words: "mixamorig:LeftUpLeg" has left, up and leg."""
    name = re.split(r"[:|]", unicodedata.normalize("NFKC", name))[-1]
    name = re.sub(r"([左右])", r" \1 ", name)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word.lower() for word in re.split(r"[\s_.\-()]+", name) if word]


def _prefixes(names: list[list[str]]) -> set[str]:
    """Words with which most names begin, one after the other."""
    common: set[str] = set()
    while len(names) > 8:
        first = Counter(next((w for w in words if w not in common), "") for words in names)
        more = {w for w, n in first.items() if w and n > _SHARED * len(names)} - _SIDE_OF.keys()
        if not more:
            break
        common |= more
    return common


def _side_of(words: list[str]) -> tuple[str, list[str]]:
    """The side ("" in the middle), and the words without it."""
    for i, word in enumerate(words):
        if word in _SIDE_OF:
            return _SIDE_OF[word], words[:i] + words[i + 1 :]
    for i, word in enumerate(words):
        for form in _GLUED:
            rest = word.removeprefix(form)
            uses = _USES.get(rest.rstrip(_DIGITS), ())
            if rest != word and any(key != "body" or slot == "Eye" for key, slot, _ in uses):
                return _SIDE_OF[form], [*words[:i], rest, *words[i + 1 :]]
    return "", words


def _uses_of(words: list[str]) -> Iterable[_Use]:
    """What the words of a name without its side mean, as in the table."""
    words = [word for word in words if word not in _OTHERS["ignore"]]
    whole = _FIRST_OF_FINGER.sub(r"\1", "".join(words))
    core, never = _OF_HAND.sub("", whole.rstrip(_DIGITS)), _OTHERS["never"]
    excluded = (
        any(word.rstrip(_DIGITS) in never for word in words)
        or any(word in core for word in never if len(word) > 1 and not word.isascii())
        or core.endswith("ik")
    )
    if excluded and core not in _USES:
        return ()
    dotted = ".".join(words)  # Rigify's spine.006
    return dict.fromkeys(use for form in (core, whole, dotted) for use in _USES.get(form, ()))


class _Named:
    """Bones by what their names say."""

    def __init__(self, tree: Tree, positions: Array) -> None:
        self.tree, self.positions = tree, positions
        self.bones: dict[tuple[str, str, str, bool], list[int]] = {}  # by side and use
        words = [_words_of(name) for name in tree.names]
        common = _prefixes(words)
        for bone, one in enumerate(words):
            side, rest = _side_of([word for word in one if word not in common])
            for use in _uses_of(rest):
                self.bones.setdefault((side, *use), []).append(bone)

    def find(self, side: str, section: str, slot: str, only: bool = True) -> list[int]:
        return self.bones.get((side, section, slot, only), [])

    def first(self, bones: Iterable[int]) -> int | None:
        """The nearest to the root, then the one with the most descendants."""
        depth, size, names = self.tree.depth, self.tree.size, self.tree.names
        return min(bones, key=lambda bone: (depth[bone], -size[bone], names[bone]), default=None)

    def limb(self, side: str, limb: str) -> dict[str, int]:
        parts, is_above = LIMBS[limb], self.tree.is_above
        taken = [self.first(self.find(side, limb, part)) for part in parts]
        # Ambiguous names: a free slot gets the first that lies between its neighbors.
        for n, part in enumerate(parts):
            if taken[n] is None:
                upper = [bone for bone in taken[:n] if bone is not None]
                lower = [bone for bone in taken[n + 1 :] if bone is not None]
                taken[n] = self.first(
                    i
                    for i in self.find(side, limb, part, only=False)
                    if i not in taken
                    and all(is_above(bone, i) for bone in upper)
                    and all(is_above(i, bone) for bone in lower)
                )
        if limb == "arm" and taken[1] is None:  # no clavicle: "shoulder" is the upper arm
            taken[:2] = taken[1::-1]
        return {side + part: b for part, b in zip(parts, taken, strict=True) if b is not None}

    def finger(self, side: str, finger: str, hand: int | None) -> dict[str, int]:
        """The joints that bend, of those that are named like the finger, root to tip."""
        bones = self.find(side, "finger", finger)
        bones = [bone for bone in bones if hand is None or self.tree.is_above(hand, bone)]
        bones.sort(key=lambda bone: (self.tree.depth[bone], self.tree.names[bone]))
        if len(bones) > 3 and hand is not None and finger != "Thumb":
            near, far = np.linalg.norm(self.positions[bones[:2]] - self.positions[hand], axis=-1)
            if near < _METACARPAL * far:
                bones = bones[1:]
        return dict(zip((side + finger + p for p in PHALANGES), bones, strict=False))


def by_names(tree: Tree, positions: Array) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Slots by name, for positions (B,3) at rest; and the bones of [double], [twist] and [root], by slot."""
    named = _Named(tree, positions)
    human: dict[str, int] = {}
    for side in SIDES:
        for limb in LIMBS:
            human |= named.limb(side, limb)
        for finger in FINGERS:
            human |= named.finger(side, finger, human.get(side + "Hand"))
    for side, slot in (*(("", slot) for slot in MIDDLE), *((side, "Eye") for side in SIDES)):
        bones = named.find(side, "body", slot) or named.find(side, "body", slot, only=False)
        bone = named.first(bones)
        if bone is not None and bone not in human.values():
            human[side + slot] = bone
    special: dict[str, dict[str, int]] = {"double": {}, "twist": {}, "root": {}}
    for (side, section, slot, _), (bone, *_) in named.bones.items():
        if section in special:
            special[section][side + slot] = bone
    return human, special

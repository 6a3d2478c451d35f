# SPDX-License-Identifier: MIT
"""The character's dance, built in code: two bars of four beats that loop seamlessly.

Arms are defined by the directions of upper arm and forearm, the rest by angles; hair and skirt lag
behind the body. Run as a script it writes the file.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
from files import motion_file as vmd
from sample.character import skeleton as s
from sample.motion import EASE, axis_angle, combine

BEATS, BEAT = 8, 15  # number of beats, frames per beat: 120 beats per minute
LAST = BEATS * BEAT
X, Y, Z = np.eye(3)

# One row per beat; the first one repeats at the end. Degrees and units.
LEAN = (6, 5, -6, -5, 0, 0, 4, -5)  # to her left
NOD = (0, 2, 0, 2, -4, -6, 3, 3)  # forwards
SWING = (12, -4, -12, 4, 0, 0, 12, -12)  # about the spine, to her left
HEAD_LEAN = (-8, 8, 8, -8, 0, 0, 13, -13)
SHIFT = (0.45, 0.3, -0.45, -0.3, 0, 0, 0.4, -0.4)
SPIN = (0, 0, 0, 0, 0, 180, 360, 360, 360)  # once around in two beats

# Where the left upper arm and forearm point, as (x, y, z): out, up, forwards is -z; the right arm's
# are mirrored.
HIGH = (0.95, 0.0, -0.3), (0.25, 0.95, -0.25)
WAVE = (0.9, 0.12, -0.4), (-0.4, 0.85, -0.45)
HIP = (0.78, -0.56, 0.3), (-0.72, -0.6, -0.35)
OUT = (0.97, 0.1, -0.2), (0.95, 0.3, -0.1)
CHEEK = (0.62, -0.62, -0.48), (-0.42, 0.84, -0.42)
LEFT_ARM = (HIGH, WAVE, HIP, HIP, CHEEK, OUT, HIGH, CHEEK)
RIGHT_ARM = (HIP, HIP, HIGH, WAVE, CHEEK, OUT, CHEEK, HIGH)

# Feet: to her left, up, forwards.
STAND, STEP, KICK = (0, 0, 0), (0.1, 0.9, -0.2), (0.15, 1.2, 0.9)
LEFT_FOOT = (STAND, STEP, STAND, STAND, STAND, (0, 0.5, 0), STAND, KICK)
RIGHT_FOOT = (STAND, STAND, STAND, STEP, STAND, (0, 0.9, 0.3), KICK, STAND)
SLIDERS = {
    "まばたき": {0: 0, 26: 0, 29: 1, 32: 0, 56: 0, 58: 1, 61: 0, 120: 0},
    "笑い": {0: 0, 66: 0, 72: 1, 86: 1, 92: 0, 120: 0},
    "ウィンク": {0: 0, 97: 0, 101: 1, 114: 1, 118: 0, 120: 0},
    "あ": {0: 0.2, 10: 0.9, 20: 0.1, 34: 0.8, 45: 0.1, 52: 0.6, 60: 0, 120: 0.2},
    "ワ": {0: 0, 62: 0, 70: 1, 88: 1, 95: 0.3, 102: 0.9, 114: 0.7, 120: 0},
    "にっこり": {0: 0.5, 120: 0.5},
}  # fmt: skip


def _frame(along, across):
    """Columns: along, across, and perpendicular to both."""
    along = along / np.linalg.norm(along)
    across = across - (across @ along) * along
    across /= np.linalg.norm(across)
    return np.stack([along, across, np.cross(along, across)], 1)


def _quaternion(m):
    """x y z w of a rotation matrix, by its largest component."""
    q = np.array([1 + m[0, 0] - m[1, 1] - m[2, 2], 1 - m[0, 0] + m[1, 1] - m[2, 2],
                  1 - m[0, 0] - m[1, 1] + m[2, 2], 1 + np.trace(m)])  # fmt: skip
    i = int(np.argmax(q))
    x, y, z = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    xy, xz, yz = m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1]
    rows = ((q[0], xy, xz, x), (xy, q[1], yz, y), (xz, yz, q[2], z), (x, y, z, q[3]))
    return np.array(rows[i]) / np.linalg.norm(rows[i])


def arm(upper, fore):
    """Rotations of the left arm and elbow that give these directions."""
    upper, fore = (np.array(v) / np.linalg.norm(v) for v in (upper, fore))
    hinge = np.cross(upper, fore)
    angle = np.degrees(np.arctan2(np.linalg.norm(hinge), upper @ fore))
    whole = _frame(upper, hinge) @ _frame(s.REACH, s.HINGE).T
    return _quaternion(whole), axis_angle(s.HINGE, angle)


def mirrored(rotation):
    return rotation * (1, -1, -1, 1)


def _key(bone, frame, rotation=(0, 0, 0, 1), translation=(0, 0, 0)):
    return vmd.BoneKey(bone, int(frame), tuple(translation), tuple(rotation), EASE)


def _beats(rows):
    """(frame, row), with the first row repeated at the end."""
    return zip(range(0, LAST + 1, BEAT), [*rows, rows[0]], strict=True)


def _body_keys():
    rows = list(zip(LEAN, NOD, SWING, HEAD_LEAN, SHIFT, strict=True))
    for frame, (lean, nod, swing, head, shift) in _beats(rows):
        spine = combine(
            axis_angle(Y, swing / 2), combine(axis_angle(Z, -lean), axis_angle(X, -nod))
        )
        yield _key("上半身", frame, spine)
        yield _key("上半身2", frame, spine)
        yield _key("下半身", frame, combine(axis_angle(Y, -swing / 2), axis_angle(Z, 0.8 * lean)))
        yield _key("首", frame, axis_angle(Z, -head / 2))
        yield _key("頭", frame, combine(axis_angle(Y, -swing / 2), axis_angle(Z, -head / 2)))
        yield _key("両目", frame, axis_angle(Y, swing / 5))
        # down on the beat, up between two
        yield _key("センター", frame, translation=(shift, -0.4, 0))
        if frame < LAST:
            yield _key("グルーブ", frame, translation=(0, 0, 0))
            yield _key("グルーブ", frame + BEAT // 2, translation=(0, 0.35, 0))
    yield _key("グルーブ", LAST)


def _arm_keys():
    for side, rows in (("左", LEFT_ARM), ("右", RIGHT_ARM)):
        for frame, row in _beats(rows):
            nod = axis_angle(Z, 14 if frame // BEAT % 2 else -14)
            for part, rotation in zip(("腕", "ひじ", "手首"), (*arm(*row), nod), strict=True):
                yield _key(f"{side}{part}", frame, rotation if side == "左" else mirrored(rotation))


def _leg_keys():
    for side, _, flip in s.SIDES:
        for frame, (x, y, z) in _beats(LEFT_FOOT if side == "左" else RIGHT_FOOT):
            yield _key(f"{side}足ＩＫ", frame, axis_angle(X, -25 * y), (flip[0] * x, y, z))
    for beat, degrees in enumerate(SPIN):
        yield _key("全ての親", beat * BEAT, axis_angle(Y, -degrees))


def _lag_keys():
    """Hair and skirt lag behind the body; during the spin they fly outwards."""
    for frame in range(0, LAST + 1, 5):
        phase = 2 * np.pi * frame / (4 * BEAT)  # of the sway from side to side
        flying = np.exp(-(((frame - 5.1 * BEAT) / (0.62 * BEAT)) ** 2))
        yield from _hair_keys(frame, phase, flying)
        yield from _skirt_keys(frame, phase, flying)


def _hair_keys(frame, phase, flying):
    swinging = 1 - flying
    for side, _, flip in s.SIDES:
        for i in range(1, len(s.TAIL)):
            over = swinging * (3.5 + 2 * i) * np.sin(phase - 0.7 * i + 0.4)
            out = flip[0] * flying * (19 if i == 1 else 10)
            bounce = swinging * 5 * np.sin(4 * phase - 0.6 * i)
            yield _key(
                f"{side}髪{i}", frame, combine(axis_angle(Z, over + out), axis_angle(X, bounce))
            )
    yield _key("アホ毛1", frame, axis_angle(Z, 12 * swinging * np.sin(4 * phase - 1.2)))


def _skirt_keys(frame, phase, flying):
    beats = np.arange(BEATS + 1) * BEAT
    lifts = [
        np.interp(frame, beats, [row[1] - row[2] for row in [*rows, rows[0]]])
        for rows in (LEFT_FOOT, RIGHT_FOOT)
    ]
    for c in range(s.SKIRT_CHAINS):
        around = 2 * np.pi * c / s.SKIRT_CHAINS
        tangent = np.array((-np.cos(around), 0, np.sin(around)))  # turning about it lifts the hem
        pushed = sum(
            max(lift, 0) * max(np.cos(around - place), 0)
            for lift, place in zip(lifts, (0.85 * np.pi, 1.15 * np.pi), strict=True)
        )
        for i in (1, 2, 3):
            angle = 3 * (1 - flying) * np.sin(phase - 0.5 * i + around) + 14 * flying / i
            angle += 11 * pushed * (i == 1)
            yield _key(f"スカート{c}_{i}", frame, axis_angle(tangent, angle))


@cache
def build_dance():
    """Bytes of the VMD file."""
    keys = [*_body_keys(), *_arm_keys(), *_leg_keys(), *_lag_keys()]
    morphs = [
        vmd.MorphKey(name, frame, weight)
        for name, row in SLIDERS.items()
        for frame, weight in row.items()
    ]
    switches = [
        vmd.PropertyKey(
            0, True, [(f"{side}{ik}", True) for side in "左右" for ik in ("足ＩＫ", "つま先ＩＫ")]
        )
    ]
    return vmd.write_vmd(vmd.Keys("踊り子", keys, morphs, properties=switches))


def write_dance(folder):
    """Writes dancer.vmd; returns its path."""
    path = Path(folder) / "dancer.vmd"
    path.write_bytes(build_dance())
    return path


if __name__ == "__main__":
    print(write_dance(sys.argv[1] if len(sys.argv) > 1 else "."))

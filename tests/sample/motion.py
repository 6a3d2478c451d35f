# SPDX-License-Identifier: MIT
"""A dance of the sample model, built in code: three bars of four beats.

`build_motion()` gives the bytes of a VMD file: limbs that sway, bend and twist, a leg moved by its IK
bone, eyes, mouths and muscles. Run as a script it writes the file.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
from files import motion_file as vmd
from sample import model as sample

BEATS, BEAT = 12, 12  # number of beats, frames per beat
LAST = BEATS * BEAT
# each limb follows its neighbor after this many frames
DELAY = 2
# slow at both ends
EASE = vmd.block([(52, 0, 75, 127)] * 4)

# Degrees and units, one number per beat and one for the end.
SWAY = (0, 12, -12, 12, -12, 0, 0, 0, 0, 14, -14, 14, 0)
BEND = (0, 40, -30, 60, -45, 15, 15, 15, 15, 60, -50, 52, 0)
TWIST = (0, 0, 0, 0, 0, 50, -50, 50, -50, 0, 0, 0, 0)
NOD = (0, 15, -15, 15, -15, 0, 0, 0, 0, 25, -25, 25, 0)
LEAN = (0, -3, 3, -3, 3, 0, 0, 0, 0, -4, 4, -4, 0)
BOUNCE = (0, -0.6, 0, -0.6, 0, -0.6, 0, -0.6, 0, -0.9, 0, -0.9, 0)
STEP = (
    (0, 0, 0), (1.5, -1, 0), (-2, -1, 0), (1.5, -2, 0), (-2, -2, 0), (0, -3.5, 0), (0, -0.5, 0),
    (0, -3.5, 0), (0, -0.5, 0), (1.5, -2.5, -1), (-2, -2.5, -1), (1.5, -2.5, -1), (0, 0, 0),
)  # fmt: skip
SLIDERS = {
    "まばたき": (0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0),
    "あ": (0, 0, 1, 0, 1, 0, 0.6, 0, 0.6, 1, 0.5, 1, 0),
    "にっこり": (0.4, 1, 0.4, 1, 0.4, 0.6, 0.6, 0.6, 0.6, 1, 1, 1, 1),
    "筋肉": (0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0),
    "腕曲げ": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.3, 0),
}


def axis_angle(axis, degrees):
    """Quaternion x y z w."""
    half = np.radians(degrees) / 2
    return np.array([*np.sin(half) * np.array(axis, float), np.cos(half)])


def combine(a, b):
    """The rotation b, then a."""
    v = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.array([*v, a[3] * b[3] - a[:3] @ b[:3]])


def _track(bone, translations=None, rotations=None, delay=0):
    """A key on every beat."""
    for beat in range(BEATS + 1):
        yield vmd.BoneKey(
            bone,
            BEAT * beat + delay,
            (0, 0, 0) if translations is None else translations[beat],
            (0, 0, 0, 1) if rotations is None else rotations[beat],
            EASE,
        )


def _bone_keys():
    # towards +x, as sample.bend does
    sway, bend, nod, lean = (
        [axis_angle((0, 0, -1), d) for d in row] for row in (SWAY, BEND, NOD, LEAN)
    )
    elbow = [combine(b, axis_angle((0, 1, 0), d)) for b, d in zip(bend, TWIST, strict=True)]
    keys = list(_track("センター", [(0, y, 0) for y in BOUNCE], lean))
    for limb, kind in enumerate(sample.LIMBS):
        keys += _track(f"上腕_{kind}", rotations=sway, delay=DELAY * limb)
        keys += _track(f"ひじ_{kind}", rotations=elbow, delay=DELAY * limb)
        keys += _track(f"手首_{kind}", rotations=nod, delay=DELAY * limb)
    return [*keys, *_track("尾ＩＫ", STEP)]


@cache
def build_motion():
    """Bytes of the VMD file."""
    morphs = [
        vmd.MorphKey(name, BEAT * beat, weight)
        for name, weights in SLIDERS.items()
        for beat, weight in enumerate(weights)
    ]
    switches = [vmd.PropertyKey(0, True, [("尾ＩＫ", True)])]
    return vmd.write_vmd(vmd.Keys("見本の腕", _bone_keys(), morphs, properties=switches))


def write_motion(folder):
    """Writes sample.vmd; returns its path."""
    path = Path(folder) / "sample.vmd"
    path.write_bytes(build_motion())
    return path


if __name__ == "__main__":
    print(write_motion(sys.argv[1] if len(sys.argv) > 1 else "."))

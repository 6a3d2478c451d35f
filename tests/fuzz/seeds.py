# SPDX-License-Identifier: MIT
"""Inputs to start from, a folder for each target: `seeds.py FOLDER`.

Small files of every format and their pairs, made here, and the fixtures where they are at hand.
"""

import random
import struct
import sys
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

from files import locations  # noqa: E402
from files import motion_file as mf  # noqa: E402
from files import pmd_file as pmd  # noqa: E402
from files import pmx_file as pmx  # noqa: E402
from files.small import small_file  # noqa: E402


def dance(names, morphs=(), solvers=()):
    """Keys of everything, in the file's order."""
    curves = mf.block([(20, 30, 107, 90)] * 4)
    bones = [
        mf.BoneKey(name, frame, (frame / 9, 1, 0), (0.1, 0.2, frame / 30, 1), curves)
        for name in names
        for frame in (0, 10, 30)
    ]
    states = [mf.PropertyKey(f, 1, [(name, f // 15) for name in solvers]) for f in (0, 15)]
    return mf.Keys("", bones, [mf.MorphKey(name, 5, 1.0) for name in morphs], properties=states)


def leg_of_pmd():
    """A PMD model with what only that format has: types of bones, IK of its own, a base morph."""
    bones = [
        pmd.Bone("センター", type=1),
        pmd.Bone("左足", (0, 8, 0), 0),
        pmd.Bone("左ひざ", (0, 4, -0.2), 1),
        pmd.Bone("左足首", (0, 0, 0), 2),
        pmd.Bone("左足ＩＫ", (0, 0, 0), 0, type=2),
        pmd.Bone("捩", (0, 6, 0), 1, 2, type=8),
        pmd.Bone("回", (0, 6, 1), 1, type=9, ik_field=50),
    ]
    vertices = np.zeros(6, pmd.VERTEX)
    morphs = [pmd.Morph("base", 0, [1, 3], [(0, 0, 0)] * 2), pmd.Morph("あ", 3, [0], [(1, 0, 0)])]
    return pmd.PMD(
        "leg",
        vertices=vertices,
        indices=[0, 1, 2, 3, 4, 5],
        materials=[pmd.Material(index_count=6, texture="a.png*b.sph")],
        bones=bones,
        solvers=[pmd.Solver(4, 3, [2, 1])],
        morphs=morphs,
        shown_morphs=[1],
        frame_names=["IK"],
        shown_bones=[(4, 1)],
        bodies=[pmd.Body("body", 1)],
        joints=[pmd.Joint("joint", 0, 0)],
    )


def models():
    yield "small.pmx", pmx.write(small_file())
    yield "leg.pmd", pmd.write(leg_of_pmd())


def motions():
    names = [bone.name for bone in leg_of_pmd().bones]
    yield "leg.vmd", mf.write_vmd(dance(names, ["あ"], ["左足ＩＫ"]))
    yield "leg.vpd", mf.write_vpd(dance(names[:3]))


def pair(model, motion):
    return struct.pack("<I", len(model)) + model + motion


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files:
        (folder / name).write_bytes(data)


def main(folder):
    made, moves = dict(models()), dict(motions())
    found = sorted((locations.MODELS / "fixtures").glob("*"))
    made |= {path.name: path.read_bytes() for path in found if path.suffix in (".pmx", ".pmd")}
    moves |= {path.name: path.read_bytes() for path in found if path.suffix in (".vmd", ".vpd")}
    pairs = {f"{a}+{b}": pair(x, y) for a, x in made.items() for b, y in moves.items()}
    scripts = {f"{i}": random.Random(i).randbytes(50 * 2**i) for i in range(6)}
    targets = {"model": made, "motion": moves, "pair": pairs}
    of_scripts = ("mesh", "picture", "rig", "simulation", "state", "tracks", "world")
    targets |= dict.fromkeys(of_scripts, scripts)
    for target, files in targets.items():
        write(Path(folder) / target, files.items())


if __name__ == "__main__":
    main(*sys.argv[1:])

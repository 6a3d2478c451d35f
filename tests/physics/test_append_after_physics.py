# SPDX-License-Identifier: MIT
"""Bones without the flag "after physics" that depend on simulated ones: MMD transforms them again."""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from physics import chains
from physics.chains import PHYSICS, PHYSICS_AND_BONE, bone_positions, chain_file, load

RUN = np.arange(31)
DRIVEN = chains.LINKS // 2  # a link in the middle, whose own value is a rotation


@pytest.fixture(scope="module")
def swing():
    return chains.swing()


def add(file, after_physics=False, source=None, ratio=1.0, kind=pmx.APPEND_ROTATION, **fields):
    """Adds a bone, of which the flag does not change where it is shown."""
    flags = 0x1E | (pmx.AFTER_PHYSICS if after_physics else 0)
    if source is not None:
        bits = (pmx.APPEND_ROTATION, pmx.APPEND_TRANSLATION, pmx.LOCAL_APPEND)
        fields["append"] = pmx.Append(source, ratio, *(bool(kind & bit) for bit in bits))
    file.bones.append(pmx.Bone("more", flags=flags, after_physics=after_physics, **fields))
    return len(file.bones) - 1


def appending(after, **fields):
    file = chain_file()
    add(file, after, DRIVEN, position=(1, 5, 0), **fields)
    return file


def chain(after):
    """One appends from the other, and has a child."""
    file = chain_file()
    first = add(file, after, DRIVEN, 0.5, position=(1, 5, 0))
    second = add(file, after, first, -2.0, parent=0, position=(2, 5, 0))
    add(file, after, parent=second, position=(3, 5, 0))
    return file


def sorted_before(after):
    """The bone that appends has a lower index and layer than the simulated one."""
    file = appending(after)
    for bone in file.bones[1:-1]:
        bone.layer = 1
    return file


def local(after):
    """The amount of the simulated bone in model space, of a child of a body's bone."""
    file = chain_file()
    add(
        file,
        after,
        chains.LINKS + 1,
        kind=pmx.APPEND_ROTATION | pmx.APPEND_TRANSLATION | pmx.LOCAL_APPEND,
    )
    return file


def leg(file, after, goal):
    """A leg of two links below the root, whose foot is held at the goal."""
    first = add(file, after, parent=0, position=(3, 20, 0))
    knee = add(file, after, parent=first, position=(3, 18, -0.5))
    foot = add(file, after, parent=knee, position=(3, 16, 0))
    file.bones[goal].ik = pmx.IK(foot, 40, 1.0, [pmx.IKLink(knee), pmx.IKLink(first)])
    file.bones[goal].flags |= 0x20
    return foot


def ik(after):
    """The goal appends the place of a simulated bone."""
    file = chain_file()
    goal = add(file, after, DRIVEN, 1.0, pmx.APPEND_TRANSLATION, parent=0, position=(3, 17, 0))
    leg(file, after, goal)
    return file


def ik_of_child(after):
    """The goal is a child of a simulated bone."""
    file = chain_file()
    leg(file, after, add(file, after, parent=DRIVEN, position=(3, 17, 0)))
    return file


def ik_of_appending_links(after):
    file = chain_file()
    goal = add(file, after, parent=0, position=(4, 17, 0))
    foot = leg(file, after, goal)
    file.bones[foot - 1].append, file.bones[foot - 1].after_physics = pmx.Append(DRIVEN, 1.0), after
    file.bones[foot - 1].flags |= pmx.APPEND_ROTATION
    return file


CASES = {
    "rotation": lambda after: appending(after),
    "half back": lambda after: appending(after, ratio=-0.5),
    "more than all": lambda after: appending(after, ratio=1.7),
    "translation": lambda after: appending(after, kind=pmx.APPEND_TRANSLATION),
    "both": lambda after: appending(after, kind=pmx.APPEND_TRANSLATION | pmx.APPEND_ROTATION),
    "chain": chain,
    "sorted before": sorted_before,
    "local": local,
    "ik": ik,
    "ik of a child": ik_of_child,
    "ik of appending links": ik_of_appending_links,
}


@pytest.mark.parametrize("case", CASES)
def test_bones_follow_simulated_bones_as_those_after_physics_do(swing, case):
    physics = mmdskin.Physics(settle=0)
    own, flagged = load(CASES[case](False)), load(CASES[case](True))
    still = own.pose(swing, RUN).bone_matrices
    pose = own.pose(swing, RUN, physics=physics).bone_matrices
    expected = flagged.pose(swing, RUN, physics=physics).bone_matrices
    more = slice(chains.LINKS + 2, None)
    assert np.abs(expected[:, more] - still[:, more]).max() > 0.1
    assert np.allclose(pose, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("mode", [PHYSICS, PHYSICS_AND_BONE])
def test_an_append_of_minus_one_cancels_the_rotation_by_physics(swing, mode):
    file = chain_file((mode,) + (PHYSICS,) * (chains.LINKS - 1))
    add(file, source=1, ratio=-1.0, parent=1, position=(0.1, 19, 0))
    pose = load(file).pose(swing, RUN, physics=True).bone_matrices.astype(float)
    roots = pose[:, 0, :3, :3]
    assert np.abs(pose[:, 1, :3, :3] - roots).max() > 0.1
    assert np.allclose(pose[:, -1, :3, :3], roots, rtol=0, atol=1e-5)


def test_a_bone_follows_only_while_physics_is_on():
    """As its source does: keys switch the body off and on again."""
    file = appending(False)
    frames = np.arange(12)
    on = frames % 6 < 3
    still = np.tile((0.0, 0, 0, 1), (len(frames), 1))
    moves = np.stack([frames / 3, 0 * frames, 0 * frames], axis=1)
    motion = mmdskin.Motion.from_tracks(
        [
            ("root", frames, moves, None, None),
            (f"link{DRIVEN}", frames, 0 * moves, still, None, on),
        ]
    )
    pose = load(file).pose(motion, frames, physics=True).bone_matrices.astype(float)
    parent, driven = pose[:, DRIVEN - 1, :3, :3], pose[:, DRIVEN, :3, :3]
    relative = np.swapaxes(parent, -1, -2) @ driven
    assert np.allclose(pose[:, -1, :3, :3], relative, rtol=0, atol=1e-5)
    assert np.abs(relative[on] - np.eye(3)).max() > 0.05
    assert np.allclose(relative[~on], np.eye(3), atol=1e-5)


def test_a_bone_that_follows_changes_no_other_bone(swing):
    """Also not links of a solver that bodies move: they remain where their bodies are."""
    file = chain_file()
    goal = add(file, parent=0, position=(2, 17, 0))
    file.bones[goal].ik = pmx.IK(chains.LINKS + 1, 20, 1.0, [pmx.IKLink(3), pmx.IKLink(2)])
    file.bones[goal].flags |= 0x20
    leg(file, False, add(file, parent=0, position=(4, 17, 0)))
    without = load(file).pose(swing, RUN, physics=True).bone_matrices
    add(file, source=1)
    assert (load(file).pose(swing, RUN, physics=True).bone_matrices[:, :-1] == without).all()


def test_steps_and_frames_agree_about_bones_that_follow(swing):
    """Poses of the caller move the same bones as a motion."""
    model = load(chain(False))
    frames = np.arange(20)
    moves = np.stack([frames / 5, np.sin(frames / 3), 0 * frames], axis=1)
    motion = mmdskin.Motion.from_tracks([("root", frames, moves, None, None)])
    expected = model.pose(motion, frames, physics=True)
    simulation = mmdskin.Simulation(model)
    for frame, move in zip(frames, moves, strict=True):
        pose = simulation.step({"root": (move, None)})
        assert np.allclose(
            bone_positions(model, pose), bone_positions(model, expected)[frame], atol=2e-3
        )
    assert np.abs(expected.bone_matrices[:, -1, :3, :3] - np.eye(3)).max() > 0.1

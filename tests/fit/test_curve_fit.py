# SPDX-License-Identifier: MIT
"""Curves between two keys: those of files are found in samples, and none leaves its tolerance."""

from collections import defaultdict

import mmdskin
import numpy as np
from fit import dances
from judges import pose_twin as twin

MOTIONS = {d[1]: d for d in dances.at_hand()}.values()


def segments(motion):
    """{number of frames: [(track, first frame)]} of the segments in which a bone moves."""
    found = defaultdict(list)
    for i, track in enumerate(motion.bones):
        frames = track.frames.astype(int)
        values = np.hstack([track.translations, track.rotations])
        for k in np.flatnonzero((values[1:] != values[:-1]).any(1)):
            found[frames[k + 1] - frames[k]].append((i, frames[k]))
    return found


def find_curves(motion):
    """How many segments there are, and how many are found, each by itself: 1e-5 units, 0.001 degrees."""
    reach = 1e-5 / np.radians(0.001)
    puppet = dances.puppet([t.name for t in motion.bones], reach)
    frames = np.arange(motion.frame_range[1] + 1)
    translations, rotations = puppet.locals_of(puppet.pose(motion, frames))
    count = found = 0
    for length, ways in segments(motion).items():
        names = [f"b{j}" for j in range(len(ways))]
        columns = [(slice(first, first + length + 1), i) for i, first in ways]
        fitted, _ = mmdskin.Motion.from_locals(
            dances.puppet(names, reach),
            np.stack([translations[column] for column in columns], 1),
            np.stack([rotations[column] for column in columns], 1),
            tolerance=1e-5,
        )
        count += len(ways)
        found += len(ways) - sum(not {0, length}.issuperset(t.frames) for t in fitted.bones)
    return count, found


def test_curves_of_files_are_found_in_their_samples():
    """Those that are not have up to five frames, to which few curves of whole numbers lead."""
    results = [find_curves(dances.load(*dance[:2])[1]) for dance in MOTIONS]
    count, found = np.sum(results, 0)
    assert count > 0
    assert found >= 0.994 * count


def paths(rng, frames, bones):
    """Local values of bones: smooth, with noise on half of them."""
    t = np.arange(frames)[:, None, None] / 30
    moves, turns = (
        sum(
            rng.normal(size=(bones, 3)) * np.sin(2 * np.pi * f * t + rng.uniform(0, 6, (bones, 3)))
            for f in (0.3, 0.8)
        )
        for _ in range(2)
    )
    noise = 0.01 * rng.normal(size=moves.shape) * (np.arange(bones) % 2)[:, None]
    half = np.linalg.norm(turns + noise, axis=-1, keepdims=True) / 2
    axis = (turns + noise) / (2 * half)
    return moves + noise, np.concatenate([axis * np.sin(half), np.cos(half)], -1)


def test_bones_with_random_paths_stay_within_the_tolerance_by_the_float64_twin():
    reach, count, frames = 2, 300, 24
    moves, turns = paths(np.random.default_rng(7), frames, count)
    puppet = dances.puppet([f"b{j}" for j in range(count)], reach)
    fitted, _ = mmdskin.Motion.from_locals(puppet, moves, turns, tolerance=0.02)
    assert sum(len(t.frames) for t in fitted.bones) < 0.9 * count * frames
    for i, track in enumerate(fitted.bones):
        assert track.name == f"b{i}"
        for frame in range(frames):
            move, turn = twin.bone_at(track, frame)
            assert np.abs(move - moves[frame, i]).max() <= 0.02 + 1e-5
            # the angle between two unit quaternions, from their distance
            chord = min(np.linalg.norm(turn - s * turns[frame, i]) for s in (1, -1))
            assert 4 * np.arcsin(chord / 2) <= 0.02 / reach + 1e-5

# SPDX-License-Identifier: MIT
"""One limb with every method: the picture and the measures of docs/methods.md."""

import mmdskin
import numpy as np
from sample import model as sample
from sample import picture, shapes

METHODS = {
    "linear": "Linear",
    "dual_quaternion": "Dual quaternions",
    "bulge_free": "Bulge-free",
    "bulge_compensated": "Compensated",
    "centers_of_rotation": "Centers of rotation",
}
LIMB = sample.LIMBS.index("BDEF2")  # smooth weights of two bones
POSES = (("Elbow bent by 120°", 120, sample.bend), ("Forearm twisted by 150°", 150, sample.twist))
FRAMING = (((1.7, 5.4, 0), 10.4, (330, 330)), ((0, 7, 0), 13.6, (330, 390)))


def volume(positions, triangles):
    """Volume of a closed surface."""
    a, b, c = positions[triangles].astype(np.float64).transpose(1, 0, 2)
    return abs((a * np.cross(b, c)).sum()) / 6


def to_segments(points, segments):
    """Distance (V,) of points from the nearest of the segments (n,2,3)."""
    distances = []
    for head, tail in segments:
        along = tail - head
        x = ((points - head) @ along / (along @ along)).clip(0, 1)
        distances.append(np.linalg.norm(points - head - x[:, None] * along, axis=1))
    return np.min(distances, axis=0)


def measures(positions, model, matrices):
    """Volume, narrowest section and largest radius of the limb, as fractions of those at rest."""
    v, triangles = (
        sample.limb_vertices(sample.LIMBS[LIMB]),
        sample.limb_triangles(sample.LIMBS[LIMB]),
    )
    rest, posed = model.positions[v].astype(np.float64), positions[v].astype(np.float64)
    bones = [sample.limb_bone(LIMB, sample.UPPER), sample.limb_bone(LIMB, sample.FORE)]
    segments = np.float64(model.segments[bones])
    m = np.float64(matrices[bones])
    moved = np.einsum("bij,bkj->bki", m[:, :3, :3], segments) + m[:, None, :3, 3]
    around = shapes.AROUND + 1
    areas, whole = (picture.ring_areas(p.reshape(-1, around, 3)[:, :-1]) for p in (posed, rest))
    tube = whole > 0.99 * whole.max()
    near = np.repeat(tube, around)
    return (
        volume(posed, triangles) / volume(rest, triangles),
        (areas[tube] / whole[tube]).min(),
        to_segments(posed[near], moved).max() / to_segments(rest[near], segments).max(),
    )


def draw(model):
    """The page: a row for each pose, a column for each method."""
    v, triangles = (
        sample.limb_vertices(sample.LIMBS[LIMB]),
        sample.limb_triangles(sample.LIMBS[LIMB]),
    )
    texture = picture.chequer(sample.COLORS[LIMB])
    rows, notes = [], []
    for (_, angle, pose), (center, height, size) in zip(POSES, FRAMING, strict=True):
        rows.append([])
        notes.append([])
        for method in METHODS:
            out = mmdskin.skin(model, pose(angle), method=method)
            place = np.add(center, [sample.limb_x(LIMB), 0, 0])
            camera = picture.camera(place, height, yaw=-18, pitch=12)
            surface = out.positions[v], out.normals[v], model.uvs[v], triangles
            rows[-1].append(picture.surface(*surface, texture, size, camera))
            kept, narrowest, widest = measures(out.positions, model, pose(angle))
            notes[-1].append(
                f"volume {100 * kept:.0f}, section {100 * narrowest:.0f}, radius {100 * widest:.0f} %"
            )
    titles = [title for title, _, _ in POSES]
    return picture.sheet(rows, METHODS.values(), titles, notes, "Five methods, the same limb")

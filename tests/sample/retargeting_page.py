# SPDX-License-Identifier: MIT
"""The dancer, and a plain humanoid that dances as she does: the picture of docs/retargeting.md."""

import mmdskin
import numpy as np
from PIL import Image
from retarget.rigs import humanoid
from sample import picture, shapes

FRAMES = (30, 58, 76, 104)
SIZE = (250, 330)
COLOR = (238, 170, 104, 255)
RADII = {  # of the parts of the humanoid, model units
    "UpperArm": 0.5, "LowerArm": 0.42, "UpperLeg": 0.85, "LowerLeg": 0.62, "Foot": 0.5,
    "Shoulder": 0.6, "Hand": 0.45,
}  # fmt: skip
ENDS = {
    "UpperArm": "LowerArm", "LowerArm": "Hand", "UpperLeg": "LowerLeg", "LowerLeg": "Foot",
    "Foot": "Toes", "Shoulder": "UpperArm", "Hand": "MiddleProximal",
}  # fmt: skip


def parts(rig):
    """(bone, its end at rest, radius) of each part."""
    places, human = rig.rest[:, :3, 3], rig.human
    for side in ("left", "right"):
        for part, end in ENDS.items():
            yield human[side + part], places[human[side + end]], RADII[part]
    trunk = [human["hips"], *rig.spine, human["neck"], human["head"]]
    for bone, above, radius in zip(trunk[:-1], trunk[1:], (1.3, 1.15, 1.3, 0.45), strict=True):
        yield bone, places[above], radius
    yield human["head"], places[human["head"]] + (0, 1.6, 0), 1.2


def solid(rig, transforms):
    """Positions, normals, uvs and triangles of the humanoid in a pose (B,4,4): a capsule per part."""
    meshes, first = [], 0
    for bone, end, radius in parts(rig):
        start = rig.rest[bone, :3, 3]
        along = end - start
        length = np.linalg.norm(along)
        low = 0 if bone == rig.human["head"] else -radius  # the head is above its joint
        capsule = shapes.capsule(low, length + radius, radius)
        positions, normals, uvs, triangles, _ = capsule
        up = along / length
        side = np.cross(up, (0.0, 0.0, 1.0) if abs(up[2]) < 0.9 else (1.0, 0.0, 0.0))
        side /= np.linalg.norm(side)
        axes = np.stack([side, up, np.cross(side, up)], 1)  # of the capsule, which is along y
        moved = transforms[bone] @ np.linalg.inv(rig.rest[bone])
        place = moved[:3, :3] @ start + moved[:3, 3]
        turn = moved[:3, :3] @ axes
        meshes.append((positions @ turn.T + place, normals @ turn.T, uvs, triangles + first))
        first += len(positions)
    return [np.concatenate(values) for values in zip(*meshes, strict=True)]


def draw(model_path, motion_path):
    """The page: the dancer above, the humanoid below, a column for each frame."""
    model, motion = mmdskin.load_model(model_path), mmdskin.load_motion(motion_path)
    files = (model_path.parent / name for name in model.textures)
    textures = {i: np.asarray(Image.open(file).convert("RGBA")) for i, file in enumerate(files)}
    look = {"look": "mmd", "edges": True, "samples": picture.SAMPLES, "textures": textures}
    frames = np.arange(motion.frame_range[1] + 1)
    poses = model.pose(motion, frames)
    rig = humanoid(leg=0.85, arm=1.05, hips=1.2)
    retargeted = mmdskin.retarget(model.skeleton, poses, rig)
    camera = picture.camera((0, 10, 0), 26, yaw=-20, pitch=4)
    rows = [[], []]
    for frame in FRAMES:
        pose = model.pose(motion, frame)
        image = mmdskin.render(model, pose, size=SIZE, camera=camera, **look).image
        rows[0].append(picture.on_background(image))
        surface = solid(rig, retargeted.transforms[frame])
        rows[1].append(picture.surface(*surface, np.full((2, 2, 4), COLOR, np.uint8), SIZE, camera))
    page = Image.new("RGB", ((SIZE[0] + 8) * len(FRAMES) + 8, 2 * (SIZE[1] + 8) + 8), "white")
    for y, row in enumerate(rows):
        for x, image in enumerate(row):
            page.paste(image, (8 + x * (SIZE[0] + 8), 8 + y * (SIZE[1] + 8)))
    return page.quantize(256)

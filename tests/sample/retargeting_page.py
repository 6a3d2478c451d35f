# SPDX-License-Identifier: MIT
"""The dancer and a plain humanoid, side by side: the pictures of docs/retarget-to-rig.md and
docs/retarget-capture.md."""

import mmdskin
import numpy as np
from PIL import Image
from retarget import bvh_file
from retarget.rigs import humanoid
from sample import picture, shapes

FRAMES = (30, 58, 76, 104)
WALK_FRAMES = (8, 18, 28, 38)
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
    pose = model.pose(motion, np.arange(motion.frame_range[1] + 1))
    rig = humanoid(leg=0.85, arm=1.05, hips=1.2)
    worlds = mmdskin.retarget(model.skeleton, pose, rig).transforms
    camera = picture.camera((0, 10, 0), 26, yaw=-20, pitch=4)
    hers = [_picture_of(model, model.pose(motion, frame), camera) for frame in FRAMES]
    return _page(hers, [_picture_of_rig(rig, worlds[frame], camera) for frame in FRAMES])


def draw_walk(model_path):
    """A captured walk on the humanoid above, on the dancer below, from the side."""
    model, rig = mmdskin.load_model(model_path), humanoid()
    skeleton, poses, fps = mmdskin.load_bvh(bvh_file.text(*bvh_file.walk()).encode())
    worlds = mmdskin.retarget(skeleton, poses, rig, fps=fps).transforms
    motion, _ = mmdskin.Motion.from_skeleton(model, skeleton, poses, fps=fps)
    rows = [[], []]
    for frame in WALK_FRAMES:
        world = worlds[round(frame * fps / 30)]
        x, _, z = world[rig.human["hips"], :3, 3]
        rows[0].append(_picture_of_rig(rig, world, picture.camera((x, 10, z), 26, yaw=70, pitch=4)))
        pose = model.pose(motion, frame)
        x, _, z = model.transforms(pose)[model.bone("下半身"), :3, 3]
        rows[1].append(_picture_of(model, pose, picture.camera((x, 10, z), 26, yaw=70, pitch=4)))
    return _page(*rows)


def _picture_of(model, pose, camera):
    look = {"look": "mmd", "edges": True, "samples": picture.SAMPLES}
    textures = mmdskin.load_textures(model)
    image = mmdskin.render(model, pose, size=SIZE, camera=camera, textures=textures, **look).image
    return picture.on_background(image)


def _picture_of_rig(rig, world, camera):
    color = np.full((2, 2, 4), COLOR, np.uint8)
    return picture.surface(*solid(rig, world), color, SIZE, camera)


def _page(*rows):
    page = Image.new("RGB", ((SIZE[0] + 8) * len(rows[0]) + 8, 2 * (SIZE[1] + 8) + 8), "white")
    for y, row in enumerate(rows):
        for x, image in enumerate(row):
            page.paste(image, (8 + x * (SIZE[0] + 8), 8 + y * (SIZE[1] + 8)))
    return page.quantize(256)

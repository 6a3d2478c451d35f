# SPDX-License-Identifier: MIT
"""The dancer with the axes of each program: the picture of docs/coordinates.md."""

import mmdskin
import numpy as np
from PIL import Image, ImageDraw
from sample import picture

PANELS = {
    "mmd": "MMD: left-handed",
    "blender": "Blender: right-handed",
    "gltf": "glTF, OpenGL, SMPL: right-handed",
}
COLORS = ((214, 57, 57), (62, 150, 62), (57, 99, 214))  # x, y, z
SIZE = (300, 400)
LENGTH = 9  # of an arrow, model units


def projected(points, camera):
    """Pixels (n,2) of points (n,3)."""
    position, target, up = (np.float64(member) for member in camera[:3])
    ahead = (target - position) / np.linalg.norm(target - position)
    right = np.cross(up, ahead)
    right /= np.linalg.norm(right)
    seen = (points - position) @ np.stack([right, np.cross(ahead, right), ahead], 1)
    scale = SIZE[1] / 2 / np.tan(np.radians(camera.fov) / 2) / seen[:, 2:]
    return np.array(SIZE) / 2 + seen[:, :2] * scale * [1, -1]


def arrow(draw, tail, head, color, name):
    along = (head - tail) / np.linalg.norm(head - tail)
    across = along[::-1] * [1, -1]
    draw.line([*tail, *(head - 8 * along)], fill=color, width=4)
    barbs = (head - 14 * along + 7 * across, head - 14 * along - 7 * across)
    draw.polygon([tuple(point) for point in (head, *barbs)], fill=color)
    place, halo = tuple(head + 14 * along), {"stroke_width": 3, "stroke_fill": (250, 250, 252)}
    draw.text(place, name, color, picture.font(20), anchor="mm", **halo)


def draw(path):
    """The page: a panel for each convention."""
    model = mmdskin.load_model(path)
    files = (path.parent / name for name in model.textures)
    textures = {i: np.asarray(Image.open(file).convert("RGBA")) for i, file in enumerate(files)}
    camera = picture.camera((0, 9, 0), 27, yaw=-35, pitch=18)
    look = {"look": "mmd", "edges": True, "samples": picture.SAMPLES, "textures": textures}
    rendered = mmdskin.render(model, model.pose(), size=SIZE, camera=camera, **look)
    dancer = picture.on_background(rendered.image)
    page = Image.new("RGB", ((SIZE[0] + 10) * len(PANELS) + 10, SIZE[1] + 50), (250, 250, 252))
    for i, (world, title) in enumerate(PANELS.items()):
        panel = dancer.copy()
        # its axes in MMD's coordinates, from a point between the feet
        tips = mmdskin.convert(np.eye(3), "normals", source=world) * LENGTH
        origin, *heads = projected(np.concatenate([np.zeros((1, 3)), tips]), camera)
        for head, color, name in zip(heads, COLORS, "XYZ", strict=True):
            arrow(ImageDraw.Draw(panel), origin, head, color, name)
        x = 10 + i * (SIZE[0] + 10)
        page.paste(panel, (x, 40))
        place = (x + SIZE[0] / 2, 20)
        ImageDraw.Draw(page).text(place, title, (40, 44, 52), picture.font(18), anchor="mm")
    return page.quantize(128)

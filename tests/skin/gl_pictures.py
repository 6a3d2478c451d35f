# SPDX-License-Identifier: MIT
"""Pictures that need all programs that draw."""

import itertools

import mmdskin
import numpy as np
from render.scene import PLAIN, ball_arrays, squares


def all_materials():
    """What materials of the look have, in all combinations."""
    spheres = [("none", -1), ("multiply", 0), ("add", 0), ("sub_texture", 0)]
    for texture, toon, power, flags, (mode, image) in itertools.product(
        (-1, 0), (-1, 0), (0, 5), (0x05, 0x0D), spheres
    ):
        yield PLAIN._replace(
            ambient=(0.2, 0.2, 0.2),
            diffuse=(0.6, 0.5, 0.4, 1),
            specular=(0.3, 0.3, 0.3),
            specular_power=power,
            flags=flags,
            texture=texture,
            toon=toon,
            sphere_texture=image,
            sphere_mode=mode,
        )


def look(self_shadow):
    materials = list(all_materials())
    places = [(0.3 * (i % 8) - 1.05, 0.3 * (i // 8) - 1.05, 0) for i in range(len(materials))]
    mesh, skinned = squares(*places, side=0.25)
    image = np.random.default_rng(0).integers(0, 256, (8, 8, 4), np.uint8)
    image[..., 3] = 255
    uvs = np.float32([[0, 0], [0, 1], [1, 1], [1, 0]])
    return mmdskin.render(
        mesh,
        skinned,
        size=(160, 160),
        look="mmd",
        camera=mmdskin.Camera((0, 0, -4), (0, 0, 0), (0, 1, 0), 40),
        materials=materials,
        textures={0: image},
        uvs=np.tile(uvs, (len(materials), 1)),
        self_shadow=self_shadow,
        ground_shadow=True,
    ).image


def posed_ball():
    """A ball that the device skins: one half by two bones, with a morph."""
    normals, triangles = ball_arrays(32)
    n = len(normals)
    upper = np.clip(normals[:, 1:2], 0, 1)
    ball_mesh = mmdskin.Mesh(
        normals,
        np.tile([0, 1], (n, 1)),
        np.hstack([1 - upper, upper]),
        normals=normals,
        triangles=triangles,
        morphs=[(np.arange(n), 0.2 * normals)],
    )
    matrices = np.tile(np.eye(4, dtype=np.float32), (2, 2, 1, 1))
    matrices[:, 1, :3, :3] = [[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]]
    pose = mmdskin.Pose(matrices, np.float32([[0], [1]]))
    options = {
        "camera": mmdskin.Camera((1, 1, -4), (0, 0, 0), (0, 1, 0), 40),
        "size": (128, 128),
        "materials": [
            PLAIN._replace(
                ambient=(0.2, 0.2, 0.2),
                diffuse=(0.6, 0.5, 0.2, 1),
                specular=(0.3, 0.3, 0.3),
                specular_power=5,
                flags=0x1F,
                index_count=triangles.size,
            )
        ],
        "edges": True,
        "backend": "gl",
    }
    every = ("image", "depth", "normals", "triangles")
    return [
        mmdskin.render(ball_mesh, pose, want=every, **options).image,
        mmdskin.render(ball_mesh, pose, look="mmd", **options).image,
    ]


def draw():
    return [look(False), look(True), *posed_ball()]

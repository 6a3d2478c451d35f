# SPDX-License-Identifier: MIT
"""A dance without and with physics: twelve pairs of pictures side by side, and measurements.

    python contact_sheet.py model.pmx dance.vmd sheet.png [frames ...]

Pictures have the look of MMD; textures are read from the model's folder. Needs Pillow and OpenGL
(llvmpipe is enough). The line in the pictures is the floor. The script prints, without and with
physics and over all frames: the lowest position of a vertex that rigid bodies move; the largest
stretch of an edge of the mesh; and, while the last frame is held for five seconds, the largest
movement of a vertex per frame in the last second. Then it prints the notes of the simulation.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import mmdskin
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

CELL = 310, 330  # pixels
PAIRS = 3  # pairs per row
PICTURES = 12
HELD, SECOND = 150, 30  # frames for which the end is held; frames of its last second
FLOOR, INK = (190, 195, 205), (70, 75, 85)
HEIGHT, LENS = 25, 12  # visible units; degrees: a long lens, so that perspective is weak
ABOVE_FLOOR = 0.42  # of the picture's center, in picture heights
CHUNK = 128  # frames skinned per call

Array = NDArray[Any]
Images = dict[int, Array]
Pose = mmdskin.Pose[Array]


def textures(model: mmdskin.Model, folder: Path) -> Images:
    """Images of the texture files that exist, by index, for render()."""
    found: Images = {}
    for number, name in enumerate(model.textures):
        path = folder / name.replace("\\", "/")
        if path.is_file():
            found[number] = np.array(Image.open(path).convert("RGBA"))
    return found


def camera(positions: Array) -> mmdskin.Camera:
    """A camera in front of a model with vertices (V,3)."""
    x, _, z = (positions.min(0) + positions.max(0)) / 2
    target = np.array((x, ABOVE_FLOOR * HEIGHT, z))
    away = (0, 0, HEIGHT / 2 / np.tan(np.radians(LENS) / 2))
    return mmdskin.Camera(target - away, target, (0, 1, 0), LENS)


def picture(
    model: mmdskin.Model, images: Images, pose: Pose, seen_by: mmdskin.Camera
) -> Image.Image:
    """An Image of one frame's Pose."""
    weights = pose.morph_weights
    seen = mmdskin.render(
        *(model, pose),
        size=CELL,
        camera=seen_by,
        background=(1, 1, 1, 1),
        look="mmd",
        edges=True,
        materials=model.materials_at(weights),
        factors=model.texture_factors_at(weights),
        uvs=model.uvs_at(weights),
        additional_uvs=model.uvs_at(weights, 1),
        textures=images,
        samples=3,
    )
    return Image.fromarray(seen.image).convert("RGB")


def pair(model: mmdskin.Model, images: Images, *poses: Pose) -> list[Image.Image]:
    """Images of poses, from one camera."""
    seen_by = camera(mmdskin.skin(model, poses[0]).positions)
    return [picture(model, images, pose, seen_by) for pose in poses]


def sheet(
    model: mmdskin.Model, folder: Path, motion: mmdskin.Motion, frames: Sequence[float]
) -> Image.Image:
    """An Image of pairs: the frames (F,) without and with physics."""
    images, simulation = textures(model, folder), mmdskin.Simulation(model, motion)
    width, height = CELL
    rows = -(-len(frames) // PAIRS)
    page = Image.new("RGB", (PAIRS * (2 * width + 12), rows * (height + 12)), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(15)
    for number, frame in enumerate(frames):
        row, column = divmod(number, PAIRS)
        left, top = column * (2 * width + 12) + 6, row * (height + 12) + 6
        both = pair(model, images, model.pose(motion, frame), simulation.pose(frame))
        for side, image in enumerate(both):
            page.paste(image, (left + side * width, top))
        floor = top + height * (0.5 + ABOVE_FLOOR)
        pen.line((left, floor, left + 2 * width, floor), FLOOR)
        pen.text((left + 4, top + 4), f"frame {frame:g}", INK, font)
        pen.text((left + width + 4, top + 4), "with physics", INK, font)
    return page


class Measured:
    """Measurements of the mesh over many frames."""

    def __init__(self, model: mmdskin.Model) -> None:
        self._model = model
        sides = model.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
        self._edges = np.unique(np.sort(sides, axis=1), axis=0)
        self._rest = self._lengths(model.positions[None])
        moved = [body.bone for body in model.rigid_bodies if body.mode != "follow_bone"]
        self._swinging = np.isin(model.bone_indices[:, 0], moved)
        self.lowest, self.stretch, self.way = np.inf, 0.0, 0.0

    def _lengths(self, positions: Array) -> Array:
        sides = np.diff(positions[:, self._edges], axis=2)[:, :, 0]
        return np.asarray(np.linalg.norm(sides, axis=-1))

    def add(self, pose: Pose) -> None:
        """Adds consecutive frames (F); `way` is the largest movement per frame of the latest ones."""
        out = mmdskin.skin(self._model, pose, normals=False).positions
        self.lowest = min(self.lowest, out[:, self._swinging, 1].min(initial=np.inf))
        self.stretch = max(self.stretch, (self._lengths(out) - self._rest).max())
        self.way = np.linalg.norm(np.diff(out, axis=0), axis=-1).max(initial=0)


def measure(
    model: mmdskin.Model, motion: mmdskin.Motion, pose: Callable[[Array], Pose]
) -> Measured:
    """Measurements of all frames of a motion, whose end is held; pose(frames) poses them."""
    found = Measured(model)
    first, last = motion.frame_range
    starts = [*range(first, last + HELD - SECOND, CHUNK), last + HELD - SECOND]
    for start, end in zip(starts, [*starts[1:], last + HELD], strict=True):
        found.add(pose(np.arange(start, end)))
    return found


def main(model_path: str, motion_path: str, output: str, *frames: str) -> None:
    model, motion = mmdskin.load_model(model_path), mmdskin.load_motion(motion_path)
    chosen = [float(frame) for frame in frames]
    chosen = chosen or np.linspace(*motion.frame_range, PICTURES).round().tolist()
    sheet(model, Path(model_path).parent, motion, chosen).save(output)
    print(f"{'':20}{'lowest vertex':>15}{'edge stretch':>13}{'moves at end':>13}")
    simulation = mmdskin.Simulation(model, motion)
    poses: dict[str, Callable[[Array], Pose]] = {
        "without physics": partial(model.pose, motion),
        "with physics": simulation.pose,
    }
    for name, pose in poses.items():
        found = measure(model, motion, pose)
        print(f"{name:20}{found.lowest:15.3f}{found.stretch:13.3f}{found.way:13.5f}")
    print(*simulation.notes, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-License-Identifier: GPL-3.0-or-later
"""Her head turned by hand, and the hair that follows: tests/sample/pictures/posing.gif.

.venv/bin/python tests/blender/film_live.py ADDON_ZIP OUTPUT.gif

Pictures of the viewport of a windowed Blender 3.4, whose clock goes on by a frame for each.
"""

import pathlib
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

import window  # noqa: E402
from PIL import Image  # noqa: E402

FPS = 15
COLORS = 160


def main(addon_zip, output):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        options = {"start": "live_dancer", "addon": addon_zip, "size": (900, 900)}
        with window.Window(folder, folder / "pictures", **options) as blender:
            blender.key("KP_1")
            count = blender.ask(f"__import__('window_scenes').film({str(folder)!r}, {FPS})")
        images = [Image.open(folder / f"film{i}.png").convert("RGB") for i in range(count)]
    palette = images[count // 3].quantize(COLORS, Image.Quantize.MEDIANCUT, 6)
    images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    images[0].save(
        output, save_all=True, append_images=images[1:], duration=1000 // FPS, loop=0, optimize=True
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

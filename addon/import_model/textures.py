# SPDX-License-Identifier: GPL-3.0-or-later
"""Images of the file's texture list: either slash, any case, missing ones as placeholders."""

import os
import re

import bpy
from bpy_extras import image_utils

from ..translations import tr


class Textures:
    """Loads each texture once, when it is first asked for."""

    def __init__(self, paths, folder, pack, report):
        self._paths, self._folder, self._pack, self._report = paths, folder, pack, report
        self._images = {}

    def path(self, index):
        """The path as the file has it, empty for none."""
        return self._paths[index] if 0 <= index < len(self._paths) else ""

    def image(self, index):
        """The image, a placeholder where the file is missing, or None for no texture."""
        path = relative(self.path(index))
        if not path:
            return None
        if path not in self._images:
            self._images[path] = self._load(path)
        return self._images[path]

    def _load(self, path):
        image = image_utils.load_image(path, self._folder, place_holder=True, check_existing=True)
        if not os.path.isfile(bpy.path.abspath(image.filepath)):
            self._report.warn(tr("Texture '{path}' is missing", path=path))
        elif not image.size[0]:
            self._report.warn(
                tr("Texture '{path}' is not an image that Blender can read", path=path)
            )
        elif self._pack and not image.packed_file:
            image.pack()
        return image


def relative(path):
    """A path below or beside the model's folder: no drive and no leading slash."""
    path = re.sub(r"^[A-Za-z]:", "", path.strip().replace("\\", "/"))
    return re.sub(r"/+", "/", path).lstrip("/")

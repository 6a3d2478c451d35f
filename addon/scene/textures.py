# SPDX-License-Identifier: GPL-3.0-or-later
"""Texture files of a model: with either slash, in any case, with placeholders for missing ones."""

import os
import posixpath
import re
from collections.abc import Collection
from typing import Any

import bpy
from bpy_extras import image_utils

from ..blender import details, file_access
from ..blender.translations import Reports

_logger = details.logger(__name__)


class TextureFolder:
    """Loads each texture of a model's folder once, at its first use."""

    def __init__(self, folder: str, pack: bool = False) -> None:
        self._folder, self._pack = folder, pack
        self._images: dict[str, bpy.types.Image | None] = {}
        self.missing: list[str] = []
        self.outside: list[str] = []
        self.unreadable: list[str] = []
        self._packed: list[bpy.types.Image] = []

    def image(self, path: str) -> bpy.types.Image | None:
        """The image of a path in the model file, a placeholder if missing, None for no path."""
        path = relative(path)
        if path and path not in self._images:
            self._images[path] = self._load(path)
        return self._images.get(path)

    def has(self, path: str) -> bool:
        """Whether the folder has the file of a path in the model file."""
        path = relative(path)
        return not leaves_folder(path) and os.path.isfile(os.path.join(self._folder, path))

    def _load(self, path: str) -> bpy.types.Image | None:
        if leaves_folder(path):
            self.outside.append(path)
            return None
        place = bpy.path.resolve_ncase(os.path.join(self._folder, path))
        try:
            file_access.check(place)
        except FileNotFoundError:
            packed = _packed(place)
            if packed is not None:
                return packed
            # Else a placeholder.
        except OSError as error:
            _logger.debug("skipped '%s': %s", place, error)
            self.unreadable.append(path)
            return None
        image: Any = image_utils.load_image(
            path, self._folder, place_holder=True, check_existing=True
        )
        if not exists(image):
            self.missing.append(path)
        elif not image.size[0]:
            self.unreadable.append(path)
        elif self._pack and not image.packed_file:
            self._packed.append(image)
            image.pack()
        return image

    def report(self, reports: Reports) -> None:
        """Tell users of textures that could not be loaded."""
        if self.outside:
            reports.caution(
                "1 texture is outside the model's folder and was not loaded: {names}",
                "{count} textures are outside the model's folder and were not loaded: {names}",
                count=len(self.outside),
                names=", ".join(self.outside),
            )
        report_missing(reports, self.missing)
        for path in self.unreadable:
            reports.caution("Texture '{path}' is not an image that Blender can read", path=path)

    def unpack(self) -> None:
        """Undo the packing."""
        for image in self._packed:
            if image.packed_file:
                image.unpack(method="REMOVE")


def report_missing(reports: Reports, paths: Collection[str]) -> None:
    if paths:
        reports.caution(
            "1 texture is missing: {names}",
            "{count} textures are missing: {names}",
            count=len(paths),
            names=", ".join(paths),
        )


def relative(path: str) -> str:
    """A path relative to the model's folder: without drive and leading slash."""
    path = re.sub(r"^[A-Za-z]:", "", path.strip().replace("\\", "/"))
    return re.sub(r"/+", "/", path).lstrip("/")


def leaves_folder(path: str) -> bool:
    """Whether a relative path goes above the model's folder: a model has no business there."""
    return posixpath.normpath(path).split("/")[0] == ".."


def exists(image: bpy.types.Image) -> bool:
    """Whether the file of an image exists, or the .blend file contains it."""
    return bool(image.packed_file) or image.source != "FILE" or has_file(image)


def has_file(image: bpy.types.Image) -> bool:
    return os.path.isfile(bpy.path.abspath(image.filepath, library=image.library))


def _packed(path: str) -> bpy.types.Image | None:
    """The image that the .blend file contains in place of a file."""
    packed = (one for one in bpy.data.images if one.packed_file and not one.library)
    files = ((os.path.normpath(bpy.path.abspath(one.filepath)), one) for one in packed)
    return next((one for file, one in files if file == os.path.normpath(path)), None)


def has_alpha(image: bpy.types.Image) -> bool:
    return image.channels == 4 and image.depth in (16, 32, 64, 128)

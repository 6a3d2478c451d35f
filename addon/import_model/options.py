# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of an import, and the messages that it collects."""

from typing import NamedTuple

from ..blender.translations import tr, tr_count
from ..scene import mmd_tools, textures


class Options(NamedTuple):
    scale: float = mmd_tools.USUAL_SCALE
    parts: frozenset = frozenset({"MESH", "ARMATURE", "MORPHS", "PHYSICS", "DISPLAY"})
    pack: bool = False
    constraints: bool = True
    english: bool = False  # for names of bones, shape keys and materials
    look: bool = True  # the MMD Look


class Report:
    """Warnings about data that a model lost or lacks."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def textures(self, folder: textures.TextureFolder) -> None:
        """Warn about the textures that could not be loaded."""
        if folder.outside:
            text = tr_count(
                "1 texture is outside the model's folder and was not loaded: {names}",
                "{count} textures are outside the model's folder and were not loaded: {names}",
                len(folder.outside),
                names=", ".join(folder.outside),
            )
            self.warn(text)
        if folder.missing:
            text = tr_count(
                "1 texture is missing: {names}",
                "{count} textures are missing: {names}",
                len(folder.missing),
                names=", ".join(folder.missing),
            )
            self.warn(text)
        for path in folder.unreadable:
            self.warn(tr("Texture '{path}' is not an image that Blender can read", path=path))

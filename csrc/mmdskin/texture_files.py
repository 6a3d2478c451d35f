# SPDX-License-Identifier: MIT
"""The images that a model names: their files, and their pixels for render()."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

import numpy as np

from mmdskin.argument import check_model
from mmdskin.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from mmdskin import Model


def load_textures(
    model: Model, folder: str | os.PathLike[str] | None = None
) -> dict[int, NDArray[np.uint8]]:
    """Reads the textures, sphere maps and toons of a model by Pillow, for render(textures=).

    folder: where the files are; None: beside the file that the model was loaded from. File names
        may differ in upper and lower case, and must be below the folder.

    Returns {index in Model.textures: (h,w,4) uint8 sRGB, straight alpha}. Warns of files that are
    missing or damaged, and leaves them out. Raises ValueError for a model without a path, OSError for a
    folder that does not exist, and ImportError without Pillow.
    """
    check_model(model)
    if folder is None:
        if model.path is None:
            raise ValueError("folder: needed, as the model was not loaded from a path")
        folder = os.path.dirname(model.path)
    else:
        os.stat(os.path.join(folder, ""))  # which a folder has, but a file has not
    return read_textures(
        model, os.fspath(folder), lambda text: warnings.warn(printable(text), stacklevel=4)
    )


def texture_paths(model: Model, folder: str) -> dict[int, str | None]:
    """The file of each texture, None if it is missing: with either slash, in any case."""
    return {index: _find(folder, name) for index, name in enumerate(model.textures)}


def read_textures(
    model: Model, folder: str, warn: Callable[[str], None]
) -> dict[int, NDArray[np.uint8]]:
    paths = texture_paths(model, folder)
    for index, path in paths.items():
        if path is None:
            warn(f"texture {model.textures[index]}: not found")
    there = {index: path for index, path in paths.items() if path}
    if not there:
        return {}
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            'Pillow reads textures: pip install "mmdskin[pictures]"', name="PIL"
        ) from None
    images = {}
    for index, path in there.items():
        try:
            with Image.open(path) as image:
                images[index] = np.asarray(image.convert("RGBA"))
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            warn(f"{path}: {error}")
    return images


def _find(folder: str, name: str) -> str | None:
    import posixpath

    name = posixpath.normpath(name.replace("\\", "/"))
    if name.startswith(("/", "..")) or ":" in name:
        return None  # outside the model's folder
    path = folder
    for part in name.split("/"):
        exact = os.path.join(path, part)
        if not os.path.exists(exact):
            try:
                others = os.listdir(path or ".")
            except OSError:
                return None
            alike = [one for one in others if one.casefold() == part.casefold()]
            exact = os.path.join(path, sorted(alike)[0]) if alike else exact
        path = exact
    return path if os.path.isfile(path) else None

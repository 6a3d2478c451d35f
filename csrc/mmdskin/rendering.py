# SPDX-License-Identifier: MIT
"""render(): what its arguments mean. `_mmdskin._render` checks arrays and numbers, and draws."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import mmdskin
from mmdskin import _mmdskin  # type: ignore[attr-defined]
from mmdskin.argument import (
    camera_rows,
    check_mesh,
    check_word,
    parse_size,
    parse_want,
    texture_items,
    wrong_type,
)
from mmdskin.array_arguments import check_shape, converted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_LIGHT_COLOR = np.full(3, 154 / 255, np.float32)  # MMD's

# Of a Mesh: with two sides, all shadows and an edge. Its texture is the first, and it has all triangles.
_GRAY = mmdskin.Material(
    "", "", (0.7, 0.7, 0.7, 1), specular_power=0, ambient=(0.35,) * 3, flags=0x1F, index_count=0
)
_SHARED_TOONS = 2**31 - 10  # the key of the first one, as in module_render.c
_MOST_TOON_ROWS = 4096
_SHADOW_OFF, _SHADOW_OF_LIGHT, _SHADOW_COLORED = range(3)  # mmd_ground_shadow


def render(
    mesh: mmdskin.Model | mmdskin.Mesh,
    skinned: mmdskin.Skinned | mmdskin.Pose,
    *,
    size: tuple[int, int] = (512, 512),
    camera: mmdskin.Camera | None = None,
    background: ArrayLike = (1, 1, 1, 0),
    light: ArrayLike = (-0.5, -1, 0.5),
    edges: bool = False,
    want: Sequence[Literal["image", "depth", "normals", "triangles"]] = ("image",),
    materials: Sequence[mmdskin.Material] | None = None,
    uvs: ArrayLike | None = None,
    textures: dict[int, NDArray[np.uint8]] | None = None,
    samples: int = 1,
    backend: Literal["auto", "gl"] = "auto",
    look: Literal["lambert", "mmd"] = "lambert",
    light_color: ArrayLike | None = None,
    factors: ArrayLike | None = None,
    toons: ArrayLike | None = None,
    additional_uvs: ArrayLike | None = None,
    ground_shadow: ArrayLike | bool | None = None,
    self_shadow: bool = False,
) -> mmdskin.Rendered:
    """Renders a picture by OpenGL, without a window. Returns a Rendered.

    mesh: a Model, or a Mesh with triangles, which are clockwise seen from outside.
    skinned: the result of skin() for this mesh, (V,3) or a batch (F,V,3). A batch renders a
        batch, and so do F cameras, lights or sets of uvs; a single one serves all frames. If
        normals are None, face normals are used. Or a Pose: the same picture, but vertices are
        skinned while it is drawn. A GPU skins them, and they are not read back, if a camera is
        given and self_shadow is off.
    size: (width, height) in pixels. Pixels are square; row 0 is the top; a pixel shows what
        the ray through its center hits.
    camera: a Camera, such as Motion.camera_at() returns. None: in front of the mesh, framing
        all of it in all frames of a batch; framing() gives the same for several batches.
        Left-handed: looking along +z with y up, +x is right.
    background: (4,) sRGB and alpha, 0 to 1.
    light: (3,) or (F,3) direction in which the light shines; the default is MMD's.
    edges: whether to draw the edges of materials that have the edge flag, as a hull expanded
        along the normals. An edge of size and scale 1 is one pixel wide in a picture 512
        pixels high, and scales with the height.
    want: names of the members of Rendered to compute; the others are None. Edges appear in
        the image only.
    materials: sequence of Material, such as Model.materials_at() returns. None: the Model's
        own, or a double-sided gray for a Mesh. They are drawn in order and blended over what
        is behind; fragments of alpha 0 are discarded.
    uvs: (V,2) or (F,V,2), such as Model.uvs_at() returns. None: the Model's own; a Mesh
        has none.
    textures: {index: (h,w,4) uint8 sRGB, straight alpha}, row 0 at v = 0, repeating. Indices
        are those in materials; for a Mesh without materials, any. Missing textures are
        white; MMD's look of a model that has some warns of None. Those of the last calls, up to
        256 MiB with mipmaps, stay on the device and are found there by their pixels, which every
        call reads: render small pictures as a batch.
    samples: n by n samples per pixel of the image, 1 to 8, for antialiasing.
    backend: "auto" or "gl"; llvmpipe is enough without a GPU. With "gl", llvmpipe skins a
        Pose, too, which takes it longer than the CPU kernels.
    look: "lambert": the color of a surface is texture * min(1, ambient + diffuse *
        cos(angle of light and normal)), by its material; colors are converted to linear, lit,
        blended and averaged, and converted back to sRGB. "mmd": what MMD shows, by the rules
        of docs/look.md: toons, sphere maps, specular and edges, in sRGB numbers throughout.
    The other arguments are for look="mmd":
    light_color: (3,) or (F,3) sRGB. None: MMD's default, (154, 154, 154) / 255.
    factors: (M,2,3,4) of the M materials, such as Model.texture_factors_at() returns. None:
        neutral.
    toons: (10,H,4) uint8, the ramps of materials with a shared toon, lit first. None: those
        of mmdskin.toons(). Sphere maps and other toons are in `textures`; a material without
        its file is drawn without it.
    additional_uvs: (V,4) or (F,V,4), of which u and v place sub-textures, such as
        Model.uvs_at(weights, 1) returns. None: the Model's own, else zero.
    ground_shadow: (4,) color and alpha of the shadow on the plane y = 0; True: opaque in the
        color of the light, as in MMD. None: no shadow.
    self_shadow: whether materials cast shadows on each other, by a depth map that is twice as
        fine as the picture, up to 2048 x 2048. Single-sided surfaces cast them where the light
        sees their front.

    Depth and triangles are exact. What is nearer than 1e-5 of the distance of the farthest vertex is
    clipped. Raises TypeError and ValueError, also for more pixels than the device supports,
    and BackendError without OpenGL.
    """
    check_mesh(mesh)
    positions, normals = _vertices(skinned)
    model = mesh if isinstance(mesh, mmdskin.Model) else None
    images = _images(textures, model, uvs)
    is_gray = materials is None and model is None
    if is_gray:
        materials = (_GRAY._replace(texture=images[0][0] if images else -1),)
    check_word(backend, "backend", ("auto", "gl"), "cannot render")
    check_word(look, "look", ("lambert", "mmd"))
    if look == "lambert":
        _refuse(
            light_color=light_color,
            factors=factors,
            toons=toons,
            additional_uvs=additional_uvs,
            ground_shadow=ground_shadow,
            self_shadow=bool(self_shadow),
        )
    elif textures is None and model is not None and model.textures:
        warnings.warn(
            f"textures: the model has {len(model.textures)}, but is drawn without them: "
            "load_textures(model) reads them; {} if that is intended",
            stacklevel=2,
        )
    shadow, shadow_color = _ground_shadow(ground_shadow)
    if look == "mmd":
        images += _toon_images(mmdskin.toons() if _given(toons) is None else toons)
    rendered: mmdskin.Rendered = _mmdskin._render(
        mesh,
        skinned,
        (
            positions,
            normals,
            None if camera is None else camera_rows(camera),
            uvs,
            (-0.5, -1, 0.5) if light is None else light,
            _LIGHT_COLOR if light_color is None else light_color,
            _given(additional_uvs),
        ),
        images,
        model.materials if materials is None and model is not None else materials,
        is_gray,
        _given(factors),
        background,
        shadow,
        shadow_color,
        parse_size(size),
        samples,
        parse_want(want),
        edges,
        look == "mmd",
        self_shadow,
        backend == "gl",
    )
    return rendered


def _images(
    textures: Any, model: mmdskin.Model | None, uvs: ArrayLike | None
) -> list[tuple[int, NDArray[np.uint8]]]:
    images = []
    for key, name, given in texture_items(textures, model):
        pixels = converted(given, name, "uint8", 5)[1]
        check_shape(pixels.shape, name, ("h", "w", 4))
        if not pixels.size:
            raise ValueError(f"{name}: {pixels.shape[1]} x {pixels.shape[0]} pixels")
        images.append((key, pixels))
    if images and model is None and uvs is None:
        raise ValueError("textures: a Mesh has no texture coordinates; pass uvs=")
    return images


def _toon_images(toons: Any) -> list[tuple[int, NDArray[np.uint8]]]:
    """The shared toons, each a column."""
    ramps = converted(toons, "toons", "uint8", 5)[1]
    check_shape(ramps.shape, "toons", (10, "H", 4))
    if not 1 <= ramps.shape[1] <= _MOST_TOON_ROWS:
        raise ValueError(f"toons: {ramps.shape[1]} rows, expected 1 to {_MOST_TOON_ROWS}")
    return [(_SHARED_TOONS + i, ramp[:, np.newaxis]) for i, ramp in enumerate(ramps)]


def _vertices(skinned: Any) -> tuple[Any, Any]:
    """Positions and normals of a Skinned; a Pose has none."""
    if isinstance(skinned, mmdskin.Pose):
        return None, None
    if isinstance(skinned, mmdskin.Skinned) and len(skinned) == 3:
        return skinned[0], skinned[1]
    expected = "skinned: expected a Skinned or a Pose"
    if isinstance(skinned, mmdskin.Motion):
        hint = "Model.pose() makes the pose of a frame of a Motion"
        raise TypeError(f"{expected}, not {type(skinned)!r}; {hint}")
    raise wrong_type(skinned, expected, "load_motion")


def _given(effect: Any) -> Any:
    """None, too, for one that False switches off."""
    return None if effect is False else effect


def _refuse(**effects: Any) -> None:
    for name, effect in effects.items():
        if _given(effect) is not None:
            raise ValueError(f'{name}: not used by look "lambert"')


def _ground_shadow(argument: Any) -> tuple[int, Any]:
    """Which kind, and the color of one that has its own."""
    if _given(argument) is None:
        return _SHADOW_OFF, (0, 0, 0, 0)
    return (_SHADOW_OF_LIGHT, (0, 0, 0, 0)) if argument is True else (_SHADOW_COLORED, argument)


render.__module__ = "mmdskin"  # where it is exported: in pickles

# SPDX-License-Identifier: MIT
"""The look of MMD in float64, written from the rules in docs/look.md, fragment by fragment.

A scene is what render() takes. Its picture is (H,W,4), straight sRGB with alpha of 0 to 1; owners
are the materials of its pixels, -1 where there is none. One sample per pixel, at its center.
"""

from typing import NamedTuple

import numpy as np

ADD_NEUTRAL, NEUTRAL = 0.0, 1.0
LIGHT_COLOR = np.full(3, 154 / 255)
LIGHT = np.array([-0.5, -1, 0.5])
MIN_ALPHA = 0.5 / 255
EDGE_HEIGHT = 512  # an edge of size 1 is a pixel wide in a picture of this height
DOUBLE_SIDED, GROUND, CASTS, RECEIVES, EDGE = 1, 2, 4, 8, 16


class Scene(NamedTuple):
    positions: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    materials: tuple
    camera: tuple
    size: tuple = (512, 512)
    uvs: np.ndarray | None = None
    additional_uvs: np.ndarray | None = None
    edge_scales: np.ndarray | None = None
    textures: dict = {}  # noqa: RUF012
    toons: np.ndarray | None = None
    factors: np.ndarray | None = None
    light: np.ndarray = LIGHT
    light_color: np.ndarray = LIGHT_COLOR
    background: tuple = (1, 1, 1, 0)
    edges: bool = False
    ground_shadow: tuple | None = None
    self_shadow: bool = False


def unit(v):
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.divide(v, length, out=np.zeros_like(v), where=length > 0)


class View:
    """Rows of `turn`: right, up, forward."""

    def __init__(self, camera, size):
        position, target, up, fov = (np.asarray(member, float) for member in camera)
        forward = unit(target - position)
        right = unit(np.cross(up, forward))
        self.turn = np.stack([right, np.cross(forward, right), forward])
        self.position, self.size = position, size
        self.tangent = np.tan(np.radians(float(fov)) / 2)

    def points(self, positions):
        return (np.asarray(positions, float) - self.position) @ self.turn.T

    def rays(self, rows, columns):
        width, height = self.size
        x = ((columns + 0.5) / width * 2 - 1) * self.tangent * width / height
        y = (1 - (rows + 0.5) / height * 2) * self.tangent
        return np.stack([x, y, np.ones_like(x)], -1)

    def pixels(self, points):
        """Columns and rows of points in front of the camera."""
        width, height = self.size
        scale = height / 2 / self.tangent / points[..., 2]
        return width / 2 + points[..., 0] * scale, height / 2 - points[..., 1] * scale


class Fragments(NamedTuple):
    """One row each, in the order of drawing."""

    triangle: np.ndarray
    pixel: np.ndarray
    depth: np.ndarray
    shares: np.ndarray  # (n,3) of the triangle's corners, correct in perspective


def boxes(view, corners):
    """First and last row and column of each triangle, cut to the picture."""
    width, height = view.size
    with np.errstate(all="ignore"):
        columns, rows = view.pixels(corners)
    behind = (corners[..., 2] <= 1e-9).any(1)[:, None]
    columns = np.where(behind, [[0, width, 0]], columns)
    rows = np.where(behind, [[0, height, 0]], rows)
    low = np.floor([columns.min(1) - 0.5, rows.min(1) - 0.5]).clip(0, [[width], [height]])
    high = np.ceil([columns.max(1) + 0.5, rows.max(1) + 0.5]).clip(0, [[width], [height]])
    low[:, (corners[..., 2] <= 0).all(1)] = high[:, (corners[..., 2] <= 0).all(1)] = 0
    return low.astype(int), high.astype(int)


def rasterize(view, points, triangles, sides):
    """Fragments of triangles in view space. sides: which are drawn, 0 both, 1 seen clockwise, -1 counterclockwise."""
    corners = points[triangles]
    low, high = boxes(view, corners)
    wide, tall = (high - low).clip(0)
    wide[sides > 1] = 0
    counts = wide * tall
    triangle = np.repeat(np.arange(len(triangles)), counts)
    nth = np.arange(len(triangle)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = low[0][triangle] + nth % wide[triangle]
    rows = low[1][triangle] + nth // wide[triangle]
    a, b, c = corners.transpose(1, 0, 2)
    volume = (a * np.cross(b, c)).sum(-1)
    planes = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], 1)
    rays = view.rays(rows, columns)
    shares = np.einsum("nij,nj->ni", planes[triangle], rays)
    # det > 0: the corners are seen counterclockwise
    sign = np.sign(volume)[triangle]
    seen = (shares * sign[:, None] >= 0).all(1) & (shares.sum(1) * sign > 0)
    seen &= (sides[triangle] == 0) | (sides[triangle] == -sign)
    triangle, shares = triangle[seen], shares[seen]
    total = shares.sum(1)
    return Fragments(
        triangle,
        rows[seen] * view.size[0] + columns[seen],
        volume[triangle] / total,
        shares / total[:, None],
    )


def bilinear(texture, u, v, clamp=False):
    """Texels (n,4) of 0 to 1; v = 0 is the upper side of row 0."""
    texture = np.asarray(texture, float) / 255
    height, width = texture.shape[:2]
    x, y = u * width - 0.5, v * height - 0.5
    column, row = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = (x - column)[:, None], (y - row)[:, None]

    def at(dy, dx):
        if clamp:
            return texture[(row + dy).clip(0, height - 1), (column + dx).clip(0, width - 1)]
        return texture[(row + dy) % height, (column + dx) % width]

    upper = at(0, 0) * (1 - fx) + at(0, 1) * fx
    lower = at(1, 0) * (1 - fx) + at(1, 1) * fx
    return upper * (1 - fy) + lower * fy


def factored(texels, factors, neutral):
    """X' = lerp(N, X mul.rgb + add.rgb, mul.a + add.a); factors (2,4)."""
    (mul, add), strength = np.asarray(factors, float), float(factors[0][3] + factors[1][3])
    return neutral + (texels * mul[:3] + add[:3] - neutral) * strength


def toon_of(scene, material):
    if not material.shared_toon:
        return scene.textures.get(material.toon)
    return scene.toons[material.toon][:, None] if 0 <= material.toon < 10 else None


def blocked(scene, points):
    """Whether something that casts shadows is between the points (world) and the light: by rays."""
    casting, first = [], 0
    for material in scene.materials:
        count = material.index_count // 3
        if material.flags & CASTS and material.diffuse[3] > 0:
            casting.append(scene.triangles[first : first + count])
        first += count
    found = np.zeros(len(points), bool)
    way = -unit(np.asarray(scene.light, float))
    for a, b, c in scene.positions[np.concatenate(casting)].astype(float) if casting else ():
        across = np.cross(way, c - a)
        volume = (b - a) @ across
        if abs(volume) < 1e-12:
            continue
        arm = points - a
        u, other = arm @ across / volume, np.cross(arm, b - a)
        v, t = other @ way / volume, other @ (c - a) / volume
        found |= (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 1e-3)
    return found


def shade(scene, view, material, factors, points, normals, uvs, additional_uvs):
    """Colors (n,4) of fragments of one material, before the final clamp; `points` and `normals` in view space."""
    diffuse, ambient = np.float64(material.diffuse), np.float64(material.ambient)
    light_color = np.float64(scene.light_color)
    color = np.empty((len(points), 4))
    color[:, :3] = (ambient + light_color * diffuse[:3]).clip(0, 1)
    color[:, 3] = diffuse[3].clip(0, 1)
    normals, to_light = unit(normals), view.turn @ -unit(np.asarray(scene.light, float))
    base = scene.textures.get(material.texture)
    if base is not None:
        texels = bilinear(base, *uvs.T)
        color[:, :3] *= factored(texels[:, :3], factors[:, 0], NEUTRAL)
        color[:, 3] *= texels[:, 3]
    sphere, mode = scene.textures.get(material.sphere_texture), material.sphere_mode
    if sphere is not None and mode != "none":
        if mode == "sub_texture":
            texels = bilinear(sphere, *additional_uvs[:, :2].T)
        else:
            texels = bilinear(sphere, 0.5 + normals[:, 0] / 2, 0.5 - normals[:, 1] / 2)
        if mode == "add":
            color[:, :3] += factored(texels[:, :3], factors[:, 1], ADD_NEUTRAL)
        else:
            color[:, :3] *= factored(texels[:, :3], factors[:, 1], NEUTRAL)
        color[:, 3] *= texels[:, 3]
    cosine, lit = normals @ to_light, 1.0
    toon = toon_of(scene, material)
    if scene.self_shadow:
        lit = (3 * cosine).clip(0, 1)
        if material.flags & RECEIVES:
            lit = lit * ~blocked(scene, points @ view.turn + view.position)
        lit = lit[:, None]
        if toon is not None:
            dark = factored(np.float64(toon)[-1, 0, :3] / 255, factors[:, 2], NEUTRAL)
            color[:, :3] *= dark + (1 - dark) * lit
    elif toon is not None:
        texels = bilinear(toon, np.zeros(len(points)), 0.5 - cosine / 2, clamp=True)
        color[:, :3] *= factored(texels[:, :3], factors[:, 2], NEUTRAL)
    if material.specular_power > 0:
        halfway = unit(to_light - unit(points))
        peak = (normals * halfway).sum(-1).clip(0) ** material.specular_power
        color[:, :3] += np.float64(material.specular) * light_color * peak[:, None] * lit
    return color


def surfaces(scene, view):
    """Fragments of all materials, their colors and their materials."""
    starts = np.cumsum([0, *(material.index_count // 3 for material in scene.materials)])
    owner = np.searchsorted(starts, np.arange(len(scene.triangles)), side="right") - 1
    sides = np.full(len(scene.triangles), 2)
    for i, material in enumerate(scene.materials):
        if material.diffuse[3] > 0:
            sides[starts[i] : starts[i + 1]] = 0 if material.flags & DOUBLE_SIDED else 1
    points = view.points(scene.positions)
    f = rasterize(view, points, scene.triangles, sides)
    corners = scene.triangles[f.triangle]

    def interpolate(values):
        return np.einsum("nij,ni->nj", np.asarray(values, float)[corners], f.shares)

    at = interpolate(points)
    normals = interpolate(scene.normals @ view.turn.T)
    zero = np.zeros((len(scene.positions), 2))
    uvs = interpolate(zero if scene.uvs is None else scene.uvs)
    more = interpolate(zero if scene.additional_uvs is None else scene.additional_uvs)
    colors, materials = np.zeros((len(corners), 4)), owner[f.triangle]
    neutral = np.stack([np.ones((3, 4)), np.zeros((3, 4))])
    for i, material in enumerate(scene.materials):
        own = materials == i
        factors = neutral if scene.factors is None else scene.factors[i]
        colors[own] = shade(
            scene, view, material, factors, at[own], normals[own], uvs[own], more[own]
        )
    return f, colors, materials


def edges(scene, view):
    starts = np.cumsum([0, *(material.index_count // 3 for material in scene.materials)])
    points = view.points(scene.positions)
    normals = unit(np.asarray(scene.normals, float)) @ view.turn.T
    scales = np.ones(len(points)) if scene.edge_scales is None else scene.edge_scales
    width = 2 * view.tangent / EDGE_HEIGHT * points[:, 2] * scales
    parts = []
    for i, material in enumerate(scene.materials):
        drawn = material.flags & EDGE and material.edge_size > 0
        if not (drawn and material.edge_color[3] > 0 and material.diffuse[3] > 0):
            continue
        hull = points + normals * (width * material.edge_size)[:, None]
        triangles = scene.triangles[starts[i] : starts[i + 1]]
        f = rasterize(view, hull, triangles, np.full(len(triangles), -1))
        parts.append((f, np.tile(np.clip(material.edge_color, 0, 1), (len(f.pixel), 1))))
    return parts


def ground_pixels(scene, view):
    """Whether the shadow on y = 0 covers each pixel."""
    light = unit(np.asarray(scene.light, float))
    covered = np.zeros(view.size[0] * view.size[1], bool)
    if abs(light[1]) < 1e-6:
        return covered
    positions = np.asarray(scene.positions, float)
    flat = positions - light * (positions[:, 1:2] / light[1])
    first = 0
    for material in scene.materials:
        count = material.index_count // 3
        if material.flags & GROUND and material.diffuse[3] > 0:
            triangles = scene.triangles[first : first + count]
            f = rasterize(view, view.points(flat), triangles, np.zeros(count, int))
            covered[f.pixel] = True
        first += count
    return covered


def over(picture, pixel, color):
    """Blends straight colors on premultiplied pixels."""
    alpha = color[:, 3:]
    premultiplied = np.concatenate([color[:, :3].clip(0, 1) * alpha, alpha], 1)
    picture[pixel] = premultiplied + picture[pixel] * (1 - alpha)


def blend(picture, depths, owners, f, colors, materials):
    """Draws fragments in their order: depth test, alpha over, depth written."""
    kept = np.flatnonzero(colors[:, 3] >= MIN_ALPHA)
    order = kept[np.argsort(f.pixel[kept], kind="stable")]
    pixel = f.pixel[order]
    starts = np.flatnonzero(np.diff(pixel, prepend=-1))
    nth = np.arange(len(pixel)) - np.repeat(starts, np.diff([*starts, len(pixel)]))
    for n in range(nth.max(initial=-1) + 1):
        now = order[nth == n]
        now = now[f.depth[now] <= depths[f.pixel[now]] * (1 + 1e-12)]
        over(picture, f.pixel[now], colors[now])
        depths[f.pixel[now]] = f.depth[now]
        owners[f.pixel[now]] = materials[now]


def finish(scene, picture):
    """Straight colors over the background, (H,W,4)."""
    background = np.float64(scene.background)
    rest = background[3] * (1 - picture[:, 3:])
    alpha = picture[:, 3:] + rest
    color = picture[:, :3] + background[:3] * rest
    where = alpha > 0
    straight = np.divide(color, alpha, out=np.tile(background[:3], (len(alpha), 1)), where=where)
    return np.concatenate([straight.clip(0, 1), alpha], 1).reshape(*scene.size[::-1], 4)


def stages(scene):
    """(picture without edges, picture, owners)."""
    width, height = scene.size
    view = View(scene.camera, scene.size)
    picture = np.zeros((width * height, 4))
    depths, owners = np.full(width * height, np.inf), np.full(width * height, -1)
    if scene.ground_shadow is not None:
        covered = np.flatnonzero(ground_pixels(scene, view))
        over(picture, covered, np.tile(np.float64(scene.ground_shadow), (len(covered), 1)))
    blend(picture, depths, owners, *surfaces(scene, view))
    plain = finish(scene, picture)
    for f, colors in edges(scene, view) if scene.edges else ():
        blend(picture, depths, owners.copy(), f, colors, np.zeros(len(colors), int))
    return plain, finish(scene, picture), owners.reshape(height, width)


def render(scene):
    """(picture, owners)."""
    _, picture, owners = stages(scene)
    return picture, owners


def interior(owners):
    """Pixels whose neighbors belong to the same material."""
    padded = np.pad(owners, 1, constant_values=-2)
    height, width = owners.shape
    same = owners >= 0
    for dy in range(3):
        for dx in range(3):
            same &= padded[dy : dy + height, dx : dx + width] == owners
    return same

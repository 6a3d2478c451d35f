# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared node groups that compute the color which MMD gives a pixel.

"MMD Coordinates" has the texture coordinates of sphere map and toon and the highlight's angle;
"MMD Self-Shadow" how much of the light reaches the surface, in EEVEE; "MMD Shading" the rest;
"MMD Ground Shadow" is that of its name. MMD calculates with display (sRGB) numbers, as its files
have them: images, which Blender gives in linear numbers, are encoded first, and the result is
decoded last, by the groups "MMD sRGB" and "MMD Linear". The formulas are those of docs/look.md.
"""

from typing import Any

import bpy

from ..blender.node_builder import COLOR, FLOAT, SHADER, VECTOR, NodeBuilder, Value, own
from ..scene import light

COORDINATES, SHADING, GROUND = "MMD Coordinates", "MMD Shading", "MMD Ground Shadow"
SELF_SHADOW = "MMD Self-Shadow"
_ENCODED, _DECODED = "MMD sRGB", "MMD Linear"
RESULT, SHADOWED = "Shader", "Self-Shadowed Shader"  # outputs of SHADING
HULL = "mmd_hull"  # attribute: 1 on the edge's geometry
TEXTURES = ("Base", "Sphere", "Toon")
TOON_ROWS = "Toon Rows"  # input of COORDINATES: the height of the toon's image
NEXT_TOON, TOON_MIX = "Next Toon", "Toon Mix"
_MARK = "mmdskin_look"  # ID property of each of our groups: its kind
_WHITE, _BLACK = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
_LEAST_ALPHA = 0.5 / 255  # below it, nothing is drawn and nothing casts a shadow
# The mirror that shows the Sun (`_visibility`): its roughness, and the least radiance of the Sun in it
# where nothing hides the Sun, in those of the light. EEVEE shows about 10.
_MIRROR, _SUN = 0.3, 4.0
# The hull of a translucent surface is visible where its normal is this close to perpendicular to the
# view: the cosine of the angle between them.
_RIM = 0.2


def group(kind: str) -> bpy.types.ShaderNodeTree:
    """The shared group of a kind, such as SHADING, built at its first use."""
    found = next((one for one in _groups() if one[_MARK] == kind), None)
    if found is None:
        builder = NodeBuilder(kind, "ShaderNodeTree")
        builder.group[_MARK] = kind
        _BUILDERS[kind](builder)
        found = builder.arranged()
    return found


def new_material(name: str, kind: str = "") -> tuple[Any, Any]:
    """A material that shows the group of a kind, or nothing; and the node that does."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree: Any = material.node_tree
    tree.nodes.clear()
    shown = tree.nodes.new("ShaderNodeGroup" if kind else "ShaderNodeBsdfTransparent")
    if kind:
        shown.node_tree = group(kind)
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    output.location.x = 250
    tree.links.new(shown.outputs[0], output.inputs["Surface"])
    return material, shown


def drop_unused() -> None:
    """Remove the groups that no material uses, and then those within them."""
    while unused := [one for one in _groups() if not one.users]:
        bpy.data.batch_remove(unused)


def _groups() -> list:
    return own(bpy.data.node_groups, _MARK)


def _coordinates(builder: NodeBuilder) -> None:
    towards, _ = _light(builder)
    geometry, normal = _geometry(builder)
    back = geometry.outputs["Backfacing"]
    spaces = {"vector_type": "VECTOR", "convert_from": "WORLD", "convert_to": "CAMERA"}
    seen = builder.result("ShaderNodeVectorTransform", {0: normal}, **spaces)
    unit = builder.vector("NORMALIZE", seen)
    sphere = builder.vector("MULTIPLY_ADD", unit, (0.5, 0.5, 0.0), (0.5, 0.5, 0.0))
    lit = builder.vector("DOT_PRODUCT", normal, towards)
    rows = builder.input(TOON_ROWS, FLOAT, 32.0)
    row, above, mix = _toon_rows(builder, builder.number("MULTIPLY_ADD", lit, 0.5, 0.5), rows)
    half = builder.vector("NORMALIZE", builder.vector("ADD", geometry.outputs["Incoming"], towards))
    highlight = builder.number("MAXIMUM", builder.vector("DOT_PRODUCT", half, normal), 0.0)
    builder.output("Sphere UV", VECTOR, sphere)
    builder.output("Toon UV", VECTOR, row)
    builder.output(f"{NEXT_TOON} UV", VECTOR, above)
    builder.output(TOON_MIX, FLOAT, mix)
    builder.output("Highlight", FLOAT, highlight)
    builder.output("Back", FLOAT, back)


def _toon_rows(builder: NodeBuilder, height: Value, rows: Value) -> tuple:
    """The places of the toon's two rows next to a height, 0 to 1, and how much the upper one counts.

    The material reads both with Closest interpolation, since EEVEE would read a smaller mip map of the
    toon where the normal changes abruptly, as at creases.
    """
    place = builder.number("MULTIPLY_ADD", height, rows, -0.5)
    lower = builder.number("FLOOR", place)
    centers = (builder.number("ADD", lower, half) for half in (0.5, 1.5))
    below, above = (
        builder.combined(0.0, builder.number("DIVIDE", center, rows), 0.0) for center in centers
    )
    return below, above, builder.number("SUBTRACT", place, lower)


def _geometry(builder: NodeBuilder) -> tuple:
    """The Geometry node, and the normal: Blender turns it towards the viewer, MMD does not."""
    node = builder.node("ShaderNodeNewGeometry")
    turned = builder.number("MULTIPLY_ADD", node.outputs["Backfacing"], -2.0, 1.0)
    return node, builder.vector("SCALE", node.outputs["Normal"], turned)


def _self_shadow(builder: NodeBuilder) -> None:
    receives = builder.input("Receives", FLOAT, 1.0)
    towards, color = _light(builder)
    geometry, normal = _geometry(builder)
    visible = _visibility(builder, geometry.outputs["Incoming"], normal, towards, color)
    hidden = builder.number("SUBTRACT", 1.0, visible)
    visible = builder.number("SUBTRACT", 1.0, builder.number("MULTIPLY", hidden, receives))
    cosine = builder.vector("DOT_PRODUCT", normal, towards)
    angle = builder.number("MULTIPLY", cosine, 3.0, clamp=True)
    builder.output("Light", FLOAT, builder.number("MINIMUM", angle, visible))


def _visibility(
    builder: NodeBuilder, incoming: Value, normal: Value, towards: Value, color: Value
) -> Value:
    """1 where the Sun is visible from the surface, 0 in its shadow; EEVEE only.

    A mirror turned so that it reflects the Sun to the viewer: however the surface lies, and whatever
    other lights there are, it is bright only where the Sun is visible.
    """
    half = builder.vector("NORMALIZE", builder.vector("ADD", incoming, towards))
    glossy = {"Color": (1.0, 1.0, 1.0, 1.0), "Roughness": _MIRROR, "Normal": half}
    mirror = builder.result("ShaderNodeBsdfAnisotropic", glossy)  # named Glossy BSDF
    # Blender 4.2 moves the point along the normal of the first shader before it looks for what hides the
    # Sun. By the mirror's, the surface would hide itself; this one is black and has the surface's own.
    black = {"Color": (0.0, 0.0, 0.0, 1.0), "Normal": normal}
    first = builder.result("ShaderNodeBsdfDiffuse", black)
    both = builder.result("ShaderNodeAddShader", {0: first, 1: mirror})
    seen = builder.result("ShaderNodeShaderToRGB", {0: both})
    brightness = builder.vector("DOT_PRODUCT", seen, _WHITE)
    energy = _of_view_layer(builder, light.ENERGY).outputs["Fac"]
    least = builder.number("MULTIPLY", builder.vector("DOT_PRODUCT", color, (_SUN,) * 3), energy)
    # A black light casts no shadow, nor does none.
    dark = builder.number("LESS_THAN", least, 1e-4)
    return builder.number("MAXIMUM", builder.number("GREATER_THAN", brightness, least), dark)


def _shading(builder: NodeBuilder) -> None:
    diffuse, ambient, specular = (
        builder.input(name, VECTOR, _BLACK) for name in ("Diffuse", "Ambient", "Specular")
    )
    alpha, power = builder.input("Alpha", FLOAT, 1.0), builder.input("Power", FLOAT, 0.0)
    base, sphere, toon = (builder.input(name, COLOR, (1, 1, 1, 1)) for name in TEXTURES)
    next_toon = builder.input(NEXT_TOON, COLOR, (1, 1, 1, 1))
    toon_mix = builder.input(TOON_MIX, FLOAT, 0.0)
    base_alpha = builder.input("Base Alpha", FLOAT, 1.0)
    sphere_alpha = builder.input("Sphere Alpha", FLOAT, 1.0)
    adds, multiplies = (builder.input(f"Sphere {how}", FLOAT, 0.0) for how in ("Add", "Multiply"))
    highlight = builder.input("Highlight", FLOAT, 0.0)
    is_back = builder.input("Back", FLOAT, 0.0)
    double_sided = builder.input("Double Sided", FLOAT, 0.0)
    edge = builder.input("Edge Color", VECTOR, _BLACK)
    edge_alpha, edge_size = (
        builder.input(f"Edge {name}", FLOAT, 0.0) for name in ("Alpha", "Size")
    )
    factors = {name: _factors(builder, name) for name in TEXTURES}
    lit = builder.input("Light", FLOAT, 1.0)  # of SELF_SHADOW
    toon_shadow = builder.input("Toon Shadow", COLOR, (1, 1, 1, 1))  # the toon's lowest color
    casts = builder.input("Casts", FLOAT, 1.0)
    _, color = _light(builder)

    def changed(name: str, numbers: Value, neutral: Value) -> Value:
        """A texture's numbers after the factors of material morphs."""
        multiply, add, weight = factors[name]
        moved = builder.vector("MULTIPLY_ADD", numbers, multiply, add)
        return builder.mixed(neutral, moved, weight)

    rgb = builder.clamped(builder.vector("MULTIPLY_ADD", color, diffuse, ambient))
    rgb = builder.vector("MULTIPLY", rgb, changed("Base", _encoded(builder, base), _WHITE))
    numbers = _encoded(builder, sphere)
    factor = builder.mixed(_WHITE, changed("Sphere", numbers, _WHITE), multiplies)
    summand = builder.vector("SCALE", changed("Sphere", numbers, _BLACK), adds)
    rgb = builder.vector("MULTIPLY_ADD", rgb, factor, summand)
    ramp = builder.mixed(_encoded(builder, toon), _encoded(builder, next_toon), toon_mix)
    toned = builder.vector("MULTIPLY", rgb, changed("Toon", ramp, _WHITE))
    darkest = changed("Toon", _encoded(builder, toon_shadow), _WHITE)
    shadowed = builder.vector("MULTIPLY", rgb, builder.mixed(darkest, _WHITE, lit))
    # A power of 0 means no highlight.
    strength = builder.number("POWER", highlight, power)
    strength = builder.number("MULTIPLY", strength, builder.number("GREATER_THAN", power, 0.0))
    shine = builder.vector("SCALE", builder.vector("MULTIPLY", specular, color), strength)
    toned = builder.clamped(builder.vector("ADD", toned, shine))
    shine = builder.vector("SCALE", shine, lit)
    shadowed = builder.clamped(builder.vector("ADD", shadowed, shine))
    front = builder.number("SUBTRACT", 1.0, is_back)
    opacity = builder.number(
        "MULTIPLY", builder.number("MULTIPLY", alpha, base_alpha), sphere_alpha
    )
    opacity = builder.number("MULTIPLY", opacity, 1.0, clamp=True)
    opacity = builder.number("MULTIPLY", opacity, builder.number("MAXIMUM", double_sided, front))
    hull = builder.node("ShaderNodeAttribute", attribute_type="GEOMETRY", attribute_name=HULL)
    on_edge = hull.outputs["Fac"]
    covers = builder.number("MULTIPLY", edge_alpha, front, clamp=True)
    for number in (alpha, edge_size):
        covers = builder.number("MULTIPLY", covers, builder.number("GREATER_THAN", number, 0.0))
    covers = builder.number("MULTIPLY", covers, _is_outside(builder, opacity))
    difference = builder.number("SUBTRACT", covers, opacity)
    # What casts a shadow casts it whole, and edges cast none.
    cast = builder.number("MULTIPLY", casts, builder.number("SUBTRACT", 1.0, on_edge))
    cast = builder.number("MULTIPLY", cast, builder.number("GREATER_THAN", opacity, _LEAST_ALPHA))
    opacity = builder.number("MULTIPLY_ADD", on_edge, difference, opacity)
    seen = builder.mixed(toned, edge, on_edge)
    builder.output(RESULT, SHADER, _shown(builder, seen, opacity))
    is_shadow = builder.node("ShaderNodeLightPath").outputs["Is Shadow Ray"]
    difference = builder.number("SUBTRACT", cast, opacity)
    opacity = builder.number("MULTIPLY_ADD", is_shadow, difference, opacity)
    seen = builder.mixed(shadowed, edge, on_edge)
    builder.output(SHADOWED, SHADER, _shown(builder, seen, opacity))


def _is_outside(builder: NodeBuilder, opacity: Value) -> Value:
    """0 where the hull is behind its own translucent surface.

    MMD's translucent surfaces write their depth, so they hide the hull. Blender's do not: the whole hull
    would darken them. Its part outside the surface is where the normal is nearly perpendicular to the
    view.
    """
    geometry = builder.node("ShaderNodeNewGeometry")
    facing = builder.vector("DOT_PRODUCT", geometry.outputs["Normal"], geometry.outputs["Incoming"])
    inside = builder.number("GREATER_THAN", builder.number("ABSOLUTE", facing), _RIM)
    is_drawn = builder.number("GREATER_THAN", opacity, _LEAST_ALPHA)
    translucent = builder.number("LESS_THAN", opacity, 1 - _LEAST_ALPHA)
    hidden = builder.number("MULTIPLY", inside, builder.number("MULTIPLY", is_drawn, translucent))
    return builder.number("SUBTRACT", 1.0, hidden)


def _ground(builder: NodeBuilder) -> None:
    """The ground shadow: the color of the light."""
    _, color = _light(builder)
    builder.output(RESULT, SHADER, _shown(builder, builder.clamped(color), 1.0))


def _factors(builder: NodeBuilder, name: str) -> tuple:
    """The inputs for what material morphs do to a texture."""
    return (
        builder.input(f"{name} Factor", VECTOR, _WHITE),
        builder.input(f"{name} Summand", VECTOR, _BLACK),
        builder.input(f"{name} Weight", FLOAT, 1.0),
    )


def _light(builder: NodeBuilder) -> tuple:
    """The unit direction to the light, and its color: MMD's own in a scene without a light."""
    direction, color = (_of_view_layer(builder, name) for name in (light.DIRECTION, light.COLOR))
    length = builder.vector("LENGTH", direction.outputs["Vector"])
    exists = builder.number("GREATER_THAN", length, 0.0)
    towards = builder.mixed(light.DEFAULT_DIRECTION, direction.outputs["Vector"], exists)
    shown = builder.mixed(light.DEFAULT_COLOR, color.outputs["Vector"], exists)
    return builder.vector("NORMALIZE", towards), shown


def _of_view_layer(builder: NodeBuilder, name: str) -> Any:
    """A node with a custom property of the scene."""
    return builder.node("ShaderNodeAttribute", attribute_type="VIEW_LAYER", attribute_name=name)


def _shown(builder: NodeBuilder, rgb: Value, opacity: Value) -> bpy.types.NodeSocket:
    """The shader: seen by cameras and in mirrors, but it lights nothing."""
    color = _converted(builder, rgb, _DECODED)
    path = builder.node("ShaderNodeLightPath")
    strength = builder.number("SUBTRACT", 1.0, path.outputs["Is Diffuse Ray"])
    emission = builder.result("ShaderNodeEmission", {"Color": color, "Strength": strength})
    clear = builder.result("ShaderNodeBsdfTransparent")
    return builder.result("ShaderNodeMixShader", {0: opacity, 1: clear, 2: emission})


def _encoded(builder: NodeBuilder, linear: Value) -> bpy.types.NodeSocket:
    """Linear numbers as display numbers, by the sRGB curve."""
    return _converted(builder, linear, _ENCODED)


def _converted(builder: NodeBuilder, color: Value, kind: str) -> bpy.types.NodeSocket:
    # A group, as Blender needs longer for each node that is added, the more a group has.
    return builder.result("ShaderNodeGroup", {0: color}, node_tree=group(kind))


def _encode(builder: NodeBuilder) -> None:
    linear = builder.clamped(builder.input("Linear", VECTOR, _BLACK))
    curve = _power(builder, linear, 1 / 2.4)
    curve = builder.vector("MULTIPLY_ADD", curve, (1.055,) * 3, (-0.055,) * 3)
    scaled = builder.vector("SCALE", linear, 12.92)
    builder.output("sRGB", VECTOR, builder.chosen(linear, 0.0031308, scaled, curve))


def _decode(builder: NodeBuilder) -> None:
    display = builder.input("sRGB", VECTOR, _BLACK)
    curve = builder.vector("MULTIPLY_ADD", display, (1 / 1.055,) * 3, (0.055 / 1.055,) * 3)
    curve = _power(builder, curve, 2.4)
    scaled = builder.vector("SCALE", display, 1 / 12.92)
    builder.output("Linear", VECTOR, builder.chosen(display, 0.04045, scaled, curve))


def _power(builder: NodeBuilder, vector: Value, exponent: float) -> bpy.types.NodeSocket:
    return builder.result("ShaderNodeGamma", {0: vector, 1: exponent})


_BUILDERS = {
    COORDINATES: _coordinates,
    SELF_SHADOW: _self_shadow,
    SHADING: _shading,
    GROUND: _ground,
    _ENCODED: _encode,
    _DECODED: _decode,
}

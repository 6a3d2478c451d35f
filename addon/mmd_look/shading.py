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
from bpy.types import ShaderNodeTree

from ..blender.node_builder import COLOR, FLOAT, SHADER, VECTOR, Field, NodeBuilder, Value, own
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


def group(kind: str) -> ShaderNodeTree:
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
    spaces = {"vector_type": "VECTOR", "convert_from": "WORLD", "convert_to": "CAMERA"}
    seen = builder.result("ShaderNodeVectorTransform", {0: normal}, **spaces).normalized()
    height = normal.dot(towards) * 0.5 + 0.5
    row, above, mix = _toon_rows(builder, height, builder.input(TOON_ROWS, FLOAT, 32.0))
    half = (geometry["Incoming"] + towards).normalized()
    builder.output("Sphere UV", VECTOR, seen * (0.5, 0.5, 0.0) + (0.5, 0.5, 0.0))
    builder.output("Toon UV", VECTOR, row)
    builder.output(f"{NEXT_TOON} UV", VECTOR, above)
    builder.output(TOON_MIX, FLOAT, mix)
    builder.output("Highlight", FLOAT, builder.math("MAXIMUM", half.dot(normal), 0.0))
    builder.output("Back", FLOAT, geometry["Backfacing"])


def _toon_rows(builder: NodeBuilder, height: Field, rows: Field) -> tuple[Field, Field, Field]:
    """The positions of the toon's two rows next to a height, 0 to 1, and how much the upper one counts.

    The material reads both with Closest interpolation, since EEVEE would read a smaller mip map of the
    toon where the normal changes abruptly, as at creases.
    """
    place = height * rows + -0.5
    lower = builder.math("FLOOR", place)
    below, above = (builder.combined(0.0, (lower + half) / rows, 0.0) for half in (0.5, 1.5))
    return below, above, place - lower


def _geometry(builder: NodeBuilder) -> tuple[dict[str, Field], Field]:
    """Of the Geometry node, and the normal: Blender turns it towards the viewer, MMD does not."""
    geometry = builder.outputs("ShaderNodeNewGeometry")
    return geometry, geometry["Normal"] * (geometry["Backfacing"] * -2.0 + 1.0)


def _self_shadow(builder: NodeBuilder) -> None:
    receives = builder.input("Receives", FLOAT, 1.0)
    towards, color = _light(builder)
    geometry, normal = _geometry(builder)
    visible = _visibility(builder, geometry["Incoming"], normal, towards, color)
    visible = 1.0 - (1.0 - visible) * receives
    angle = (normal.dot(towards) * 3.0).clamped()
    builder.output("Light", FLOAT, builder.math("MINIMUM", angle, visible))


def _visibility(
    builder: NodeBuilder, incoming: Field, normal: Field, towards: Field, color: Field
) -> Field:
    """1 where the Sun is visible from the surface, 0 in its shadow; EEVEE only.

    A mirror turned so that it reflects the Sun to the viewer: however the surface lies, and whatever
    other lights there are, it is bright only where the Sun is visible.
    """
    half = (incoming + towards).normalized()
    glossy = {"Color": (1.0, 1.0, 1.0, 1.0), "Roughness": _MIRROR, "Normal": half}
    mirror = builder.result("ShaderNodeBsdfAnisotropic", glossy)  # named Glossy BSDF
    # Blender 4.2 moves the point along the normal of the first shader before it looks for what hides the
    # Sun. By the mirror's, the surface would hide itself; this one is black and has the surface's own.
    black = {"Color": (0.0, 0.0, 0.0, 1.0), "Normal": normal}
    first = builder.result("ShaderNodeBsdfDiffuse", black)
    both = builder.result("ShaderNodeAddShader", {0: first, 1: mirror})
    brightness = builder.result("ShaderNodeShaderToRGB", {0: both}).dot(_WHITE)
    least = color.dot((_SUN,) * 3) * _attribute(builder, "VIEW_LAYER", light.ENERGY, "Fac")
    # A black light casts no shadow, nor does none.
    return builder.math("MAXIMUM", brightness > least, least < 1e-4)


def _shading(builder: NodeBuilder) -> None:
    diffuse, ambient, specular = (
        builder.input(name, VECTOR, _BLACK) for name in ("Diffuse", "Ambient", "Specular")
    )
    alpha, power = builder.input("Alpha", FLOAT, 1.0), builder.input("Power", FLOAT, 0.0)
    base, sphere, toon, next_toon = (
        builder.input(name, COLOR, (1, 1, 1, 1)) for name in (*TEXTURES, NEXT_TOON)
    )
    toon_mix = builder.input(TOON_MIX, FLOAT, 0.0)
    base_alpha = builder.input("Base Alpha", FLOAT, 1.0)
    sphere_alpha = builder.input("Sphere Alpha", FLOAT, 1.0)
    adds, multiplies, highlight, is_back, double_sided = (
        builder.input(name, FLOAT, 0.0)
        for name in ("Sphere Add", "Sphere Multiply", "Highlight", "Back", "Double Sided")
    )
    edge = builder.input("Edge Color", VECTOR, _BLACK)
    edge_alpha, edge_size = (
        builder.input(f"Edge {name}", FLOAT, 0.0) for name in ("Alpha", "Size")
    )
    factors = {name: _factors(builder, name) for name in TEXTURES}
    lit = builder.input("Light", FLOAT, 1.0)  # of SELF_SHADOW
    toon_shadow = builder.input("Toon Shadow", COLOR, (1, 1, 1, 1))  # the toon's lowest color
    casts = builder.input("Casts", FLOAT, 1.0)
    _, color = _light(builder)

    def changed(name: str, numbers: Field, neutral: Value) -> Field:
        """A texture's numbers after the factors of material morphs."""
        multiply, add, weight = factors[name]
        return builder.mixed(neutral, numbers * multiply + add, weight)

    rgb = (color * diffuse + ambient).clamped()
    rgb = rgb * changed("Base", _encoded(builder, base), _WHITE)
    numbers = _encoded(builder, sphere)
    factor = builder.mixed(_WHITE, changed("Sphere", numbers, _WHITE), multiplies)
    rgb = rgb * factor + changed("Sphere", numbers, _BLACK) * adds
    ramp = builder.mixed(_encoded(builder, toon), _encoded(builder, next_toon), toon_mix)
    darkest = changed("Toon", _encoded(builder, toon_shadow), _WHITE)
    shadow = builder.mixed(darkest, _WHITE, lit)
    # A power of 0 means no highlight.
    strength = builder.math("POWER", highlight, power) * (power > 0.0)
    shine = specular * color * strength
    toned = (shine + rgb * changed("Toon", ramp, _WHITE)).clamped()
    shadowed = (shine * lit + rgb * shadow).clamped()
    front = 1.0 - is_back
    opacity = (alpha * base_alpha * sphere_alpha).clamped()
    opacity = opacity * builder.math("MAXIMUM", double_sided, front)
    on_edge = _attribute(builder, "GEOMETRY", HULL, "Fac")
    covers = (edge_alpha * front).clamped() * (alpha > 0.0) * (edge_size > 0.0)
    covers = covers * _is_outside(builder, opacity)
    # What casts a shadow casts it whole, and edges cast none.
    cast = casts * (1.0 - on_edge) * (opacity > _LEAST_ALPHA)
    opacity = builder.mixed(opacity, covers, on_edge)
    builder.output(RESULT, SHADER, _shown(builder, builder.mixed(toned, edge, on_edge), opacity))
    is_shadow = builder.outputs("ShaderNodeLightPath")["Is Shadow Ray"]
    opacity = builder.mixed(opacity, cast, is_shadow)
    seen = builder.mixed(shadowed, edge, on_edge)
    builder.output(SHADOWED, SHADER, _shown(builder, seen, opacity))


def _is_outside(builder: NodeBuilder, opacity: Field) -> Field:
    """0 where the hull is behind its own translucent surface.

    MMD's translucent surfaces write their depth, so they hide the hull. Blender's do not: the whole hull
    would darken them. Its part outside the surface is where the normal is nearly perpendicular to the
    view.
    """
    geometry = builder.outputs("ShaderNodeNewGeometry")
    facing = builder.math("ABSOLUTE", geometry["Normal"].dot(geometry["Incoming"]))
    is_translucent = (opacity > _LEAST_ALPHA) * (opacity < 1 - _LEAST_ALPHA)
    return 1.0 - (facing > _RIM) * is_translucent


def _ground(builder: NodeBuilder) -> None:
    """The ground shadow: the color of the light."""
    _, color = _light(builder)
    builder.output(RESULT, SHADER, _shown(builder, color.clamped(), 1.0))


def _factors(builder: NodeBuilder, name: str) -> tuple[Field, Field, Field]:
    """The inputs for what material morphs do to a texture."""
    return (
        builder.input(f"{name} Factor", VECTOR, _WHITE),
        builder.input(f"{name} Summand", VECTOR, _BLACK),
        builder.input(f"{name} Weight", FLOAT, 1.0),
    )


def _light(builder: NodeBuilder) -> tuple[Field, Field]:
    """The unit direction to the light, and its color: MMD's own in a scene without a light."""
    direction, color = (
        _attribute(builder, "VIEW_LAYER", name, "Vector") for name in (light.DIRECTION, light.COLOR)
    )
    exists = builder.math("LENGTH", direction) > 0.0
    towards = builder.mixed(light.DEFAULT_DIRECTION, direction, exists)
    return towards.normalized(), builder.mixed(light.DEFAULT_COLOR, color, exists)


def _attribute(builder: NodeBuilder, kind: str, name: str, output: str) -> Field:
    """An attribute of the geometry, or a custom property of the scene: of the view layer."""
    found = builder.outputs("ShaderNodeAttribute", attribute_type=kind, attribute_name=name)
    return found[output]


def _shown(builder: NodeBuilder, rgb: Field, opacity: Value) -> Field:
    """The shader: seen by cameras and in mirrors, but it lights nothing."""
    color = builder.result("ShaderNodeGroup", {0: rgb}, node_tree=group(_DECODED))
    strength = 1.0 - builder.outputs("ShaderNodeLightPath")["Is Diffuse Ray"]
    emission = builder.result("ShaderNodeEmission", {"Color": color, "Strength": strength})
    clear = builder.result("ShaderNodeBsdfTransparent")
    return builder.result("ShaderNodeMixShader", {0: opacity, 1: clear, 2: emission})


def _encoded(builder: NodeBuilder, linear: Field) -> Field:
    """Linear numbers as display numbers, by the sRGB curve."""
    # A group, as Blender needs longer for each node that is added, the more a group has.
    return builder.result("ShaderNodeGroup", {0: linear}, node_tree=group(_ENCODED))


def _encode(builder: NodeBuilder) -> None:
    linear = builder.input("Linear", VECTOR, _BLACK).clamped()
    root = builder.result("ShaderNodeGamma", {0: linear, 1: 1 / 2.4})
    curve = root * ((1.055,) * 3) + (-0.055,) * 3
    builder.output("sRGB", VECTOR, builder.chosen(linear, 0.0031308, linear * 12.92, curve))


def _decode(builder: NodeBuilder) -> None:
    display = builder.input("sRGB", VECTOR, _BLACK)
    base = display * ((1 / 1.055,) * 3) + (0.055 / 1.055,) * 3
    curve = builder.result("ShaderNodeGamma", {0: base, 1: 2.4})
    builder.output("Linear", VECTOR, builder.chosen(display, 0.04045, display * (1 / 12.92), curve))


_BUILDERS = {
    COORDINATES: _coordinates,
    SELF_SHADOW: _self_shadow,
    SHADING: _shading,
    GROUND: _ground,
    _ENCODED: _encode,
    _DECODED: _decode,
}

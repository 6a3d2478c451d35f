# SPDX-License-Identifier: MIT
"""Our dancer, a PMX model built in code: a small humanoid with the standard bones, SDEF at shoulders,
elbows, waist, hips, knees and wrists, face morphs, and bodies for her hair and skirt.

`character()` gives a `pmx_file.PMX`. Run as a script it writes the file and its textures.
"""

import sys
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from files import pmx_file as pmx
from sample.character import body, clothes, hair, head, physics, rig, skeleton, textures
from sample.shapes import png
from sample.surfaces import Surface, joined, mirrored

FOLDER = "tex/踊り子"
BOTH_SIDES, SHADOWS, EDGE = 0x01, 0x0E, 0x10
SOLID, FLAT = EDGE | SHADOWS, 0  # flags of bodies and of what is drawn on the face
EDGE_TINT = np.array((0.42, 0.3, 0.33))  # of the texture's color

# name, English name, texture, flags, edge size, and the parts; of "left" ones also the mirrored ones
MATERIALS = (
    ("肌", "skin", "skin", SOLID, 0.7,
     {"neck": body.neck, "left_arm": body.arm, "left_hand": body.hand, "left_leg": body.leg}),
    ("顔", "face", "face", SOLID, 0.7, {"head": head.head}),
    ("白目", "eyeballs", "white", FLAT, 0, {"left_eyeball": head.eyeball}),
    ("瞳", "irises", "iris", FLAT, 0, {"left_iris": head.iris}),
    ("まつげ", "lashes", "lash", BOTH_SIDES, 0,
     {"left_lash": head.lash, "left_lower_lash": head.lower_lash}),
    ("眉", "brows", "brow", BOTH_SIDES, 0, {"left_brow": head.brow}),
    ("口", "mouth", "mouth", BOTH_SIDES, 0, {"mouth": head.mouth}),
    ("髪", "hair", "hair", SOLID, 0.8,
     {"cap": hair.cap, "bangs": hair.bangs, "left_lock": hair.side_locks, "left_tail": hair.tail,
      "cowlick": hair.cowlick}),
    ("服", "dress", "blue", SOLID, 0.7, {"bodice": body.bodice, "left_sleeve": body.puff_sleeve}),
    ("スカート", "skirt", "skirt", BOTH_SIDES | SOLID, 0.7, {"skirt": clothes.skirt}),
    ("白布", "white cloth", "white", SOLID, 0.6,
     {"shorts": body.shorts, "collar": clothes.collar, "left_sleeve_band": clothes.sleeve_band}),
    ("靴下", "socks", "sock", SOLID, 0.6, {"left_sock": body.sock}),
    ("靴", "shoes", "navy", SOLID, 0.7, {"left_shoe": body.shoe}),
    ("リボン", "ribbons", "yellow", SOLID, 0.6,
     {"sash": clothes.sash, "chest_bow": clothes.chest_bow, "back_bow": clothes.back_bow,
      "left_tie": hair.tie, "left_bracelet": clothes.bracelet}),
    ("薄布", "gauze", "yellow", BOTH_SIDES | SOLID, 0.6, {"left_hair_bow": clothes.hair_bow}),
)  # fmt: skip
ALPHA = {"薄布": 0.6}  # of materials that are translucent
SPHERES = {"髪": "hair_sphere"}  # sphere maps, which are added
TOONS = {"肌": "skin_toon", "顔": "skin_toon"}  # of her own; the others share toon02.bmp


class Part(NamedTuple):
    material: str
    surface: Surface
    rig: rig.Rig


@cache
def parts():
    """Name to Part, the right sides too, in the order of the materials."""
    found = {}
    for material, *_, makers in MATERIALS:
        for name, make in makers.items():
            surface, bones = make()
            found[name] = Part(material, surface, bones)
            if name.startswith("left_"):
                other = Part(material, mirrored(surface), rig.mirrored(bones))
                found[name.replace("left", "right")] = other
    return found


@cache
def vertices():
    """Part to the indices of its vertices."""
    ends = np.cumsum([len(part.surface.positions) for part in parts().values()])
    return dict(zip(parts(), np.split(np.arange(ends[-1]), ends[:-1]), strict=True))


def _mesh(m):
    surfaces = [part.surface for part in parts().values()]
    rigs = [part.rig for part in parts().values()]

    def column(records, name, kind):
        return np.concatenate([getattr(record, name) for record in records]).astype(kind)

    m.positions, m.normals, m.uvs = (
        column(surfaces, name, np.float32) for name in ("positions", "normals", "uvs")
    )
    m.triangles = joined(*surfaces).triangles.astype(np.int32)
    m.deform = column(rigs, "deform", np.uint8)
    m.bone_indices = column(rigs, "bones", np.int32)
    m.bone_weights = column(rigs, "weights", np.float32)
    m.sdef = column(rigs, "sdef", np.float32)
    m.additional_uvs = np.zeros((len(m.positions), 0, 4), np.float32)
    m.edge_scales = np.ones(len(m.positions), np.float32)


def _materials(m):
    numbers = {name: i for i, name in enumerate(textures.ALL)}
    m.textures = [f"{FOLDER}/{name}.png" for name in numbers]
    for name, english, texture, flags, edge, _ in MATERIALS:
        own = [part.surface for part in parts().values() if part.material == name]
        color = EDGE_TINT * textures.ALL[texture]().mean((0, 1)) / 255
        m.materials.append(
            pmx.Material(
                name,
                english,
                (1.0, 1.0, 1.0, ALPHA.get(name, 1.0)),
                specular_power=0.0,
                flags=flags,
                edge_color=(*color.tolist(), 1.0),
                edge_size=edge,
                texture=numbers[texture],
                sphere_texture=numbers[SPHERES[name]] if name in SPHERES else -1,
                sphere_mode=2 if name in SPHERES else 0,
                shared_toon=name not in TOONS,
                toon=numbers[TOONS[name]] if name in TOONS else 1,
                index_count=sum(surface.triangles.size for surface in own),
            )
        )


def _shape(name, english, panel, rest, places):
    """A vertex morph that moves each part's vertices to these positions."""
    indices = np.concatenate([vertices()[part] for part in places])
    offsets = np.concatenate([*places.values()]) - rest[indices]
    moved = np.abs(offsets).max(1) > 1e-4
    return pmx.Morph(
        name, english, panel, 1, indices[moved].astype(np.int32), offsets[moved].astype(np.float32)
    )


def _on_sides(rest, function, parts, sides):
    """Positions of the parts on both sides, from a function of a part and its left positions."""
    places = {}
    for part in parts:
        left = function(part, rest[vertices()[f"left_{part}"]].astype(float))
        for side in sides:
            places[f"{side}_{part}"] = left * ((-1, 1, 1) if side == "right" else 1)
    return places


def _morphs(m):
    rest, both = m.positions, ("left", "right")
    eye = ("eyeball", "iris", "lash", "lower_lash")
    for name, english, happy, sides in (
        ("まばたき", "blink", False, both), ("笑い", "smiling eyes", True, both),
        ("ウィンク", "wink", True, both[:1]), ("ウィンク右", "wink right", True, both[1:]),
        ("ウィンク２", "wink 2", False, both[:1]), ("ｳｨﾝｸ２右", "wink 2 right", False, both[1:]),
    ):  # fmt: skip
        places = _on_sides(rest, partial(head.closed_eye, happy=happy), eye, sides)
        m.morphs.append(_shape(name, english, 2, rest, places))
    for name, english, shift, tilt in (
        ("上", "brows up", 0.28, 0.0), ("下", "brows down", -0.2, 0.0),
        ("困る", "troubled", 0.06, -0.3), ("怒り", "angry", -0.14, 0.3),
    ):  # fmt: skip
        move = partial(head.moved_brow, shift=shift, tilt=tilt)
        m.morphs.append(_shape(name, english, 1, rest, _on_sides(rest, move, ("brow",), both)))
    for name, (english, *_) in head.MOUTHS.items():
        m.morphs.append(_shape(name, english, 3, rest, {"mouth": head.moved_mouth(name)}))


def _display_frames(m):
    rows = {
        "センター": ("center", ("全ての親", "センター", "グルーブ", "腰")),
        "ＩＫ": ("IK", ("左足ＩＫ", "左つま先ＩＫ", "右足ＩＫ", "右つま先ＩＫ")),
        "体(上)": ("upper body", ("上半身", "上半身2", "首", "頭", "両目", "左目", "右目")),
        "腕": (
            "arms",
            [s + b for s in "左右" for b in ("肩", "腕", "腕捩", "ひじ", "手捩", "手首")],
        ),
        "体(下)": (
            "lower body",
            ["下半身", *(s + b for s in "左右" for b in ("足", "ひざ", "足首"))],
        ),
    }
    moving = [bone.name for bone in m.bones if bone.flags & 0x18 == 0x18 and bone.layer == 0]
    named = {name for _, names in rows.values() for name in names}
    for start, name, english in (("髪", "髪", "hair"), ("スカート", "スカート", "skirt")):
        rows[name] = (english, [n for n in moving if start in n and n not in named])
    rows["髪"][1].append("アホ毛1")
    m.display_frames = [
        pmx.DisplayFrame("Root", "Root", True, [(0, 0)]),
        pmx.DisplayFrame("表情", "Exp", True, [(1, i) for i in range(len(m.morphs))]),
        *(
            pmx.DisplayFrame(name, english, False, [(0, skeleton.number(bone)) for bone in names])
            for name, (english, names) in rows.items()
        ),
    ]


@cache
def character():
    """The model as a `pmx_file.PMX`. Do not modify it: it is cached."""
    m = pmx.PMX(name="踊り子", name_english="dancer")
    m.comment = "コードで作った踊り子。自由に使えます。"
    m.comment_english = "A dancer made by code.\r\nMIT licence."
    _mesh(m)
    _materials(m)
    m.bones = skeleton.bones()[0]
    _morphs(m)
    _display_frames(m)
    m.rigid_bodies, m.joints = physics.bodies_and_joints()
    return m


@cache
def build_character():
    """Bytes of the PMX 2.0 file."""
    return pmx.write(character())


def write_character(folder):
    """Writes dancer.pmx and its textures; returns the path of the model."""
    folder = Path(folder)
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    for name, paint in textures.ALL.items():
        (folder / FOLDER / f"{name}.png").write_bytes(png(paint()))
    (folder / "dancer.pmx").write_bytes(build_character())
    return folder / "dancer.pmx"


if __name__ == "__main__":
    print(write_character(sys.argv[1] if len(sys.argv) > 1 else "."))

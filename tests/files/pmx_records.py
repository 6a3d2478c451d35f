# SPDX-License-Identifier: MIT
"""The contents of a PMX file, as dataclasses with the field names of `mmdskin`'s records.

Values are the file's own: enumerations stay numbers, nil indices are -1.
"""

# ruff: noqa: RUF009 (`_zeros` makes a field, not a value)

from dataclasses import dataclass, field

import numpy as np

BDEF1, BDEF2, BDEF4, SDEF, QDEF = range(5)
MORPH_KINDS = (
    "group",
    "vertex",
    "bone",
    "uv",
    "uv1",
    "uv2",
    "uv3",
    "uv4",
    "material",
    "flip",
    "impulse",
)
MORPH_COLUMNS = (1, 3, 7, 4, 4, 4, 4, 4, 29, 1, 7)
# the kind of index in a morph's offsets, as the letter of the index size
MORPH_INDEX = "mvbvvvvvamr"
SPHERE_MODES = ("none", "multiply", "add", "sub_texture")
SHAPES = ("sphere", "box", "capsule")
BODY_MODES = ("follow_bone", "physics", "physics_and_bone")
JOINT_KINDS = ("spring_6dof", "6dof", "point_to_point", "cone_twist", "slider", "hinge")
ELEMENT_KINDS = ("bone", "morph")

# order of the index sizes in the header: vertex, texture, material, bone, morph, rigid body
INDEX_ORDER = "vtabmr"
ENCODINGS = ("utf-16-le", "utf-8")

TAIL_IS_BONE, IS_IK, LOCAL_APPEND, APPEND_ROTATION, APPEND_TRANSLATION = (
    0x1,
    0x20,
    0x80,
    0x100,
    0x200,
)
FIXED_AXIS, LOCAL_AXES, AFTER_PHYSICS, EXTERNAL_PARENT = 0x400, 0x800, 0x1000, 0x2000
STRUCTURAL = (
    TAIL_IS_BONE
    | IS_IK
    | APPEND_ROTATION
    | APPEND_TRANSLATION
    | FIXED_AXIS
    | LOCAL_AXES
    | EXTERNAL_PARENT
)


def _zeros(*shape, dtype=np.float32):
    return field(default_factory=lambda: np.zeros(shape, dtype))


@dataclass
class Append:
    source: int
    ratio: float
    rotation: bool = True
    translation: bool = False
    local: bool = False


@dataclass
class IKLink:
    bone: int
    lower: tuple | None = None
    upper: tuple | None = None


@dataclass
class IK:
    target: int
    loop_count: int
    unit_angle: float
    links: list


@dataclass
class Bone:
    name: str
    name_english: str = ""
    position: tuple = (0.0, 0.0, 0.0)
    parent: int = -1
    layer: int = 0
    flags: int = 0x1E
    tail_bone: int | None = None
    tail_offset: tuple | None = (0.0, 0.0, 0.0)
    append: Append | None = None
    fixed_axis: tuple | None = None
    local_axes: tuple | None = None
    external_parent: int | None = None
    after_physics: bool = False
    ik: IK | None = None


@dataclass
class Morph:
    name: str
    name_english: str = ""
    panel: int = 4
    kind: int = 1
    indices: np.ndarray = _zeros(0, dtype=np.int32)
    values: np.ndarray = _zeros(0, 3)


@dataclass
class Material:
    name: str
    name_english: str = ""
    diffuse: tuple = (1.0, 1.0, 1.0, 1.0)
    specular: tuple = (0.0, 0.0, 0.0)
    specular_power: float = 5.0
    ambient: tuple = (0.5, 0.5, 0.5)
    flags: int = 0
    edge_color: tuple = (0.0, 0.0, 0.0, 1.0)
    edge_size: float = 1.0
    texture: int = -1
    sphere_texture: int = -1
    sphere_mode: int = 0
    shared_toon: bool = False
    toon: int = -1
    memo: str = ""
    index_count: int = 0


@dataclass
class DisplayFrame:
    name: str
    name_english: str = ""
    special: bool = False
    elements: list = field(default_factory=list)  # (kind, index)


@dataclass
class RigidBody:
    name: str
    name_english: str = ""
    bone: int = -1
    group: int = 0
    mask: int = 0xFFFF
    shape: int = 0
    size: tuple = (1.0, 1.0, 1.0)
    position: tuple = (0.0, 0.0, 0.0)
    rotation: tuple = (0.0, 0.0, 0.0)
    mass: float = 1.0
    linear_damping: float = 0.5
    angular_damping: float = 0.5
    restitution: float = 0.0
    friction: float = 0.5
    mode: int = 0


@dataclass
class Joint:
    name: str
    name_english: str = ""
    kind: int = 0
    body_a: int = -1
    body_b: int = -1
    position: tuple = (0.0, 0.0, 0.0)
    rotation: tuple = (0.0, 0.0, 0.0)
    translation_lower: tuple = (0.0, 0.0, 0.0)
    translation_upper: tuple = (0.0, 0.0, 0.0)
    rotation_lower: tuple = (0.0, 0.0, 0.0)
    rotation_upper: tuple = (0.0, 0.0, 0.0)
    translation_spring: tuple = (0.0, 0.0, 0.0)
    rotation_spring: tuple = (0.0, 0.0, 0.0)


@dataclass
class SoftBody:
    name: str
    name_english: str = ""
    shape: int = 0
    material: int = 0
    group: int = 0
    mask: int = 0xFFFF
    flags: int = 0
    bending_distance: int = 2
    cluster_count: int = 0
    mass: float = 1.0
    margin: float = 0.1
    aero_model: int = 0
    config: tuple = (0.0,) * 12
    cluster: tuple = (0.0,) * 6
    iterations: tuple = (0, 0, 0, 0)
    stiffness: tuple = (1.0, 1.0, 1.0)
    anchors: list = field(default_factory=list)  # (rigid body, vertex, near)
    pins: list = field(default_factory=list)


@dataclass
class PMX:
    version: float = 2.0
    name: str = ""
    name_english: str = ""
    comment: str = ""
    comment_english: str = ""
    positions: np.ndarray = _zeros(0, 3)
    normals: np.ndarray = _zeros(0, 3)
    uvs: np.ndarray = _zeros(0, 2)
    additional_uvs: np.ndarray = _zeros(0, 0, 4)
    deform: np.ndarray = _zeros(0, dtype=np.uint8)
    bone_indices: np.ndarray = _zeros(0, 4, dtype=np.int32)  # unused slots: -1
    bone_weights: np.ndarray = _zeros(0, 4)  # unused slots: 0; BDEF1: 1; BDEF2, SDEF: w0, 1 - w0
    sdef: np.ndarray = _zeros(0, 3, 3)
    edge_scales: np.ndarray = _zeros(0)
    triangles: np.ndarray = _zeros(0, 3, dtype=np.int32)
    textures: list = field(default_factory=list)
    materials: list = field(default_factory=list)
    bones: list = field(default_factory=list)
    morphs: list = field(default_factory=list)
    display_frames: list = field(default_factory=list)
    rigid_bodies: list = field(default_factory=list)
    joints: list = field(default_factory=list)
    soft_bodies: list = field(default_factory=list)
    encoding: str = "utf-16-le"
    index_sizes: dict | None = None  # letter of INDEX_ORDER -> 1, 2 or 4; None: by element count
    trailing: bytes = b""

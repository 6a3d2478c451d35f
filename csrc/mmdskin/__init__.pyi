# SPDX-License-Identifier: MIT
"""Type stubs of mmdskin; the docstrings are in the module."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import GenericAlias
from typing import Any, BinaryIO, Generic, Literal, NamedTuple, SupportsIndex, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeVar

__version__: str

_Vector = tuple[float, float, float]
_Color = tuple[float, float, float, float]
_Target = str | os.PathLike[str] | os.PathLike[bytes] | BinaryIO
_Source = str | bytes | bytearray | memoryview | os.PathLike[str] | os.PathLike[bytes] | BinaryIO
_Floats = NDArray[np.float32]
_Coordinates = Literal["mmd", "blender", "gltf", "opengl", "smpl"]
_Method = Literal[
    "mmd",
    "linear",
    "dual_quaternion",
    "bulge_free",
    "bulge_compensated",
    "centers_of_rotation",
]

# What records hold where it depends on what was requested.
_Record = TypeVar("_Record", covariant=True)
_Default = TypeVar("_Default")
_Normals = TypeVar("_Normals", covariant=True, default=_Floats | None)
_Tangents = TypeVar("_Tangents", covariant=True, default=_Floats | None)
_Weights = TypeVar("_Weights", covariant=True, default=_Floats | None)
_Image = TypeVar("_Image", covariant=True, default=NDArray[np.uint8] | None)
_Position = TypeVar("_Position", covariant=True, default=ArrayLike)
_Point = TypeVar("_Point", covariant=True, default=ArrayLike)
_Up = TypeVar("_Up", covariant=True, default=ArrayLike)
_Fov = TypeVar("_Fov", covariant=True, default=ArrayLike)

# A Simulation of one model has one of each, that of a list of models a tuple.
_Posed = TypeVar("_Posed", covariant=True, default=Pose[_Floats])
_Simulated = TypeVar("_Simulated", covariant=True, default=Model)
_Followed = TypeVar("_Followed", covariant=True, default=Motion | None)
_Strain = TypeVar("_Strain", covariant=True, default=NDArray[np.float64])

# Arguments of Model.from_arrays beside its records: their fields by name.
_Fields = tuple[Any, ...] | Mapping[str, Any]

# Arguments of Motion.from_tracks: the tracks below, plain tuples of the same values, or dicts.
_Optional = ArrayLike | None
_BoneKeys = (
    tuple[str, ArrayLike, _Optional, _Optional, _Optional]
    | tuple[str, ArrayLike, _Optional, _Optional, _Optional, _Optional]
    | tuple[str, ArrayLike, _Optional, _Optional, _Optional, _Optional, _Optional]
)
_Translations = ArrayLike | Mapping[str, tuple[ArrayLike | None, ArrayLike | None]] | None
_CameraKeys = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, _Optional, ArrayLike, _Optional]
_PropertyKeys = tuple[ArrayLike, _Optional, Sequence[str], ArrayLike]

class FormatError(ValueError):
    offset: int | None
    section: str | None

class BackendError(RuntimeError): ...
class UnknownNameError(KeyError): ...

class Append(NamedTuple):
    source: int
    ratio: float = 1.0
    rotation: bool = True
    translation: bool = False
    local: bool = False

class IKLink(NamedTuple):
    bone: int
    lower: _Vector | None = None
    upper: _Vector | None = None

class IK(NamedTuple):
    target: int
    loop_count: int = 40
    unit_angle: float = 2.0
    links: tuple[IKLink, ...] = ()

class Bone(NamedTuple):
    name: str
    name_english: str = ""
    position: _Vector = (0.0, 0.0, 0.0)
    parent: int = -1
    layer: int = 0
    flags: int = 0x1E
    tail_bone: int = -1
    tail_offset: _Vector = (0.0, 0.0, 0.0)
    append: Append | None = None
    fixed_axis: _Vector | None = None
    local_axes: tuple[_Vector, _Vector] | None = None
    external_parent: int | None = None
    after_physics: bool = False
    ik: IK | None = None

class Morph(NamedTuple):
    name: str
    name_english: str = ""
    panel: int = 4
    kind: Literal[
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
    ] = "vertex"
    indices: NDArray[np.int32] = ...
    values: NDArray[np.float32] = ...

class Material(NamedTuple):
    name: str
    name_english: str = ""
    diffuse: _Color = (1.0, 1.0, 1.0, 1.0)
    specular: _Vector = (0.0, 0.0, 0.0)
    specular_power: float = 5.0
    ambient: _Vector = (0.5, 0.5, 0.5)
    flags: int = 0x0E
    edge_color: _Color = (0.0, 0.0, 0.0, 1.0)
    edge_size: float = 1.0
    texture: int = -1
    sphere_texture: int = -1
    sphere_mode: Literal["none", "multiply", "add", "sub_texture"] = "none"
    toon: int = -1
    shared_toon: bool = False
    memo: str = ""
    index_count: int = -1

class DisplayFrame(NamedTuple):
    name: str
    name_english: str = ""
    special: bool = False
    elements: tuple[tuple[Literal["bone", "morph"], int], ...] = ()

class RigidBody(NamedTuple):
    name: str
    name_english: str = ""
    bone: int = -1
    group: int = 0
    mask: int = 0xFFFF
    shape: Literal["sphere", "box", "capsule"] = "sphere"
    size: _Vector = (1.0, 1.0, 1.0)
    position: _Vector = (0.0, 0.0, 0.0)
    rotation: _Vector = (0.0, 0.0, 0.0)
    mass: float = 1.0
    linear_damping: float = 0.5
    angular_damping: float = 0.5
    restitution: float = 0.0
    friction: float = 0.5
    mode: Literal["follow_bone", "physics", "physics_and_bone"] = "follow_bone"

class Joint(NamedTuple):
    name: str
    name_english: str = ""
    kind: Literal["spring_6dof", "6dof", "point_to_point", "cone_twist", "slider", "hinge"] = (
        "spring_6dof"
    )
    body_a: int = -1
    body_b: int = -1
    position: _Vector = (0.0, 0.0, 0.0)
    rotation: _Vector = (0.0, 0.0, 0.0)
    translation_lower: _Vector = (0.0, 0.0, 0.0)
    translation_upper: _Vector = (0.0, 0.0, 0.0)
    rotation_lower: _Vector = (0.0, 0.0, 0.0)
    rotation_upper: _Vector = (0.0, 0.0, 0.0)
    translation_spring: _Vector = (0.0, 0.0, 0.0)
    rotation_spring: _Vector = (0.0, 0.0, 0.0)

class Skinned(NamedTuple, Generic[_Normals, _Tangents]):
    positions: _Floats
    normals: _Normals
    tangents: _Tangents

class Pose(NamedTuple, Generic[_Weights]):
    bone_matrices: NDArray[np.float32]
    morph_weights: _Weights

class Rendered(NamedTuple, Generic[_Image]):
    image: _Image
    depth: NDArray[np.float32] | None
    normals: NDArray[np.float32] | None
    triangles: NDArray[np.int32] | None
    def _repr_png_(self) -> bytes | None: ...

class Camera(NamedTuple, Generic[_Position, _Point, _Up, _Fov]):
    position: _Position
    target: _Point
    up: _Up
    fov: _Fov

class Light(NamedTuple):
    color: NDArray[np.float32]
    direction: NDArray[np.float32]

class Shadow(NamedTuple):
    mode: NDArray[np.uint8]
    distance: NDArray[np.float32]

class Physics(NamedTuple):
    gravity: ArrayLike = (0.0, -98.0, 0.0)
    hz: float = 60.0
    iterations: int = 10
    ground: bool | float = True
    damping_extra: bool = True
    joined_collide: bool = True
    start: float | None = None
    settle: int = 300
    teleport: float = 0.0
    gravity_noise: float = 0.0
    gravity_seed: int = 0

class BoneTrack(NamedTuple):
    name: str
    frames: NDArray[np.uint32]
    translations: NDArray[np.float32]
    rotations: NDArray[np.float32]
    interpolation: NDArray[np.uint8]
    physics: NDArray[np.bool_] | None = None
    stored: NDArray[np.uint8] | None = None

class MorphTrack(NamedTuple):
    name: str
    frames: NDArray[np.uint32]
    weights: NDArray[np.float32]

class CameraTrack(NamedTuple):
    frames: NDArray[np.uint32]
    distances: NDArray[np.float32]
    targets: NDArray[np.float32]
    rotations: NDArray[np.float32]
    interpolation: NDArray[np.uint8]
    view_angles: NDArray[np.float32]
    perspective: NDArray[np.bool_]

class LightTrack(NamedTuple):
    frames: NDArray[np.uint32]
    colors: NDArray[np.float32]
    directions: NDArray[np.float32]

class ShadowTrack(NamedTuple):
    frames: NDArray[np.uint32]
    modes: NDArray[np.uint8]
    distances: NDArray[np.float32]

class PropertyTrack(NamedTuple):
    frames: NDArray[np.uint32]
    visible: NDArray[np.bool_]
    ik_names: tuple[str, ...]
    ik_enabled: NDArray[np.bool_]

class Unmatched(NamedTuple):
    bones: tuple[str, ...]
    morphs: tuple[str, ...]
    ik: tuple[str, ...]

class FitReport(NamedTuple):
    keys: int
    worst: float
    notes: tuple[tuple[str, str], ...]

class Backend(NamedTuple):
    name: Literal["gl", "cpu"]
    available: bool
    device: str | None
    reason: str | None

@final
class Named(tuple[_Record, ...]):
    @overload
    def __getitem__(self, key: SupportsIndex | str, /) -> _Record: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[_Record, ...]: ...
    def __contains__(self, key: object, /) -> bool: ...
    @overload
    def get(self, name: str, default: None = None, /) -> _Record | None: ...
    @overload
    def get(self, name: str, default: _Default, /) -> _Record | _Default: ...
    @property
    def names(self) -> tuple[str, ...]: ...

@final
class Model:
    @classmethod
    def from_arrays(
        cls,
        positions: ArrayLike | None = None,
        triangles: ArrayLike | None = None,
        *,
        normals: ArrayLike | None = None,
        uvs: ArrayLike | None = None,
        additional_uvs: ArrayLike | None = None,
        edge_scales: ArrayLike | None = None,
        deform: ArrayLike | None = None,
        bone_indices: ArrayLike | None = None,
        bone_weights: ArrayLike | None = None,
        sdef: ArrayLike | None = None,
        bones: Iterable[Bone | _Fields] | None = None,
        morphs: Iterable[Morph | _Fields] | None = None,
        materials: Iterable[Material | _Fields] | None = None,
        textures: Iterable[str] | None = None,
        display_frames: Iterable[DisplayFrame | _Fields] | None = None,
        rigid_bodies: Iterable[RigidBody | _Fields] | None = None,
        joints: Iterable[Joint | _Fields] | None = None,
        name: str = "",
        name_english: str = "",
        comment: str = "",
        comment_english: str = "",
        version: float | None = None,
    ) -> Model: ...
    @property
    def name(self) -> str: ...
    @property
    def name_english(self) -> str: ...
    @property
    def comment(self) -> str: ...
    @property
    def comment_english(self) -> str: ...
    @property
    def version(self) -> float: ...
    @property
    def positions(self) -> NDArray[np.float32]: ...
    @property
    def normals(self) -> NDArray[np.float32]: ...
    @property
    def uvs(self) -> NDArray[np.float32]: ...
    @property
    def additional_uvs(self) -> NDArray[np.float32]: ...
    @property
    def edge_scales(self) -> NDArray[np.float32]: ...
    @property
    def triangles(self) -> NDArray[np.int32]: ...
    @property
    def deform(self) -> NDArray[np.uint8]: ...
    @property
    def bone_indices(self) -> NDArray[np.int32]: ...
    @property
    def bone_weights(self) -> NDArray[np.float32]: ...
    @property
    def sdef(self) -> NDArray[np.float32]: ...
    @property
    def segments(self) -> NDArray[np.float32]: ...
    @property
    def centers_of_rotation(self) -> NDArray[np.float32]: ...
    @property
    def bounds(self) -> NDArray[np.float32]: ...
    @property
    def path(self) -> str | None: ...
    @property
    def bones(self) -> Named[Bone]: ...
    @property
    def morphs(self) -> Named[Morph]: ...
    @property
    def materials(self) -> Named[Material]: ...
    @property
    def textures(self) -> tuple[str, ...]: ...
    @property
    def display_frames(self) -> Named[DisplayFrame]: ...
    @property
    def rigid_bodies(self) -> Named[RigidBody]: ...
    @property
    def joints(self) -> Named[Joint]: ...
    def bone(self, name: str, /) -> int: ...
    def morph(self, name: str, /) -> int: ...
    def sliders(self, weights: Mapping[str, float], /) -> NDArray[np.float32]: ...
    def pose(
        self,
        motion: Motion | None = None,
        frame: ArrayLike = 0.0,
        *,
        ik: bool = True,
        threads: int | None = None,
        physics: Physics | bool | None = None,
    ) -> Pose[_Floats]: ...
    def locals_of(
        self, pose: Pose | ArrayLike, /
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]: ...
    @overload
    def pose_from(
        self,
        translations: Mapping[str, tuple[ArrayLike | None, ArrayLike | None]],
        rotations: None = None,
        morph_weights: ArrayLike | None = None,
        *,
        ik: bool | ArrayLike = True,
        threads: int | None = None,
    ) -> Pose[_Floats]: ...
    @overload
    def pose_from(
        self,
        translations: ArrayLike,
        rotations: ArrayLike,
        morph_weights: ArrayLike | None = None,
        *,
        ik: bool | ArrayLike = True,
        threads: int | None = None,
    ) -> Pose[_Floats]: ...
    def joint_positions(self, pose: Pose | ArrayLike, /) -> NDArray[np.float32]: ...
    def transforms(
        self, pose: Pose | ArrayLike, /, space: Literal["world", "local"] = "world"
    ) -> NDArray[np.float32]: ...
    def skinning_matrices(
        self, transforms: ArrayLike, /, space: Literal["world", "local"] = "world"
    ) -> NDArray[np.float32]: ...
    def uvs_at(self, morph_weights: ArrayLike, channel: int = 0) -> NDArray[np.float32]: ...
    def materials_at(self, morph_weights: ArrayLike, /) -> tuple[Material, ...]: ...
    def texture_factors_at(self, morph_weights: ArrayLike, /) -> NDArray[np.float32]: ...
    def _repr_html_(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def replace(
        self,
        *,
        positions: ArrayLike | None = ...,
        triangles: ArrayLike | None = ...,
        normals: ArrayLike | None = ...,
        uvs: ArrayLike | None = ...,
        additional_uvs: ArrayLike | None = ...,
        edge_scales: ArrayLike | None = ...,
        deform: ArrayLike | None = ...,
        bone_indices: ArrayLike | None = ...,
        bone_weights: ArrayLike | None = ...,
        sdef: ArrayLike | None = ...,
        bones: Iterable[Bone | _Fields] | None = ...,
        morphs: Iterable[Morph | _Fields] | None = ...,
        materials: Iterable[Material | _Fields] | None = ...,
        textures: Iterable[str] | None = ...,
        display_frames: Iterable[DisplayFrame | _Fields] | None = ...,
        rigid_bodies: Iterable[RigidBody | _Fields] | None = ...,
        joints: Iterable[Joint | _Fields] | None = ...,
        name: str = ...,
        name_english: str = ...,
        comment: str = ...,
        comment_english: str = ...,
        version: float | None = ...,
    ) -> Model: ...
    def __replace__(self, **changes: Any) -> Model: ...
    def save(self, path: _Target, /) -> None: ...
    def __reduce__(self) -> tuple[object, ...]: ...

@final
class Motion:
    @classmethod
    def from_tracks(
        cls,
        bones: Iterable[_BoneKeys] = (),
        morphs: Iterable[tuple[str, ArrayLike, ArrayLike]] = (),
        camera: _CameraKeys | None = None,
        light: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        shadow: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        properties: _PropertyKeys | None = None,
        name: str = ...,
    ) -> Motion: ...
    @classmethod
    def from_poses(
        cls,
        model: Model,
        pose: Pose | ArrayLike,
        *,
        frames: ArrayLike | None = None,
        tolerance: float = 0.02,
        physics_tolerance: float = 0.1,
        ik: Literal["off", "both"] = "off",
        physics: Literal["leave", "keys"] = "leave",
        like: Motion | None = None,
        threads: int | None = None,
    ) -> tuple[Motion, FitReport]: ...
    @classmethod
    def from_locals(
        cls,
        model: Model,
        translations: ArrayLike | Mapping[str, tuple[ArrayLike | None, ArrayLike | None]] | None,
        rotations: ArrayLike | None = None,
        morph_weights: ArrayLike | None = None,
        *,
        frames: ArrayLike | None = None,
        tolerance: float = 0.02,
        physics_tolerance: float = 0.1,
        ik: Literal["as_keyed", "off", "both"] = "as_keyed",
        physics: Literal["leave", "keys"] = "leave",
        like: Motion | None = None,
        threads: int | None = None,
    ) -> tuple[Motion, FitReport]: ...
    @classmethod
    def from_camera(
        cls,
        camera: Camera,
        frames: ArrayLike | None = None,
        *,
        tolerance: float = 0.02,
        degrees: float = 0.05,
        cuts: ArrayLike = (),
    ) -> Motion: ...
    @property
    def name(self) -> str: ...
    @property
    def frame_range(self) -> tuple[int, int]: ...
    @property
    def encoding(self) -> str: ...
    @property
    def duration(self) -> float: ...
    @property
    def bones(self) -> Named[BoneTrack]: ...
    @property
    def morphs(self) -> Named[MorphTrack]: ...
    @property
    def camera(self) -> CameraTrack: ...
    @property
    def light(self) -> LightTrack: ...
    @property
    def shadow(self) -> ShadowTrack: ...
    @property
    def properties(self) -> PropertyTrack: ...
    def camera_at(self, frames: ArrayLike, /) -> Camera[_Floats, _Floats, _Floats, _Floats]: ...
    def light_at(self, frames: ArrayLike, /) -> Light: ...
    def shadow_at(self, frames: ArrayLike, /) -> Shadow: ...
    def unmatched(self, model: Model, /) -> Unmatched: ...
    def save(
        self,
        path: _Target,
        *,
        part: Literal["all", "model", "camera"] | None = None,
        names: Literal["error", "cut", "omit"] = "error",
        frame: float | None = None,
        model: Model | None = None,
    ) -> None: ...
    def _repr_html_(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[object, ...]: ...

@final
class Mesh:
    def __new__(
        cls,
        positions: ArrayLike,
        bone_indices: ArrayLike,
        bone_weights: ArrayLike,
        *,
        normals: ArrayLike | None = None,
        tangents: ArrayLike | None = None,
        deform: ArrayLike | None = None,
        sdef: ArrayLike | None = None,
        morphs: Sequence[tuple[ArrayLike, ArrayLike]] = (),
        triangles: ArrayLike | None = None,
        centers: ArrayLike | None = None,
        segments: ArrayLike | None = None,
        parents: ArrayLike | None = None,
    ) -> Mesh: ...
    @property
    def centers_of_rotation(self) -> NDArray[np.float32]: ...
    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]: ...

@final
class World:
    def __new__(
        cls,
        bodies: Sequence[RigidBody],
        joints: Sequence[Joint],
        *,
        gravity: ArrayLike = (0, -98, 0),
        hz: float = 60,
        iterations: int = 10,
        ground: bool | float = True,
        contacts: bool = True,
        damping_extra: bool = True,
        joined_collide: bool = True,
        joint_order: ArrayLike | None = None,
    ) -> World: ...
    @property
    def state(self) -> NDArray[np.float64]: ...
    @state.setter
    def state(self, state: ArrayLike, /) -> None: ...
    @property
    def points(self) -> NDArray[np.float64]: ...
    @property
    def strain(self) -> NDArray[np.float64]: ...
    def push(self, body: int, impulse: ArrayLike, torque: ArrayLike = (0, 0, 0)) -> None: ...
    def step(self, places: ArrayLike | None = None) -> None: ...
    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]: ...
    def __getstate__(self) -> bytes: ...
    def __setstate__(self, state: bytes, /) -> None: ...

@final
class Simulation(Generic[_Posed, _Simulated, _Followed, _Strain]):
    @overload
    def __new__(
        cls,
        model: Model,
        motion: Motion | None = None,
        physics: Physics | bool = True,
        *,
        ik: bool = True,
        places: None = None,
        offsets: None = None,
    ) -> Simulation: ...
    @overload
    def __new__(
        cls,
        model: Sequence[Model],
        motion: Sequence[Motion | None] | None = None,
        physics: Physics | bool = True,
        *,
        ik: bool = True,
        places: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
    ) -> _Several: ...
    @overload
    def __new__(
        cls,
        model: Model | Sequence[Model],
        motion: Motion | Sequence[Motion | None] | None = None,
        physics: Physics | bool = True,
        *,
        ik: bool = True,
        places: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
    ) -> Simulation[Any, Any, Any, Any]: ...
    @property
    def model(self) -> _Simulated: ...
    @property
    def motion(self) -> _Followed: ...
    @property
    def physics(self) -> Physics: ...
    @property
    def places(self) -> NDArray[np.float64] | None: ...
    @property
    def offsets(self) -> NDArray[np.float64] | None: ...
    @property
    def frame(self) -> float: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def strain(self) -> _Strain: ...
    def pose(self, frame: ArrayLike, /) -> _Posed: ...
    @overload
    def step(
        self: Simulation,
        translations: _Translations = None,
        rotations: ArrayLike | None = None,
        morph_weights: ArrayLike | None = None,
        seconds: float = 0.03333333333333333,
        *,
        ik: bool | ArrayLike = True,
        physics: bool | ArrayLike = True,
    ) -> Pose[_Floats]: ...
    @overload
    def step(
        self: _Several,
        translations: Sequence[_Translations] | None = None,
        rotations: Sequence[ArrayLike | None] | None = None,
        morph_weights: Sequence[ArrayLike | None] | None = None,
        seconds: float = 0.03333333333333333,
        *,
        ik: bool | Sequence[bool | ArrayLike] = True,
        physics: bool | Sequence[bool | ArrayLike] = True,
    ) -> tuple[Pose[_Floats], ...]: ...
    @overload
    def step(
        self,
        translations: _Translations | Sequence[_Translations] = None,
        rotations: ArrayLike | Sequence[ArrayLike | None] | None = None,
        morph_weights: ArrayLike | Sequence[ArrayLike | None] | None = None,
        seconds: float = 0.03333333333333333,
        *,
        ik: bool | ArrayLike | Sequence[bool | ArrayLike] = True,
        physics: bool | ArrayLike | Sequence[bool | ArrayLike] = True,
    ) -> Pose[_Floats] | tuple[Pose[_Floats], ...]: ...
    def reset(self) -> None: ...
    def __class_getitem__(cls, item: object, /) -> GenericAlias: ...
    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]: ...
    def __getstate__(self) -> bytes: ...
    def __setstate__(self, state: bytes, /) -> None: ...

_Several = Simulation[
    tuple[Pose[_Floats], ...],
    tuple[Model, ...],
    tuple[Motion | None, ...],
    tuple[NDArray[np.float64], ...],
]

def load_model(source: _Source, /) -> Model: ...
def load_textures(
    model: Model, folder: str | os.PathLike[str] | None = None
) -> dict[int, NDArray[np.uint8]]: ...
def load_motion(
    source: _Source, /, encoding: str | None = None, *, model: Model | None = None
) -> Motion: ...
@overload
def skin(
    mesh: Model,
    bone_matrices: ArrayLike | Pose,
    morph_weights: ArrayLike | None = None,
    *,
    method: _Method = "mmd",
    sdef_blend: Literal["nlerp", "slerp"] = "nlerp",
    correction: float = 1.0,
    normals: Literal[True] = True,
    tangents: Literal[False] = False,
    backend: str = "auto",
    out: Skinned | None = None,
    threads: int | None = None,
) -> Skinned[_Floats, None]: ...
@overload
def skin(
    mesh: Model,
    bone_matrices: ArrayLike | Pose,
    morph_weights: ArrayLike | None = None,
    *,
    method: _Method = "mmd",
    sdef_blend: Literal["nlerp", "slerp"] = "nlerp",
    correction: float = 1.0,
    normals: Literal[True] = True,
    tangents: Literal[True],
    backend: str = "auto",
    out: Skinned | None = None,
    threads: int | None = None,
) -> Skinned[_Floats, _Floats]: ...
@overload
def skin(
    mesh: Model | Mesh,
    bone_matrices: ArrayLike | Pose,
    morph_weights: ArrayLike | None = None,
    *,
    method: _Method = "mmd",
    sdef_blend: Literal["nlerp", "slerp"] = "nlerp",
    correction: float = 1.0,
    normals: Literal[False],
    tangents: Literal[False] = False,
    backend: str = "auto",
    out: Skinned | None = None,
    threads: int | None = None,
) -> Skinned[None, None]: ...
@overload
def skin(
    mesh: Model | Mesh,
    bone_matrices: ArrayLike | Pose,
    morph_weights: ArrayLike | None = None,
    *,
    method: _Method = "mmd",
    sdef_blend: Literal["nlerp", "slerp"] = "nlerp",
    correction: float = 1.0,
    normals: Literal[False],
    tangents: Literal[True],
    backend: str = "auto",
    out: Skinned | None = None,
    threads: int | None = None,
) -> Skinned[None, _Floats]: ...
@overload
def skin(
    mesh: Model | Mesh,
    bone_matrices: ArrayLike | Pose,
    morph_weights: ArrayLike | None = None,
    *,
    method: _Method = "mmd",
    sdef_blend: Literal["nlerp", "slerp"] = "nlerp",
    correction: float = 1.0,
    normals: bool = True,
    tangents: Literal[True],
    backend: str = "auto",
    out: Skinned | None = None,
    threads: int | None = None,
) -> Skinned[_Floats | None, _Floats]: ...
@overload
def skin(
    mesh: Model | Mesh,
    bone_matrices: ArrayLike | Pose,
    morph_weights: ArrayLike | None = None,
    *,
    method: _Method = "mmd",
    sdef_blend: Literal["nlerp", "slerp"] = "nlerp",
    correction: float = 1.0,
    normals: bool = True,
    tangents: bool = False,
    backend: str = "auto",
    out: Skinned | None = None,
    threads: int | None = None,
) -> Skinned: ...
@overload
def frames(
    model: Model,
    motion: Motion | None,
    frames: ArrayLike | None = None,
    *,
    chunk: int | None = None,
    physics: Physics | bool | None = None,
    ik: bool = True,
    method: _Method = "mmd",
    sdef_blend: Literal["nlerp", "slerp"] = "nlerp",
    correction: float = 1.0,
    normals: Literal[True] = True,
    tangents: Literal[False] = False,
    backend: str = "auto",
    threads: int | None = None,
) -> Iterator[tuple[NDArray[np.float64], Skinned[_Floats, None]]]: ...
@overload
def frames(
    model: Model,
    motion: Motion | None,
    frames: ArrayLike | None = None,
    *,
    chunk: int | None = None,
    physics: Physics | bool | None = None,
    ik: bool = True,
    method: _Method = "mmd",
    sdef_blend: Literal["nlerp", "slerp"] = "nlerp",
    correction: float = 1.0,
    normals: bool = True,
    tangents: bool = False,
    backend: str = "auto",
    threads: int | None = None,
) -> Iterator[tuple[NDArray[np.float64], Skinned]]: ...
@overload
def render(
    mesh: Model | Mesh,
    skinned: Skinned | Pose,
    *,
    size: tuple[int, int] = (512, 512),
    camera: Camera | None = None,
    background: ArrayLike = (1, 1, 1, 0),
    light: ArrayLike = (-0.5, -1, 0.5),
    edges: bool = False,
    materials: Sequence[Material] | None = None,
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
) -> Rendered[NDArray[np.uint8]]: ...
@overload
def render(
    mesh: Model | Mesh,
    skinned: Skinned | Pose,
    *,
    size: tuple[int, int] = (512, 512),
    camera: Camera | None = None,
    background: ArrayLike = (1, 1, 1, 0),
    light: ArrayLike = (-0.5, -1, 0.5),
    edges: bool = False,
    want: Sequence[Literal["image", "depth", "normals", "triangles"]],
    materials: Sequence[Material] | None = None,
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
) -> Rendered: ...
@overload
def convert(
    values: Skinned[_Normals, _Tangents],
    kind: None = None,
    *,
    to: _Coordinates = "mmd",
    source: _Coordinates = "mmd",
) -> Skinned[_Normals, _Tangents]: ...
@overload
def convert(
    values: Pose[_Weights],
    kind: None = None,
    *,
    to: _Coordinates = "mmd",
    source: _Coordinates = "mmd",
) -> Pose[_Weights]: ...
@overload
def convert(
    values: Camera, kind: None = None, *, to: _Coordinates = "mmd", source: _Coordinates = "mmd"
) -> Camera: ...
@overload
def convert(
    values: ArrayLike,
    kind: Literal[
        "positions", "normals", "tangents", "triangles", "uvs", "quaternions", "matrices"
    ],
    *,
    to: _Coordinates = "mmd",
    source: _Coordinates = "mmd",
) -> NDArray[Any]: ...
def toons() -> NDArray[np.uint8]: ...
def backends() -> tuple[Backend, ...]: ...
def shutdown() -> None: ...

# SPDX-License-Identifier: MIT
"""Type stubs of mmdskin; the docstrings are in the module."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import GenericAlias
from typing import Any, BinaryIO, Generic, Literal, NamedTuple, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeVar, deprecated

from mmdskin.camera_framing import framing as framing
from mmdskin.fit_steps import Fit as Fit
from mmdskin.gltf_file import save_glb as save_glb
from mmdskin.model_edit import merged as merged, scaled as scaled
from mmdskin.records import (
    IK as IK,
    Append as Append,
    Backend as Backend,
    Bone as Bone,
    BoneTrack as BoneTrack,
    CameraTrack as CameraTrack,
    DisplayFrame as DisplayFrame,
    FitReport as FitReport,
    IKLink as IKLink,
    Joint as Joint,
    Light as Light,
    LightTrack as LightTrack,
    Material as Material,
    Morph as Morph,
    MorphTrack as MorphTrack,
    Named as Named,
    Physics as Physics,
    PropertyTrack as PropertyTrack,
    RigidBody as RigidBody,
    Shadow as Shadow,
    ShadowTrack as ShadowTrack,
    Unmatched as Unmatched,
)
from mmdskin.retargeting.bvh import load_bvh as load_bvh
from mmdskin.retargeting.gltf import load_gltf as load_gltf
from mmdskin.retargeting.skeleton import Skeleton as Skeleton
from mmdskin.retargeting.transfer import Retargeted as Retargeted, retarget as retarget
from mmdskin.sample_files import Sample as Sample, sample as sample
from mmdskin.texture_files import load_textures as load_textures

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
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def _repr_png_(self) -> bytes | None: ...

class Camera(NamedTuple, Generic[_Position, _Point, _Up, _Fov]):
    position: _Position
    target: _Point
    up: _Up
    fov: _Fov

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
    @property
    def skeleton(self) -> Skeleton: ...
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
    def locals_at(
        self, motion: Motion, frame: ArrayLike, *, threads: int | None = None
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
    def from_skeleton(
        cls,
        model: Model,
        skeleton: Skeleton,
        poses: Pose | ArrayLike,
        *,
        fps: float = 30.0,
        legs: Literal["both", "ik"] = "both",
        tolerance: float = 0.1,
        feet: bool = True,
        hands: bool = False,
        scale: float | None = None,
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
    def for_model(
        self,
        target: Model,
        *,
        made_for: Model | None = None,
        hands: bool = True,
        scale: float | None = None,
    ) -> tuple[Motion, FitReport]: ...
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
        additional_damping: bool = True,
        collide_connected: bool = True,
        joint_order: ArrayLike | None = None,
        wind: ArrayLike = (0, 0, 0),
    ) -> World: ...
    @property
    def state(self) -> NDArray[np.float64]: ...
    @state.setter
    def state(self, state: ArrayLike, /) -> None: ...
    @property
    def points(self) -> NDArray[np.float64]: ...
    @property
    def strain(self) -> NDArray[np.float64]: ...
    @deprecated("It is called apply_impulse()")
    def push(self, body: int, impulse: ArrayLike, torque: ArrayLike = (0, 0, 0)) -> None: ...
    def apply_impulse(
        self, body: int, impulse: ArrayLike, torque: ArrayLike = (0, 0, 0)
    ) -> None: ...
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
        gravity: ArrayLike | None = None,
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
        gravity: ArrayLike | None = None,
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
        gravity: ArrayLike | None = None,
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
def __dir__() -> list[str]: ...

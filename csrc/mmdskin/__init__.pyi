# SPDX-License-Identifier: MIT
"""Type stubs of mmdskin, and the docstrings of what is written in C, which the build embeds there."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import GenericAlias
from typing import Any, BinaryIO, Generic, Literal, NamedTuple, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeVar, deprecated

from mmdskin.camera_framing import framing as framing
from mmdskin.errors import BackendError as BackendError, FormatError as FormatError
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
    def save(self, path: str | os.PathLike[str], numbers: Iterable[int] | None = None) -> None: ...
    def _repr_png_(self) -> bytes | None: ...

class Camera(NamedTuple, Generic[_Position, _Point, _Up, _Fov]):
    position: _Position
    target: _Point
    up: _Up
    fov: _Fov

@final
class Model:
    """An MMD model, as load_model() and Model.from_arrays() return it: immutable, picklable (as
    the bytes of the file) and safe to share between threads. Coordinates are those of the
    file: left-handed, +Y up, about 12.5 units per meter. Arrays are read-only views, not
    copies; a view keeps the data alive. Models are equal if all members but path are.

    VTK ignores that an array is read-only, and DLPack before version 1 cannot say so: give them
    a copy, as by numpy_to_vtk(model.positions, deep=True) and model.positions.copy().
    """
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
    ) -> Model:
        """Creates a Model as valid as a loaded one, from new values or the members of another Model,
        edited or not. save() writes it as PMX.

        positions: (V,3) in model units, left-handed, +Y up (see convert()). Default: no vertices
        triangles: (T,3) vertex indices, clockwise seen from outside, grouped by material
        normals: (V,3); by default computed from the triangles, weighted by area
        uvs: (V,2), v points down; additional_uvs: (V,n,4), n up to 4. Default: zero and none
        edge_scales: (V,). Default: 1
        bone_indices: (V,K), K from 1 to 4, -1 in empty slots, or (V,): one bone each. By default
            all vertices follow the first bone
        bone_weights: (V,K), of each vertex a sum of 1; only BDEF4 and QDEF in `deform` may differ
        deform: (V,) types as in Model.deform. By default BDEF1, BDEF2 or BDEF4, by the number of
            weights that are not zero
        sdef: (V,3,3), needed if any vertex is SDEF, unused for all others
        bones, morphs, materials, display_frames, rigid_bodies, joints: sequences of Bone, Morph,
            Material, DisplayFrame, RigidBody, Joint, or of plain tuples or dicts of their fields.
            Only the name is required, and for a material an index_count: -1 is all indices left
            over. Of a bone, append, fixed_axis, local_axes, external_parent, after_physics, ik and
            tail_bone set their bits of `flags`. Without materials there is one for all triangles;
            without display frames MMD's two special ones and one for the other bones. () is none
        textures: sequence of str, paths relative to the file
        name, name_english, comment, comment_english: str
        version: 2.0 or 2.1; default: 2.1 if anything needs it (QDEF, flip and impulse morphs,
            joints other than "spring_6dof"). 1.0, of a PMD, becomes 2.0

        Raises ValueError for numbers that are not finite or beyond 1e10, indices out of range, cycles
        of parents and everything else that is not valid in a Model, and TypeError for an item that
        is not a record. The message names the item and its limit: "bone 12: parent 40 of 37".
        """
    @property
    def name(self) -> str:
        """Name of the model, str."""
    @property
    def name_english(self) -> str:
        """English name, str."""
    @property
    def comment(self) -> str:
        """Comment, str."""
    @property
    def comment_english(self) -> str:
        """English comment, str."""
    @property
    def version(self) -> float:
        """Version of the file format, float: 2.0 or 2.1; 1.0 for PMD."""
    @property
    def positions(self) -> NDArray[np.float32]:
        """(V,3) float32, read-only: rest positions in model units."""
    @property
    def normals(self) -> NDArray[np.float32]:
        """(V,3) float32, read-only: rest normals as in the file."""
    @property
    def uvs(self) -> NDArray[np.float32]:
        """(V,2) float32, read-only: texture coordinates, v points down."""
    @property
    def additional_uvs(self) -> NDArray[np.float32]:
        """(V,n,4) float32, read-only: the n sets of additional UVs."""
    @property
    def edge_scales(self) -> NDArray[np.float32]:
        """(V,) float32, read-only: scale of the edge width."""
    @property
    def triangles(self) -> NDArray[np.int32]:
        """(T,3) int32, read-only: vertex indices, clockwise, grouped by material."""
    @property
    def deform(self) -> NDArray[np.uint8]:
        """(V,) uint8, read-only: 0 BDEF1, 1 BDEF2, 2 BDEF4, 3 SDEF, 4 QDEF, as in the file."""
    @property
    def bone_indices(self) -> NDArray[np.int32]:
        """(V,4) int32, read-only: bone indices, -1 in empty slots."""
    @property
    def bone_weights(self) -> NDArray[np.float32]:
        """(V,4) float32, read-only: weights as in the file."""
    @property
    def sdef(self) -> NDArray[np.float32]:
        """(V,3,3) float32, read-only: rows C, R0, R1; zero for other deform types."""
    @property
    def segments(self) -> NDArray[np.float32]:
        """(B,2,3) float32, read-only: head and tail of the segment of each bone, model units. A bone
        without one uses the segment of the bone whose rotation it appends, or of its parent; head
        and tail are equal if there is none.
        """
    @property
    def centers_of_rotation(self) -> NDArray[np.float32]:
        """(V,3) float32, read-only: the centers of rotation for method="centers_of_rotation", in
        model units. Those given to Mesh(), or by equation (4) of Le and Hodgins 2016, ACM
        Transactions on Graphics 35(4), with sigma and epsilon 0.1; a vertex without similar
        vertices is its own center. Computed at first use, in 10 to 30 ms for a model; Ctrl-C
        stops it. ValueError for a Mesh with neither triangles nor centers.
        """
    @property
    def bounds(self) -> NDArray[np.float32]:
        """(2,3) float32: the smallest and the largest x, y, z of the rest positions, model units;
        zero without vertices.
        """
    @property
    def path(self) -> str | None:
        """Absolute path of the file, str; None if the model was not loaded from one, or was pickled.
        replace() keeps it.
        """
    @property
    def bones(self) -> Named[Bone]:
        """Named tuple of Bone: also model.bones["センター"]."""
    @property
    def morphs(self) -> Named[Morph]:
        """Named tuple of Morph."""
    @property
    def materials(self) -> Named[Material]:
        """Named tuple of Material."""
    @property
    def textures(self) -> tuple[str, ...]:
        """Tuple of str: relative paths, as in the file: often with backslashes."""
    @property
    def display_frames(self) -> Named[DisplayFrame]:
        """Named tuple of DisplayFrame."""
    @property
    def rigid_bodies(self) -> Named[RigidBody]:
        """Named tuple of RigidBody."""
    @property
    def joints(self) -> Named[Joint]:
        """Named tuple of Joint."""
    @property
    def skeleton(self) -> Skeleton:
        """Skeleton: the bones for retarget(), made at each access. Its slots are the bones that
        motions key (足, ひざ, 足首); retarget() also reads the D bones and the twist bones.
        """
    def bone(self, name: str, /) -> int:
        """The index of the bone with this name: the first whose Japanese name matches, otherwise the
        first whose English name matches. Raises UnknownNameError, which suggests similar names.
        """
    def morph(self, name: str, /) -> int:
        """The index of the morph with this name, matched as in bone()."""
    def sliders(self, weights: Mapping[str, float], /) -> NDArray[np.float32]:
        """Morph weights (M,) float32 from a dict {name: weight}, zero for all others; for skin(),
        pose_from() and uvs_at().

        Raises UnknownNameError like morph(), and ValueError for a weight that is not finite.
        """
    def pose(
        self,
        motion: Motion | None = None,
        frame: ArrayLike = 0.0,
        *,
        ik: bool = True,
        threads: int | None = None,
        physics: Physics | bool | None = None,
    ) -> Pose[_Floats]:
        """The pose of a frame as MMD evaluates it: interpolated keys, bone morphs, append, IK.
        Returns a Pose of skinning matrices and of the morph weights that the motion sets.

        motion: a Motion, or None for the rest pose with IK.
        frame: a number (30 frames per second, fractions allowed) for matrices (B,4,4) and weights
            (M,), or (F,) numbers in any order for (F,B,4,4) and (F,M). Before the first key of a
            track the first value applies, after the last key the last.
        ik: whether to run IK; the motion may still switch solvers off.
        threads: number of threads for a batch, at least 1; never more than frames, nor than 256.
            None: as many cores as are worth using. Results are the same.
        physics: True or a Physics to simulate rigid bodies. Every call simulates all frames since
            the start of the run, on one thread; use a Simulation for consecutive frames.

        Matrices are float32, row-major for column vectors, translations in model units. No frame
        of a batch depends on another. Raises ValueError for a frame that is not finite. The rules
        are those observed in MMD 9.32 (docs/mmd-behavior.md); IK is solved in double precision.
        """
    def locals_of(
        self, pose: Pose | ArrayLike, /
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The local values of a pose, the inverse of pose_from(ik=False): a tuple of translations
        (B,3) or (F,B,3) in model units and unit quaternions x y z w (B,4) or (F,B,4), float32.

        pose: a Pose, or skinning matrices in any form that skin() takes. Bone morphs of its
            weights and appends are undone. Rotations of bones with a fixed axis are projected on
            it.
        Scale and shear are lost: the rotation is that of the polar decomposition.

        Raises ValueError for matrices that are not finite. Formula: core/fit/inverse_pose.c.
        """
    def locals_at(
        self, motion: Motion, frame: ArrayLike, *, threads: int | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The local values that a motion gives to the bones, before IK: locals_of(pose(motion, frame,
        ik=False)). A tuple of translations (B,3) or (F,B,3) in model units and unit quaternions
        x y z w (B,4) or (F,B,4), float32. Raises what pose() raises.
        """
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
    ) -> Pose[_Floats]:
        """The pose of local values, evaluated like pose().

        translations: (B,3) or (F,B,3), model units, relative to the rest position, in the space
            of the parent.
        rotations: (B,4) or (F,B,4) quaternions x y z w of any length but zero. They are not
            projected onto fixed axes.
            Or, instead of both, a dict {name: (translation, rotation)} of the bones that move,
            with None for rest values. Names are matched as in bone().
        morph_weights: (M,) or (F,M) slider values, None: all zero; see sliders(). Bone morphs are
            applied.
        ik: whether to run IK, or (B,) or (F,B) booleans for the IK of each bone.
            A single frame of any of these serves all frames of the others.
        threads: as in pose().

        Returns a Pose. Raises ValueError for NaN, infinity and quaternions of zero length, and
        UnknownNameError for a name that the model lacks.
        """
    def joint_positions(self, pose: Pose | ArrayLike, /) -> NDArray[np.float32]:
        """Where the bones are: (B,3) or (F,B,3) float32 in model units.

        pose: a Pose, or skinning matrices in any form that skin() takes.
        Raises ValueError for matrices that are not finite. Formula: skinning matrix times rest
        position.
        """
    def transforms(
        self, pose: Pose | ArrayLike, /, space: Literal["world", "local"] = "world"
    ) -> NDArray[np.float32]:
        """The transforms of the bones, (B,4,4) or (F,B,4,4) float32, row-major for column vectors,
        as other programs keep them. At rest a bone is unrotated, at Bone.position.

        pose: a Pose, or skinning matrices in any form that skin() takes.
        space: "world": in the space of the model; "local": in the space of the parent, as in
            glTF. Unlike locals_of(), which gives what a motion's keys hold, these include appends
            and the offset from the parent, and keep scale and shear.

        Raises ValueError for matrices that are not finite, and in local space for a parent whose
        matrix has no inverse. Formulas: core/pose/pose.h.
        """
    def skinning_matrices(
        self, transforms: ArrayLike, /, space: Literal["world", "local"] = "world"
    ) -> NDArray[np.float32]:
        """The inverse of transforms(): skinning matrices (B,4,4) or (F,B,4,4) float32, for skin(),
        Pose and Motion.from_poses().

        transforms: (B,4,4) or (F,B,4,4), or without the last row (...,B,3,4), or positions and
            quaternions x y z w of any length but zero (...,B,7).
        space: "world" or "local", as in transforms().

        Raises ValueError for numbers that are not finite and quaternions of length zero.
        """
    def uvs_at(self, morph_weights: ArrayLike, channel: int = 0) -> NDArray[np.float32]:
        """Texture coordinates with UV morphs applied, float32. Channel 0 is the main UV, (V,2) or
        (F,V,2); 1 to 4 are the additional UVs, (V,4) or (F,V,4), which start from zero if the
        model lacks them.

        morph_weights: (M,) or (F,M) slider values.
        Raises ValueError for any other channel.
        """
    def materials_at(self, morph_weights: ArrayLike, /) -> tuple[Material, ...]:
        """The materials of the model with material morphs applied, a tuple of Material: multiplying
        morphs are multiplied, adding morphs are added.

        morph_weights: (M,) slider values.
        """
    def texture_factors_at(self, morph_weights: ArrayLike, /) -> NDArray[np.float32]:
        """What material morphs make of textures: (M,2,3,4) or (F,M,2,3,4) float32. For each of the M
        materials a factor (0) and a summand (1) for texture, sphere map and toon, as r g b a. With
        factor m and summand a, a texture's color X becomes lerp(N, X * m.rgb + a.rgb, m.a + a.a),
        where N is 1, or 0 for an added sphere map. Neutral factors are 1, neutral summands 0.

        morph_weights: (M,) or (F,M) slider values of the M morphs.
        """
    def _repr_html_(self) -> str:
        """For notebooks: a table of what the model has."""
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
    ) -> Model:
        """Creates a Model with some members replaced: model.replace(name="new", bones=bones). Takes
        the keywords of from_arrays(); None is the default there. Members that are not named are
        those of this model. Also copy.replace(model, ...) in Python 3.13.

        Raises ValueError and TypeError as from_arrays() does, and ValueError if the file had soft
        bodies, which a Model does not hold.
        """
    def __replace__(self, **changes: Any) -> Model:
        """For copy.replace(): the same as replace()."""
    def save(self, path: _Target, /) -> None:
        """Writes a PMX file of the model's version, 2.0 if it was a PMD. A PMX that load_model() did
        not have to clean is written as it was read, byte for byte, with its encoding of texts and
        its sizes of indices; any other file loads as an equal model, but for the version of a PMD.
        Textures are not copied: their paths are relative to the file.

        path: a path (str or os.PathLike), or a binary file open for writing. A path that exists
            keeps its old contents until the new ones are on the disk.

        Raises ValueError for the extension of another format, such as .pmd, and if the file had
        soft bodies, which a Model does not hold, before anything is written; OSError for a file
        that cannot be written.
        """
    def __reduce__(self) -> tuple[object, ...]:
        """Pickles as the bytes of the file."""

@final
class Motion:
    """A motion, as load_motion() and from_tracks() return it: immutable, picklable and safe to
    share between threads. Arrays are read-only views, not copies; a view keeps the data
    alive. Motions are equal if their names and all their tracks are.
    """
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
    ) -> Motion:
        """Creates a Motion from tracks: new ones, or the members of another Motion, edited or not.

        bones: sequence of BoneTrack; morphs: sequence of MorphTrack. Tracks without keys are
            dropped.
        camera, light, shadow, properties: a CameraTrack, LightTrack, ShadowTrack, PropertyTrack,
            or None.
        name: name of the model that the motion is for. By default "", or for a camera, light and
            shadow alone the name by which MMD knows their files.
        Names may hold surrogates U+DC80 to U+DCFF: load_motion() gives them for bytes that are no
        characters, and save() writes these bytes again.

        Arrays are copied. Keys may be in any order; of equal frames the last is kept, as in a
        file. Rotations of bones may have any length but zero. None stands for a default:
        translations zero, rotations identity, interpolation linear, physics, perspective and
        visible True. `physics` and `stored` of a bone track may be omitted. A track may also be a
        plain tuple of the same values, or a dict of them by name.

        Raises ValueError for numbers that are not finite or beyond 1e10, frames outside uint32,
        interpolation outside 0 to 127, shadow modes outside 0 to 2 and two tracks of the same
        name, TypeError for anything that is not a track. The message names the track and the key.
        """
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
    ) -> tuple[Motion, FitReport]:
        """A Motion with few keys that puts the model where the poses have it.

        pose: a Pose of every frame, or skinning matrices (F,B,4,4), float32.
        ik: "off": legs and other IK links get keys, and a property key switches IK off; "both":
            IK bones are also put on their targets, so that the motion plays the same with IK on and
            off and can be edited by the IK bones.
        frames: the frame numbers, whole and consecutive; None: 0, 1, 2 and so on.
        tolerance: the largest distance of a vertex from where the poses put it, model units. Bones
            whose vertices are farther off are fitted again with less.
        physics_tolerance: the same for bones that rigid bodies move.
        physics: "leave": bones that rigid bodies move get no keys, MMD simulates them; "keys":
            they get keys that switch their physics off.
        like: a Motion whose curves are kept where they still fit, and its visibility.
        threads: as for pose(); the result does not depend on it.

        Returns (Motion, FitReport). Raises ValueError for numbers that are not finite.
        Method: the longest segment with curves of whole numbers, core/fit/key_fit.c.
        """
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
    ) -> tuple[Motion, FitReport]:
        """A Motion with few keys of the local values of bones.

        translations, rotations, morph_weights: as for Model.pose_from(), of every frame.
        ik: "as_keyed": MMD solves IK from these values; "off": the values are what IK has solved,
            and a property key switches IK off; "both": as for from_poses().
        like: as for from_poses(); with ik="as_keyed" its IK switches are kept, too.
        frames, tolerance, physics_tolerance, physics, threads: as for from_poses().

        Returns (Motion, FitReport). Raises ValueError for numbers that are not finite.
        """
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
    ) -> tuple[Motion, FitReport]:
        """The motion of another skeleton, such as motion capture, as keys of the bones that dances of
        MMD move: センター, 下半身, 上半身, arms with 腕捩 and 手捩, fingers, 足, ひざ, 足首 and 足ＩＫ.

            skeleton, poses, fps = mmdskin.load_bvh("walk.bvh")
            motion, report = mmdskin.Motion.from_skeleton(model, skeleton, poses, fps=fps)

        model: the Model that shall move. skeleton: a Skeleton.
        poses: (F,B,4,4) world matrices of its bones, in MMD's axes and any unit, or a Pose of the
            model whose skeleton it is.
        fps: their frames per second; other rates than MMD's 30 are resampled.
        legs: "both": keys of the legs and of their IK, which agree, so that IK may be on or off;
            "ik": without ひざ, which MMD's IK finds again, as animators expect.
        tolerance: as for from_locals(), model units; for models whose legs are shorter than those of
            MMD's own, 9.4 units, proportionally less.
        feet, hands, scale: as for retarget().

        Knees bend about their x axis only, as MMD's IK does, and thighs are turned so that knees and
        ankles are in place: MMD's IK ends where it begins. A foot that slides in the source slides.

        Returns (Motion, FitReport); notes of "" concern the whole motion. Raises ValueError for
        skeletons and models that are no human, and for poses that do not fit. Formulas:
        docs/retarget-capture.md.
        """
    @classmethod
    def from_camera(
        cls,
        camera: Camera,
        frames: ArrayLike | None = None,
        *,
        tolerance: float = 0.02,
        degrees: float = 0.05,
        cuts: ArrayLike = (),
    ) -> Motion:
        """A Motion with few camera keys, the inverse of camera_at().

        camera: a Camera of every frame: position, target and up (F,3), fov (F,).
        frames: the frame numbers, whole and consecutive; None: 0, 1, 2 and so on.
        tolerance: of target and distance, model units. degrees: of the three angles.
        cuts: the frame numbers at which a new shot begins.
        View angles at keys are whole degrees, as in the file format: within half a degree.

        Raises ValueError for numbers that are not finite and cameras without a direction.
        """
    @property
    def name(self) -> str:
        """Name of the model that the motion was made for, str."""
    @property
    def frame_range(self) -> tuple[int, int]:
        """(first, last) frame of all tracks, (0, 0) without keys; 30 frames per second."""
    @property
    def encoding(self) -> str:
        """Encoding in which load_motion() has read names, str."""
    @property
    def duration(self) -> float:
        """Seconds from the first to the last frame, float."""
    @property
    def bones(self) -> Named[BoneTrack]:
        """Named tuple of BoneTrack: also motion.bones["センター"]."""
    @property
    def morphs(self) -> Named[MorphTrack]:
        """Named tuple of MorphTrack."""
    @property
    def camera(self) -> CameraTrack:
        """CameraTrack."""
    @property
    def light(self) -> LightTrack:
        """LightTrack."""
    @property
    def shadow(self) -> ShadowTrack:
        """ShadowTrack."""
    @property
    def properties(self) -> PropertyTrack:
        """PropertyTrack: visibility and IK switches."""
    def camera_at(self, frames: ArrayLike, /) -> Camera[_Floats, _Floats, _Floats, _Floats]:
        """The camera of the motion at these frames, interpolated as in MMD. Returns a Camera for
        render().

        frames: a number (30 frames per second, fractions allowed) for position, target and up
            (3,) float32 and fov (), or (F,) numbers in any order for (F,3) and (F,).
        Before the first key the first values apply, after the last key the last. Keys on
        consecutive frames are a cut, with nothing in between. A camera at or beyond its target
        looks away from it; its target is then one unit ahead. A target is moved away from the
        camera to at least 1/4096 of the camera's largest coordinate, so that float32 can resolve
        the direction.
        Without keys it is MMD's default: (0, 10, -45) towards (0, 10, 0), 30 degrees. Keys
        without perspective are treated as if they had it; Motion.camera.perspective has the flag.

        Raises ValueError for a frame that is not finite.
        """
    def light_at(self, frames: ArrayLike, /) -> Light:
        """The light of the motion at these frames. Returns a Light, whose members render() takes as
        light_color and light.

        frames: a number (30 frames per second, fractions allowed) for color and direction (3,)
            float32, or (F,) numbers in any order for (F,3).
        Both change linearly from key to key. Before the first key the first values apply, after
        the last key the last; keys on consecutive frames are a cut. Without keys it is MMD's
        default: (154, 154, 154) / 255 along (-0.5, -1, 0.5).

        Raises ValueError for a frame that is not finite.
        """
    def shadow_at(self, frames: ArrayLike, /) -> Shadow:
        """Self-shadowing of the motion at these frames. Returns a Shadow: mode (0 off, 1 or 2) uint8
        and distance (as in the file) float32, () for a frame and (F,) for (F,) frames.

        Modes change at keys, distances linearly from key to key; keys on consecutive frames are a
        cut. Without keys the mode is 0 and the distance 0.01125, which MMD's panel shows as 8875.

        Raises ValueError for a frame that is not finite.
        """
    def unmatched(self, model: Model, /) -> Unmatched:
        """Names of the motion that the model lacks, as Unmatched(bones, morphs, ik) of tuples of
        str. Model.pose() ignores these tracks. Names must match exactly.
        """
    def for_model(
        self,
        target: Model,
        *,
        made_for: Model | None = None,
        hands: bool = True,
        scale: float | None = None,
    ) -> tuple[Motion, FitReport]:
        """The motion of one model, fitted to another: keys keep their frames and curves, and what they
        hold changes.

        target: the Model that shall dance.
        made_for: the Model that the motion was made for. None: only positions are scaled, because the
            angles of its arms at rest are not known.
        hands: whether hands that are near each other keep their gap, for which their arms get new
            keys. Models with IK on the arms keep theirs.
        scale: of positions; None: the ratio of the legs' lengths, without made_for to those of MMD's
            own models.

        Rotations become q' = A_parent^-1 q A, with A the turn from the target's limb at rest to the
        source's; positions t' = scale t, and those of bones that turn the body (センター, グルーブ)
        make up for pivots that differ. Bones whose rest differs and that have no keys get one. What
        bones did that the target lacks (グルーブ, 上半身2, 肩P, 腰, 全ての親, 腕捩, …), others do, with
        new keys.

        Returns (Motion, FitReport): `worst` is the distance of a vertex from where tracks with new
        keys should put it; `notes` name all tracks that got new keys or were lost, and "" what
        concerns all. Raises ValueError for models without arms, legs or a head, and for keys over
        1,000,000 frames apart. Formulas: docs/retargeting.md.
        """
    def save(
        self,
        path: _Target,
        *,
        part: Literal["all", "model", "camera"] | None = None,
        names: Literal["error", "cut", "omit"] = "error",
        frame: float | None = None,
        model: Model | None = None,
    ) -> None:
        """Writes a VMD file that loads with the same tracks, or the pose of one frame as a VPD.

        path: a path (str or os.PathLike), or a binary file open for writing. A name that ends in
            .vpd makes a VPD; the extension of another format, such as .bvh, is a ValueError.
        part: "model": bones, morphs and properties; "camera": camera, light and shadow, named
            "カメラ・照明", the name by which MMD knows them; "all": both. None: what the motion has,
            which must not be both, because MMD loads only one of them from a file.
        names: what to do with names that take more than 15 bytes in cp932, which MMD does not find,
            and characters that cp932 lacks. "error": ValueError with all of them, except those of
            bones and morphs at rest and of IK that is always on, which are left out; "omit": leave
            all of them out, so that MMD plays the same; "cut": cut the names at byte 15, as MMD
            does, with "?" for the characters. Names of a VPD have any length, but
            no line ends and no //.
        frame: of a VPD: the frame whose pose it gets, from 0 on, as in Model.pose(); None: the first.
        model: of a VPD: the Model whose bones and morphs it gets, in their order, and its name;
            None: all of the motion.

        Bytes of names that are not characters are written as they were read. The motion's own name
        is cut at 20 bytes, as MMD does.

        Raises ValueError for names, names that are equal once cut, and view angles that are not
        whole degrees, before anything is written; OSError for a file that cannot be written. A path
        that exists keeps its old contents until the new ones are on the disk.
        """
    def _repr_html_(self) -> str:
        """For notebooks: a table of what the motion has."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[object, ...]:
        """Pickles as the bytes of the file, or as tracks."""

@final
class Mesh:
    """Skinning input that does not come from a model file. Copies its arguments; immutable,
    picklable and safe to share between threads.

    positions: (V,3) float32, model units.
    bone_indices: (V,K) int32 with K from 1 to 4; -1 is an empty slot.
    bone_weights: (V,K) float32; normalized to a sum of 1, may be negative.
    normals: (V,3) float32 of any length; a zero normal stays zero.
    tangents: (V,3) float32, or (V,4) with the handedness, which is copied. Needs normals.
    deform: (V,) uint8: 0 BDEF1 (slot 0 with weight 1), 1 BDEF2 (slots 0 and 1), 2 BDEF4,
        3 SDEF (slots 0 and 1), 4 QDEF. None: BDEF4 for all.
    sdef: (V,3,3) float32, rows C, R0, R1 in model units; required if deform contains 3.
    morphs: sequence of (indices (n,), offsets (n,3)), one per morph weight.

    For the methods that avoid the bulge of dual quaternions:
    triangles: (T,3) int32, from which "centers_of_rotation" computes its centers.
    centers: (V,3) float32, model units: your own centers of rotation, instead of triangles.
    segments: (B,2,3) float32, head and tail of each bone at rest, equal if it has no length;
    parents: (B,) int32, -1 none. "bulge_free" and "bulge_compensated" need both.

    Raises TypeError and ValueError; the message names the vertex and the limit.
    """
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
    def centers_of_rotation(self) -> NDArray[np.float32]:
        """(V,3) float32, read-only: the centers of rotation for method="centers_of_rotation", in
        model units. Those given to Mesh(), or by equation (4) of Le and Hodgins 2016, ACM
        Transactions on Graphics 35(4), with sigma and epsilon 0.1; a vertex without similar
        vertices is its own center. Computed at first use, in 10 to 30 ms for a model; Ctrl-C
        stops it. ValueError for a Mesh with neither triangles nor centers.
        """
    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        """For pickling."""

@final
class World:
    """Rigid bodies and joints, simulated by the equations of Bullet 2.75, the engine that MMD
    credits. The same input gives the same bits in every run and on every system. All bodies
    start at rest.

    bodies, joints: RigidBody and Joint records, as in Model.rigid_bodies and Model.joints.
        Joints of every kind are solved as 6-DOF joints with limits; only "spring_6dof" has
        springs.
    gravity: model units per second squared.
    hz: steps per second, 1 to 100000.
    iterations: solver iterations per step, 1 to 1000.
    ground: whether the plane y = 0 is solid, or the height of that plane.
    contacts: whether bodies collide, if each one's mask has the group of the other.
    additional_damping: Bullet's additional damping, which brings slow bodies to rest.
    collide_connected: whether bodies connected by a joint collide.
    joint_order: (n,) int32, the joints to solve, in order; None: all, in Bullet's order.
    wind: model units per second; drags bodies along by their linear damping.

    A pickled or copied World includes its contacts and continues in the same way. Raises
    TypeError and ValueError; the message names the body or joint.
    """
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
    def state(self) -> NDArray[np.float64]:
        """(N,13) float64, a row per body: position, rotation x y z w, linear velocity, angular
        velocity, in the space of the file. A read-only copy. Assign an array to set it, which also
        clears the contacts.
        """
    @state.setter
    def state(self, state: ArrayLike, /) -> None: ...
    @property
    def points(self) -> NDArray[np.float64]:
        """(P,10) float64, a row per contact point of the last step: bodies a and b (-1: the ground),
        the point on b, the normal from b to a, the distance along it (negative: overlap), the
        impulse.
        """
    @property
    def strain(self) -> NDArray[np.float64]:
        """(J,2) float64, a row per joint: how far it exceeds its limits, in model units along its axes
        and radians about them; 0 for joints that are not solved.
        """
    @deprecated("It is called apply_impulse()")
    def push(self, body: int, impulse: ArrayLike, torque: ArrayLike = (0, 0, 0)) -> None:
        """Deprecated: apply_impulse()."""
    def apply_impulse(self, body: int, impulse: ArrayLike, torque: ArrayLike = (0, 0, 0)) -> None:
        """Changes the velocities of a body at once.

        body: index of the body; one of mode "follow_bone", or without mass, does not move.
        impulse: (3,) at its center, mass times units per second, along world axes.
        torque: (3,) angular impulse, mass times square units per second, about world axes.

        Raises ValueError, also for a velocity beyond 1e6; the world is unchanged then.
        """
    def step(self, transforms: ArrayLike | None = None) -> None:
        """Advances the world by 1 / hz seconds.

        transforms: (K,7) float64, target position and rotation x y z w of the K bodies of mode
            "follow_bone", in the order of bodies. They are there during the step, with the
            velocity that takes them from their last place. None: they do not move.

        A body whose state would become infinite or NaN keeps its place, at rest. Raises
        ValueError, which names the row of `transforms`.
        """
    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        """For pickling: the arguments."""
    def __getstate__(self) -> bytes:
        """For pickling: bodies and contacts."""
    def __setstate__(self, state: bytes, /) -> None:
        """For pickling."""

@final
class Simulation(Generic[_Posed, _Simulated, _Followed, _Strain]):
    """Simulates the rigid bodies of a model, such as hair and clothes, along a motion, by the
    equations of Bullet 2.75, the engine that MMD credits. It keeps its state, so consecutive
    frames are cheap. The same model, motion, settings and frame give the same bytes, whatever
    was requested before.

    motion: a Motion, or None for the rest pose.
    physics: True or a Physics.
    ik: as in Model.pose().

    model and motion may be lists of 1 to 1000 models and their motions (None: all at rest), which
    are simulated in one world, so that the hand of one moves the hair of another. Results are
    then tuples, in the order of the models. A model may be listed twice. The run starts at the
    earliest first frame of the motions, less their offsets.

    transforms: for a list, (N,7): the position and the rotation x y z w of each model's space in that
        world; None: they share one space. Gravity and ground are those of the world; poses
        remain in the spaces of their models.
    offsets: for a list, (N,): frames by which each motion is ahead of the run; None: 0.

    Threads may share a Simulation; their calls wait for each other. Separate Simulations can
    run in parallel. Raises ValueError for invalid settings, bodies and joints; the message
    names them.
    """
    @overload
    def __new__(
        cls,
        model: Model,
        motion: Motion | None = None,
        physics: Physics | bool = True,
        *,
        ik: bool = True,
        transforms: None = None,
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
        transforms: ArrayLike | None = None,
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
        transforms: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
    ) -> Simulation[Any, Any, Any, Any]: ...
    @property
    def model(self) -> _Simulated:
        """The Model, or a tuple of several."""
    @property
    def motion(self) -> _Followed:
        """The Motion, or None; of several models a tuple."""
    @property
    def physics(self) -> Physics:
        """The settings, a Physics."""
    @property
    def transforms(self) -> NDArray[np.float64] | None:
        """(N,7) float64, read-only: where the models are, or None."""
    @property
    @deprecated("It is called transforms")
    def places(self) -> NDArray[np.float64] | None:
        """Deprecated: transforms."""
    @property
    def offsets(self) -> NDArray[np.float64] | None:
        """(N,) float64, read-only: frames by which motions are ahead of the run, or None."""
    @property
    def frame(self) -> float:
        """The frame of the last pose(), float; after step(), 30 times the seconds since the start."""
    @property
    def notes(self) -> tuple[str, ...]:
        """Tuple of str: warnings about the model's bodies and joints, and about the run so far:
        bodies whose state became infinite or NaN, joints whose stretch was limited to 3 units, or
        reached 10, pairs of bodies beyond those that a world has room for. With several models, a
        text begins with the index and the name of its model.
        """
    @property
    def strain(self) -> _Strain:
        """(J,2) float64: how far each joint exceeds its limits after the last step, in model units
        along its axes and radians about them. Clothed models average 0.1 and 0.1 in a dance. The
        first joint of a body limits its stretch to 3 units. A tuple for a list of models.
        """
    def pose(self, frame: ArrayLike, /) -> _Posed:
        """The Pose of a frame, a number, or of (F,) frames in any order, as Model.pose() returns it
        with physics; for a list of models a tuple of a Pose each. After the last frame the
        simulation continues from there. The result for a frame does not depend on earlier calls.
        Frames before the start have no physics. Raises ValueError for a frame that is not finite or
        more than 10,000,000 after the start.
        """
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
    ) -> Pose[_Floats] | tuple[Pose[_Floats], ...]:
        """Moves the bones from the last pose to this one within `seconds`, and returns the resulting
        Pose. For your own animation, in a Simulation without a motion. The first call, also after
        reset() or pose(), sets the start pose: bodies settle in it, and no time passes.

        translations, rotations, morph_weights: of one frame, as in Model.pose_from(); None: rest
            pose, zero.
        seconds: 0 to 3600. Steps are 1 / Physics.hz long; what remains is carried over to the next
            call, and bodies are shown there with the velocities of the last step.
        ik: whether to run IK, or (B,) booleans for the IK of each bone; takes effect at the end
            of the interval. Always off in a Simulation with ik=False.
        physics: whether bodies are simulated, or (B,) booleans for the bodies of each bone; the
            others follow their bone, as with BoneTrack.physics. Takes effect at the end of the
            interval.
        gravity: (3,) of the world at the end of the interval, up to 1e6, in place of that of Physics;
            noise is added to it. Linear from that of the call before; the whole interval long if that
            had none. None: that of Physics.

        With a list of models, each argument but `seconds` and `gravity` is a list with an item
        for each model, or one None or bool for all, and the result is a tuple. Models with a
        motion follow it from the start of the run on: their items are None, their `ik` and
        `physics` are those of the motion. At least one model has no motion.

        Raises ValueError, also in a Simulation with a motion; the simulation is unchanged then.
        """
    def reset(self) -> None:
        """Returns to before the start of the run."""
    def __class_getitem__(cls, item: object, /) -> GenericAlias:
        """Simulation[Pose] of a model, or Simulation[tuple[Pose, ...]], for type annotations."""
    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        """For pickling: the arguments."""
    def __getstate__(self) -> bytes:
        """For pickling: the state of the run."""
    def __setstate__(self, state: bytes, /) -> None:
        """For pickling."""

_Several = Simulation[
    tuple[Pose[_Floats], ...],
    tuple[Model, ...],
    tuple[Motion | None, ...],
    tuple[NDArray[np.float64], ...],
]

def load_model(source: _Source, /) -> Model:
    """Loads a PMX 2.0, PMX 2.1 or PMD file, detected by content. PMD is converted to PMX's
    structure.

    source: a path (str or os.PathLike), a file opened with mode "rb", or the contents of a
        file (bytes-like). A pipe or a device may give up to 1 GiB.
    Invalid data is cleaned: indices out of range become -1, numbers that are not finite
    become 0, those beyond 1e10 become 1e10, triangles and morph offsets that refer to missing
    elements are dropped.

    Raises FormatError if the contents cannot be read, OSError if the file cannot be opened,
    and TypeError for any other source.
    """

def load_motion(
    source: _Source, /, encoding: str | None = None, *, model: Model | None = None
) -> Motion:
    """Loads a VMD motion, or a VPD pose as a motion with one frame, 0. Detected by content.

    source: a path (str or os.PathLike), a file opened with mode "rb", or the contents of a
        file (bytes-like). A pipe or a device may give up to 1 GiB.
    encoding: of the names in it, as Python calls it: "gbk", "cp949", "utf-8". None: cp932,
        which MMD writes; UTF-8 for a VPD that begins with its mark.
    model: the Model that it is for. Unless an encoding is given, that one of cp932, UTF-8, GBK,
        CP949 and CP950 is used in which most names are in the model.
    Keys are sorted by frame; of equal frames the last in the file is kept. Rotations are
    normalized. Bytes of names that are not characters, as in names that MMD has cut, become
    surrogates, as by Python's "surrogateescape".

    Raises FormatError if the contents cannot be read, OSError if the file cannot be opened,
    LookupError for an unknown encoding, and TypeError for any other source.
    """

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
) -> Skinned:
    """Applies morphs and skins a mesh as MMD does. Returns a Skinned.

    mesh: a Model or a Mesh.
    bone_matrices: skinning matrices (B,4,4) or (F,B,4,4) float32, row-major for column
        vectors, translations in model units; the last row is ignored. Also without that row,
        (...,B,3,4), or as translations and quaternions x y z w of any length but zero,
        (...,B,7). Or a Pose, which also provides the morph weights.
    morph_weights: slider values (M,) or (F,M); None: all zero. Group and flip morphs are
        resolved here. A single frame of matrices or weights serves all frames of the other.
    method: "mmd" (each vertex by its own deform type), "linear" or "dual_quaternion".
        Without the bulge of dual quaternions: "bulge_free" removes it,
        "bulge_compensated" reduces it and is fastest, "centers_of_rotation" reduces it
        and needs no skeleton. A Model has the data they need; a Mesh takes it as arguments.
    sdef_blend: how SDEF interpolates two rotations, "nlerp" or "slerp".
    correction: strength of "bulge_free" and "bulge_compensated", 0 to 1.
    normals, tangents: whether to compute them. Normals are computed if the mesh has normals.
        Tangents of a Model are made from its UVs at first use: x y z is a unit vector along
        u, w is 1 or -1 so that w * cross(normal, tangent) points along v, also where matrices
        mirror. ValueError for a model without UVs.
    backend: "cpu", "gl" (OpenGL), or "auto", which is cpu: results are in the host's
        memory, and to bring them there takes longer than skinning.
        "cpu:scalar", "cpu:sse2", "cpu:avx2", "cpu:avx512" and "cpu:neon" select a
        CPU kernel.
    out: a Skinned to fill: writable C-contiguous float32 arrays, or tensors of the CPU whose
        memory NumPy shares, such as PyTorch's; None for what is not computed. It is returned.
    threads: number of CPU threads for a batch, at least 1; never more than frames, nor than
        256. None: as many cores as are worth using. OpenGL copies results by up to 8.
        Results are the same.

    Positions are (V,3) or (F,V,3) in model units; normals have that shape and unit length.
    QDEF and "dual_quaternion" use the rotation and translation of a matrix and ignore its
    scale.
    Formulas: BDEF, SDEF (equation (4)) and QDEF by dragonmeteor's article on MMD
    morphing and skinning, https://qiita.com/dragonmeteor/items/0211166d55bb2eb7c07c; normals
    by the inverse transpose. bulge_free: Kim and Han 2014, doi 10.1002/cav.1604.
    bulge_compensated: Sulema and Rudenko 2020, doi 10.31891/2307-5732-2020-281-1-12-19.
    centers_of_rotation: Le and Hodgins 2016, ACM Transactions on Graphics 35(4).
    docs/methods.md has them all.

    Numbers so large that a result exceeds float32 give infinity or NaN there.
    Raises TypeError and ValueError, which name the item and its limit, and BackendError if
    the requested backend is not available. `out` is unchanged then, unless an OpenGL device
    fails during a batch: the message says which frames are done. Signals are handled between
    frames; if a handler raises, as for Ctrl-C, `out` is partly written.
    """

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
    want: Sequence[Literal["image", "depth", "normals", "triangles"]] = ("image",),
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
def toons() -> NDArray[np.uint8]:
    """The ten ramps that stand for the toon textures toon01.bmp to toon10.bmp, which models share:
    a new array (10,32,4) uint8, sRGB and alpha. Row 0 is lit, row 31 in shadow. Drawn from their
    measured colors; no file of MMD is included. render() uses them unless others are passed.
    """

def backends() -> tuple[Backend, ...]:
    """The skinning backends: a tuple of Backend(name, available, device, reason) for "gl" and
    "cpu". device is the renderer or the CPU kernel; reason says why a backend is not
    available. Starts the OpenGL thread. With EGL, the environment variable MMDSKIN_EGL_DEVICE
    restricts the devices to one: a number, or "surfaceless". MMDSKIN_GL_TIMEOUT is how many
    seconds calls wait for a device that hangs, 1 to 86400 (default: 60).
    """

def shutdown() -> None:
    """Stops the OpenGL thread and frees its device memory, and the memory that is kept for new
    results. Later calls start the thread and keep memory again. Called automatically at exit.
    """

def __dir__() -> list[str]: ...

# SPDX-License-Identifier: MIT
"""The named tuples that the module returns and takes. `mmdskin._mmdskin` fills and reads them; record_types.c
says from which members of C structs."""

from __future__ import annotations

import functools
import os
import warnings
from itertools import filterfalse, zip_longest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, final, overload

import numpy as np

from mmdskin.errors import counted, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

_Vector = tuple[float, float, float]
_Color = tuple[float, float, float, float]
_Record = TypeVar("_Record", covariant=True)
_Default = TypeVar("_Default")

_item = tuple.__getitem__

_NO_INDICES = np.empty(0, np.int32)
_NO_VALUES = np.empty((0, 3), np.float32)
_NO_INDICES.flags.writeable = _NO_VALUES.flags.writeable = False


@final
class Named(tuple[_Record, ...]):
    """A tuple of records that also finds them by name: bones["センター"] is the first bone of
    this name (UnknownNameError without one), and "センター" in bones says whether there is
    one. Names must match exactly.
    """

    _index: dict[str, _Record] | None = None

    @overload
    def __getitem__(self, key: SupportsIndex | str, /) -> _Record: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[_Record, ...]: ...
    def __getitem__(self, key: Any, /) -> Any:
        if not isinstance(key, str):
            return _item(self, key)
        try:
            return self._by_name()[key]
        except KeyError:
            raise unknown_name(key, self._kind(), self, False) from None

    def __contains__(self, value: object, /) -> bool:
        return (
            value in self._by_name() if isinstance(value, str) else tuple.__contains__(self, value)
        )

    @overload
    def get(self, name: str, default: None = None, /) -> _Record | None: ...
    @overload
    def get(self, name: str, default: _Default, /) -> _Record | _Default: ...
    def get(self, name: str, default: Any = None, /) -> Any:
        """The first record of this name, or `default`."""
        return self._by_name().get(name, default)

    @property
    def names(self) -> tuple[str, ...]:
        """Tuple of str: the names of the records, in order."""
        # Where memory is short, tuple() of a generator would leak the names that it has.
        names = [record.name for record in self]  # type: ignore[attr-defined]
        return tuple(names)

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the index."""
        return Named, (tuple(self),)

    def _kind(self) -> str:
        """What its records are called: bone, rigid body."""
        name = type(self[0]).__name__ if self else "Record"
        return "".join(f" {c}" if c.isupper() else c for c in name).strip().lower()

    def _ipython_key_completions_(self) -> tuple[str, ...]:
        """For IPython and notebooks: what Tab offers after model.bones["."""
        return self.names

    def _by_name(self) -> dict[str, _Record]:
        """The first record of each name, made once."""
        if self._index is None:
            self._index = dict(zip(reversed(self.names), reversed(self), strict=True))
        return self._index


class Append(NamedTuple):
    """A share of the motion of another bone.
    source: index of that bone, -1: none
    ratio: factor
    rotation, translation: whether each is appended
    local: use the source's motion in world space (the format calls this local)
    """

    source: int
    ratio: float = 1.0
    rotation: bool = True
    translation: bool = False
    local: bool = False


class IKLink(NamedTuple):
    """A bone that IK rotates.
    lower, upper: limits, Euler angles (x, y, z) in radians; None without limits
    """

    bone: int
    lower: _Vector | None = None
    upper: _Vector | None = None


class IK(NamedTuple):
    """An IK solver.
    target: the bone that shall reach the IK bone (the end effector)
    unit_angle: maximum angle per iteration and link, radians
    links: tuple of IKLink, beginning next to the target
    """

    target: int
    loop_count: int = 40
    unit_angle: float = 2.0
    links: tuple[IKLink, ...] = ()


class Bone(NamedTuple):
    """A bone of a model.
    position: (x, y, z) in model units
    parent: index of a bone or -1
    layer: deform layer, which orders evaluation
    flags: the bits in the file
    tail_bone: index, or -1 to use tail_offset (x, y, z) instead
    append: an Append or None
    fixed_axis: (x, y, z) or None
    local_axes: (x axis, z axis) or None
    external_parent: its key or None
    after_physics: whether the bone is evaluated after physics
    ik: an IK or None
    """

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
    """A morph. panel: 0 reserved, 1 eyebrow, 2 eye, 3 mouth, 4 other.
    kind: what indices (n,) int32 refer to, and the columns of values (n,k) float32:
      "group", "flip": morphs; ratio
      "vertex": vertices; x y z in model units
      "bone": bones; translation x y z, rotation x y z w
      "uv", "uv1" to "uv4": vertices; 4 numbers ("uv" uses two)
      "material": materials (-1: all); operation (0 multiply, 1 add), diffuse 4,
          specular 3, specular power, ambient 3, edge color 4, edge size, texture 4,
          sphere 4, toon 4
      "impulse": rigid bodies; local (0 or 1), impulse 3 (PMX calls it
          velocity), torque 3
    """

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
    indices: NDArray[np.int32] = _NO_INDICES
    values: NDArray[np.float32] = _NO_VALUES


class Material(NamedTuple):
    """A material. Colors are tuples of 0 to 1; diffuse and edge_color have an alpha.
    flags: the bits in the file
    texture, sphere_texture: indices of textures or -1
    sphere_mode: "none", "multiply", "add", "sub_texture"
    toon: index of a texture or -1; if shared_toon, 0 to 9 for toon01.bmp to toon10.bmp
    index_count: 3 per triangle; triangles are grouped by material, in this order
    """

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
    """A group of bones and morphs in MMD's timeline.
    elements: tuple of ("bone" or "morph", index)
    """

    name: str
    name_english: str = ""
    special: bool = False
    elements: tuple[tuple[Literal["bone", "morph"], int], ...] = ()


class RigidBody(NamedTuple):
    """A rigid body.
    bone: index or -1
    group: 0 to 15; mask: bits of the groups that it collides with
    shape: "sphere", "box", "capsule"
    size, position: model units; rotation: Euler angles in radians
    mode: "follow_bone", "physics", "physics_and_bone"
    """

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
    """A joint between two rigid bodies.
    kind: "spring_6dof", "6dof", "point_to_point", "cone_twist", "slider" or
        "hinge"
    body_a, body_b: indices or -1
    Lengths are in model units, angles in radians.
    """

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


class Skinned(NamedTuple):
    """The result of skin(), float32 arrays.
    positions: (V,3) or (F,V,3) in model units
    normals: same shape, unit length; None if the mesh has none or they were not requested
    tangents: (V,3) or (V,4), with F in front for a batch; None if not requested
    """

    positions: NDArray[np.float32]
    normals: NDArray[np.float32] | None
    tangents: NDArray[np.float32] | None


class Pose(NamedTuple):
    """Input of skin().
    bone_matrices: skinning matrices (B,4,4) or (F,B,4,4), row-major for column vectors
    morph_weights: slider values (M,) or (F,M); None: all zero
    """

    bone_matrices: NDArray[np.float32]
    morph_weights: NDArray[np.float32] | None


class Rendered(NamedTuple):
    """The result of render(). A batch adds F in front of each shape; members that were not
    requested are None.
    image: (H,W,4) uint8 sRGB, straight alpha
    depth: (H,W) float32, distance along the view in model units, infinite for background
    normals: (H,W,3) float32 in model space, unit, facing the camera, zero for background
    triangles: (H,W) int32, row of the mesh's triangles, -1 for background
    """

    image: NDArray[np.uint8] | None
    depth: NDArray[np.float32] | None
    normals: NDArray[np.float32] | None
    triangles: NDArray[np.int32] | None

    def save(self, path: str | os.PathLike[str], numbers: Iterable[int] | None = None) -> None:
        """Writes the image as a PNG; of a batch one for each frame, with its number in place of #s in the
        name, or at the end: frame0000.png.
        numbers: of the F frames, whole and all different; None: 0, 1, and so on

        Raises ValueError for such numbers, without an image and for the name of another format, and
        OSError.
        """
        from mmdskin.array_arguments import converted
        from mmdskin.file_io import check_name, numbered, write
        from mmdskin.notebook import png

        check_name(path, "picture", ".png")
        if self.image is None:
            raise ValueError('image: missing; render() draws it unless want= leaves out "image"')
        if self.image.ndim not in (3, 4):
            raise ValueError("image: expected (H,W,4) or (F,H,W,4)")
        if self.image.ndim == 3:
            write(path, png(self.image))
            return
        chosen = range(len(self.image)) if numbers is None else numbers
        given = converted([*chosen], "numbers", "float64", 1)[1].tolist()
        if len(given) != len(self.image):
            raise ValueError(
                f"numbers: {len(given)}, the batch has {counted(len(self.image), 'frame')}"
            )
        different: dict[int, None] = {}  # else one picture would replace another
        for at, number in enumerate(given):
            if not number.is_integer():
                raise ValueError(f"numbers[{at}] is {number}, expected a whole number")
            if int(number) in different:
                raise ValueError(f"numbers[{at}] is {int(number)} again")
            different[int(number)] = None
        for number, image in zip(different, self.image, strict=True):
            write(numbered(os.fsdecode(path), number), png(image))

    def _repr_png_(self) -> bytes | None:
        """For notebooks: the image, unless there is none or a batch."""
        from mmdskin.notebook import png

        image = self.image
        return None if image is None or image.ndim != 3 else png(image)


class Camera(NamedTuple):
    """A camera for render(). Each member may have an axis of frames in front.
    position, up: (3,) in MMD's left-handed space
    target: (3,) the point in the center of the picture
    fov: vertical field of view in degrees
    MMD's default is Camera((0, 10, -45), (0, 10, 0), (0, 1, 0), 30).
    """

    position: ArrayLike
    target: ArrayLike
    up: ArrayLike
    fov: ArrayLike


class Light(NamedTuple):
    """The light, one or F of them. color: (3,) or (F,3), sRGB of 0 to 1; direction: (3,) or
    (F,3), in which it shines, of any length but zero.
    """

    color: NDArray[np.float32]
    direction: NDArray[np.float32]


class Shadow(NamedTuple):
    """Self-shadowing, once or in F frames. mode: () or (F,), 0 off, 1 or 2 MMD's modes;
    distance: () or (F,), as in the file.
    """

    mode: NDArray[np.uint8]
    distance: NDArray[np.float32]


class Physics(NamedTuple):
    """Settings of a simulation. MMD's own are not public; defaults follow similar programs.
    gravity: (3,), model units per second squared, or (F,3), a row for each frame from 0 on;
        linear between frames, the last row applies afterwards
    hz: steps per second, 1 to 100000. More steps make joints stiffer
    iterations: solver iterations per step, 1 to 1000
    ground: whether the plane y = 0 is solid, or the height of that plane
    additional_damping: Bullet's additional damping, which brings slow bodies to rest
    collide_connected: whether bodies connected by a joint collide
    start: first frame of the run; None: the first frame of the motion
    settle: number of steps to simulate in the start pose before the run; it begins earlier if
        all bodies are at rest
    teleport: bodies restart at their bones after a jump of more units per frame; 0: never
    gravity_noise: largest random number added to each axis of gravity in each frame
    gravity_seed: of these random numbers, 0 to 2147483647
    wind: (3,), model units per second. The linear damping of a body is its drag: one without any
        feels no wind
    """

    gravity: ArrayLike = (0.0, -98.0, 0.0)
    hz: float = 60.0
    iterations: int = 10
    ground: bool | float = True
    additional_damping: bool = True
    collide_connected: bool = True
    start: float | None = None
    settle: int = 300
    teleport: float = 0.0
    gravity_noise: float = 0.0
    gravity_seed: int = 0
    wind: ArrayLike = (0.0, 0.0, 0.0)

    @property
    def damping_extra(self) -> bool:
        """The name of additional_damping before 0.3, deprecated."""
        return self.additional_damping

    @property
    def joined_collide(self) -> bool:
        """The name of collide_connected before 0.3, deprecated."""
        return self.collide_connected


# The names before 0.3, which are deprecated. Where memory is short, iterating over a dict's items would
# crash Python 3.11.
_FORMER_NAMES = (
    ("damping_extra", "additional_damping"),
    ("joined_collide", "collide_connected"),
)


def renamed(settings: dict[str, Any], former: tuple[Any, ...] = _FORMER_NAMES) -> dict[str, Any]:
    """Keyword arguments, by default of a World or a Physics, by the names of today."""
    for old, new in former:
        if old in settings:
            if new in settings:
                raise TypeError(f"{old} is the former name of {new}: give one of them")
            warnings.warn(f"{old} is called {new}", DeprecationWarning, stacklevel=3)
            settings[new] = settings.pop(old)
    return settings


if not TYPE_CHECKING:
    _physics_new = Physics.__new__

    @functools.wraps(_physics_new)
    def _physics_of(cls, *arguments, **settings):
        return _physics_new(cls, *arguments, **renamed(settings))

    Physics.__new__ = _physics_of


class BoneTrack(NamedTuple):
    """Keys of a bone.
    frames: (n,) uint32, 30 per second
    translations: (n,3) float32 in model units, relative to the rest position
    rotations: (n,4) float32 x y z w
    interpolation: (n,4,4) uint8 from the previous key to this one, rows x, y, z,
        rotation, columns x1 y1 x2 y2 of 0 to 127
    physics: (n,) bool; False: until the next key, rigid bodies of the bone follow it
    stored: (n,80) uint8, 16 bytes of rotation and 64 of interpolation as the file has them,
        or None if these are the bytes that Motion.save() makes of the other members. Files
        differ in bytes that mean the same: those of keys that still say the same are written
    """

    name: str
    frames: NDArray[np.uint32]
    translations: NDArray[np.float32]
    rotations: NDArray[np.float32]
    interpolation: NDArray[np.uint8]
    physics: NDArray[np.bool_] | None = None
    stored: NDArray[np.uint8] | None = None


class MorphTrack(NamedTuple):
    """Keys of a morph. frames: (n,) uint32; weights: (n,) float32."""

    name: str
    frames: NDArray[np.uint32]
    weights: NDArray[np.float32]


class CameraTrack(NamedTuple):
    """Keys of the camera.
    frames: (n,) uint32
    distances: (n,) float32 in model units, negative in front of the target
    targets: (n,3) float32; rotations: (n,3) float32 Euler angles in radians
    interpolation: (n,6,4) uint8, rows x, y, z, rotation, distance, view angle, columns
        x1 y1 x2 y2
    view_angles: (n,) float32 degrees
    perspective: (n,) bool
    """

    frames: NDArray[np.uint32]
    distances: NDArray[np.float32]
    targets: NDArray[np.float32]
    rotations: NDArray[np.float32]
    interpolation: NDArray[np.uint8]
    view_angles: NDArray[np.float32]
    perspective: NDArray[np.bool_]


class LightTrack(NamedTuple):
    """Keys of the light. frames: (n,) uint32; colors, directions: (n,3) float32."""

    frames: NDArray[np.uint32]
    colors: NDArray[np.float32]
    directions: NDArray[np.float32]


class ShadowTrack(NamedTuple):
    """Keys of self-shadowing.
    frames: (n,) uint32
    modes: (n,) uint8 of 0 to 2; distances: (n,) float32 as in the file
    """

    frames: NDArray[np.uint32]
    modes: NDArray[np.uint8]
    distances: NDArray[np.float32]


class PropertyTrack(NamedTuple):
    """Visibility and IK switches, each valid until the next key.
    frames: (n,) uint32; visible: (n,) bool
    ik_names: tuple of k names; ik_enabled: (n,k) bool
    """

    frames: NDArray[np.uint32]
    visible: NDArray[np.bool_]
    ik_names: tuple[str, ...]
    ik_enabled: NDArray[np.bool_]


class Unmatched(NamedTuple):
    """Names of a motion that a model lacks: tuples of str for bone tracks, morph tracks and
    IK switches.
    """

    bones: tuple[str, ...]
    morphs: tuple[str, ...]
    ik: tuple[str, ...]


class FitReport(NamedTuple):
    """How well a motion was fitted: the number of its keys; worst, the largest distance of a
    vertex from where it should be (model units; vertices that MMD's physics moves are not
    compared); notes, a tuple of (name of a bone or morph, what was left out or lost), with "" as
    the name where it is about the whole motion.
    """

    keys: int
    worst: float
    notes: tuple[tuple[str, str], ...]


class Backend(NamedTuple):
    """A skinning backend.
    name: "gl" or "cpu"
    available: bool
    device: name of the renderer or kernel; None if not available
    reason: why it is not available; None if it is
    """

    name: Literal["gl", "cpu"]
    available: bool
    device: str | None
    reason: str | None


def values_of(kind: Any, record: Any, path: str) -> tuple[Any, ...]:
    """The values of all fields of a record that is given as a sequence of them, as a dict by their names, or
    as an object with these attributes. Fields with a default may be left out. `path` is what errors
    begin with."""
    is_dict = isinstance(record, dict)
    given = record if is_dict else _by_field(kind, record)
    values = kind._field_defaults | given
    # Where memory is short, a comprehension would leak the arguments that it uses.
    missing = list(filterfalse(values.__contains__, kind._fields))
    unknown = list(filterfalse(kind._fields.__contains__, given))
    if not missing and not unknown:
        return tuple(map(values.get, kind._fields))
    described = f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}"
    if not is_dict:
        raise TypeError(f"{path}: expected {described}, not {type(record)!r}")
    if missing:
        raise TypeError(f"{path}: the field {missing[0]!r} of {described} is missing")
    raise TypeError(f"{path}: {described} has no field {unknown[0]!r}")


def _by_field(kind: Any, record: Any) -> dict[str, Any]:
    """The values of a sequence or an object. Of what is no record, or has too many, one is of no field."""
    if isinstance(record, str):
        return {"": record}
    try:
        given = tuple(record)
    except TypeError:
        given = None
    if given is not None:
        return dict(zip_longest(kind._fields[: len(given)], given, fillvalue=""))
    found = {}
    for name in kind._fields:
        if hasattr(record, name):
            found[name] = getattr(record, name)
    return found


for _class in list(vars().values()):
    if isinstance(_class, type) and issubclass(_class, tuple):
        _class.__module__ = "mmdskin"  # where it is exported

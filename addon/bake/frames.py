# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of a bake, and the frames that they choose."""

from itertools import pairwise
from typing import Any, NamedTuple

from bpy.types import Scene

from ..blender import playhead


class Options(NamedTuple):
    target: str
    frames: tuple  # frame numbers to bake, in order; fractions where frames have several samples
    moves: bool  # a frame range, not only the current pose
    stretch: float = 1.0  # frames of animation per frame of the scene (render.frame_map_old, _new)
    step: int = 1
    samples: int = 1  # per frame; 1 if the step is larger
    folder: str = ""  # of mesh caches; empty means next to the .blend
    normals: bool | None = None  # MMD's normals in mesh caches; None means each model's own setting
    driven: bool = True  # corrective keys are driven by joints, not keyframed
    max_keys: int = 40  # driven, of a mesh
    tolerance: float = 0.0  # error in Blender units below which no keys are added

    @property
    def drives(self) -> bool:
        """Whether joints drive the keys."""
        return self.target == "CORRECTIVE" and self.driven

    @property
    def visited(self) -> list[float]:
        """The frames, and those half-way between them, at which driven keys are fitted, too."""
        pairs = pairwise(self.frames) if self.drives else ()
        return sorted({*self.frames, *((one + other) // 2 for one, other in pairs)})

    @property
    def spacing(self) -> float:
        """Frames from one baked frame to the next."""
        return self.step / self.samples


def range_of(settings: Any, scene: Scene) -> tuple[int, int]:
    """The first and last frame that a model's settings, or those of an operator, choose."""
    if settings.range == "CUSTOM":
        return settings.frame_start, settings.frame_end
    return playhead.frame_range(scene)


def in_range(first: int, last: int, step: int, samples: int) -> tuple[float, ...]:
    """The frames of a range, or with `samples` the parts of frames."""
    if samples == 1:
        return tuple(range(first, last + 1, step))
    count = (last - first) * samples + 1
    return tuple(first + number / samples for number in range(count))


def count_of(settings: Any, scene: Scene) -> int:
    """The number of frames that a model's settings choose: panels cannot list a million at each redraw."""
    first, last = range_of(settings, scene)
    return max((last - first) * settings.samples // settings.step + 1, 0)


def name_of(frame: float) -> str:
    """A number with at least four digits, and decimals if it has any: 0120, 0120.5."""
    return f"{frame:08.3f}".rstrip("0").rstrip(".")

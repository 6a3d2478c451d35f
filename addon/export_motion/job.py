# SPDX-License-Identifier: GPL-3.0-or-later
"""An export as a job: read the scene frame by frame, find keys, and write files only at the end."""

from collections.abc import Generator, Sequence
from typing import Protocol

import bpy

from ..blender.pose_evaluation import PoseFrames
from ..operator_base import modal_job
from ..physics import baked, runs
from . import files
from .report import Result
from .timing import Timing


class Export(Protocol):
    """A file to be written."""

    path: str

    @property
    def needs_frames(self) -> bool:
        """Whether the scene has to be read frame by frame."""

    @property
    def simulated(self) -> Sequence[baked.Baked]:
        """What is posed with hair that physics moves."""

    @property
    def objects(self) -> list[bpy.types.Object]:
        """What `read` reads."""

    def read(self, depsgraph: bpy.types.Depsgraph) -> None:
        """Read the scene at its current frame."""

    def fit(self) -> modal_job.Steps[Result]:
        """Find keys."""


class Job(modal_job.Job):
    """Closing it early writes nothing. Afterwards `results` has one for each export."""

    def __init__(
        self, context: bpy.types.Context, exports: Sequence[Export], timing: Timing, names: str
    ) -> None:
        self._context, self._exports, self._timing, self._names = context, exports, timing, names
        self.results: list[Result] = []
        self._scene_frames: PoseFrames | runs.Runs | None = None
        reads = any(export.needs_frames for export in exports)
        super().__init__(self._run(), timing.length if reads else 1)

    def show(self) -> None:
        if self._scene_frames is not None:
            self._scene_frames.show()

    def _run(self) -> Generator[modal_job.Progress, None, None]:
        sources = [source for export in self._exports for source in export.simulated]
        yield from baked.simulate(self._context, sources, self._begin)
        reading = [export for export in self._exports if export.needs_frames]
        if reading:
            yield from self._read(reading)
        for export in self._exports:
            self.results.append((yield from export.fit()))
        files.write([(result.path, self._saved(result)) for result in self.results])

    def _begin(self, shown: PoseFrames | runs.Runs) -> None:
        self._scene_frames = shown

    def _saved(self, result: Result) -> bytes:
        saved = files.saved(result.path, result.motion, names=self._names)
        return result.finish(saved) if result.finish is not None else saved

    def _read(self, exports: Sequence[Export]) -> Generator[modal_job.Progress, None, None]:
        read = [obj for export in exports for obj in export.objects]
        with PoseFrames(self._context, read) as frames:
            self._begin(frames)
            for done, frame in enumerate(self._timing.scene_frames.tolist(), 1):
                frames.go_to(frame)
                depsgraph = self._context.evaluated_depsgraph_get()
                for export in exports:
                    export.read(depsgraph)
                yield modal_job.frames_done(done, self.frames)
        self._scene_frames = None

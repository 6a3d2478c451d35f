# SPDX-License-Identifier: GPL-3.0-or-later
"""A long job of an operator, with progress in the window; Esc cancels it."""

import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

import bpy
from bpy.app.handlers import persistent

from ..blender import registration
from ..blender.native import mmdskin
from ..blender.pose_evaluation import PoseFrames
from ..blender.translations import tr, tr_count
from ..blender.user_error import UserError, cancelled, cancels

_TICK = 0.02  # seconds between timer events
_WORK = 0.1  # minimum seconds of work for each: after it, the window is drawn
_STEPS = 1000  # of the progress indicator
_Result = TypeVar("_Result")


class Progress(NamedTuple):
    fraction: float  # from 0 to 1
    text: str
    read: PoseFrames | None = None  # how the scene is read: it must `show` before it is drawn


def frames_done(done: int, total: int, read: PoseFrames | None = None) -> Progress:
    text = tr("MMD Skin: frame {done} of {total}   Esc: cancel", done=done, total=total)
    return Progress(done / total, text, read)


Steps = Generator[Progress, None, _Result]  # of work that returns a result


def read_frames(
    context: bpy.types.Context,
    objects: list[bpy.types.Object],
    frames: Sequence[float],
    read: Callable[[bpy.types.Depsgraph], _Result],
) -> Steps[list[_Result]]:
    """What `read` returns at each frame of the scene; it reads the poses of the objects."""
    found = []
    with PoseFrames(context, objects) as visited:
        for done, frame in enumerate(frames, 1):
            visited.go_to(frame)
            found.append(read(context.evaluated_depsgraph_get()))
            yield frames_done(done, len(frames), visited)
    return found


class Job:
    """Each of the `steps` works for a moment and yields the Progress; closing them cancels the job.

    Afterwards, `result` is what they returned.
    """

    result: Any = None

    def __init__(self, steps: Steps[Any], frames: int) -> None:
        self.steps, self.frames = self._checked(steps), frames

    def _checked(self, steps: Steps[Any]) -> Steps[None]:
        try:
            self.result = yield from steps
        except ReferenceError as error:
            raise UserError("The model was removed in the meantime") from error
        except MemoryError as error:
            raise UserError(
                "Not enough memory for {frames}: shorten the frame range",
                frames=tr_count("1 frame", "{count} frames", self.frames),
            ) from error

    def finish(self) -> Any:
        """Do all steps that are left, while the window waits; returns the result."""
        for _ in self.steps:
            pass
        return self.result


def fitted(fit: "mmdskin.Fit[_Result]") -> Steps[_Result]:
    """The result of a fit of the module, in steps, between which the window is drawn."""
    for fraction in fit:
        percent = int(100 * fraction)
        yield Progress(
            fraction, tr("MMD Skin: finding keys, {percent}%   Esc: cancel", percent=percent)
        )
    return fit.result()


_running: dict[Job, Any] = {}  # job in a window: its timer


class ModalJob:
    """Base class of an operator that runs the job from `_start(context)`.

    `_report(job)` reports a finished job, `_stopped()` a cancelled one.
    """

    _job: Any = None

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        return self._finish(self._start(context))

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        try:
            job = self._start(context)
            if job.frames == 1 or bpy.app.background or context.window is None:
                return self._finish(job)
        except UserError as error:
            return cancelled(self, error)
        self._begin(context, job)
        return {"RUNNING_MODAL"}

    def _finish(self, job: Job) -> set[Any]:
        job.finish()
        return self._report(job)

    def _begin(self, context: bpy.types.Context, job: Job) -> None:
        self._job = job
        manager = context.window_manager
        _running[job] = manager.event_timer_add(_TICK, window=context.window)
        manager.progress_begin(0, _STEPS)
        manager.modal_handler_add(self)  # type: ignore[arg-type]  # an operator's other base

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        if self._job not in _running:
            return {"CANCELLED"}
        if event.type == "ESC":
            self.cancel(context)
            self._stopped()
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        end = time.perf_counter() + _WORK
        try:
            progress = next(self._job.steps, None)
            while progress is not None and time.perf_counter() < end:
                progress = next(self._job.steps, None)
        except UserError as error:
            self.cancel(context)
            return cancelled(self, error)
        except BaseException:
            self.cancel(context)
            raise
        if progress is None:
            self.cancel(context)
            return self._report(self._job)
        if progress.read is not None:
            progress.read.show()
        context.window_manager.progress_update(int(progress.fraction * _STEPS))
        context.workspace.status_text_set(progress.text)
        return {"RUNNING_MODAL"}

    def cancel(self, context: bpy.types.Context) -> None:
        if self._job in _running:
            _end(self._job, context)


class AskedJob(ModalJob):
    """A ModalJob that asks for its options first: `_ask`, in place of `invoke`, opens a dialog or the
    file browser, and Blender calls `execute` afterwards. A script waits until the job is done."""

    _was_asked = False

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        self._was_asked = True
        return self._ask(context, event)

    def execute(self, context: bpy.types.Context) -> set[Any]:
        was_asked, self._was_asked = self._was_asked, False
        if was_asked:
            return ModalJob.invoke(self, context, None)
        return ModalJob.execute(self, context)


def _end(job: Job, context: bpy.types.Context) -> None:
    job.steps.close()
    context.window_manager.event_timer_remove(_running.pop(job))
    context.window_manager.progress_end()
    if context.workspace is not None:
        context.workspace.status_text_set(None)


@persistent
def _stop(*_: object) -> None:
    """Cancel all running jobs, when the file is closed or the add-on is disabled."""
    for job in list(_running):
        _end(job, bpy.context)
        for workspace in bpy.data.workspaces:
            workspace.status_text_set(None)


register, unregister = registration.handlers([("load_pre", _stop)], afterwards=_stop)

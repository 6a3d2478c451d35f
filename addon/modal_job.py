# SPDX-License-Identifier: GPL-3.0-or-later
"""Work of an operator that a window shows the Progress of, until Esc ends it."""

import time
from collections.abc import Generator
from typing import Any, NamedTuple

import bpy
from bpy.app.handlers import persistent

from .translations import tr
from .user_error import UserError, cancelled

_TICK = 0.02  # seconds between steps, and at least so long a step works, in a window
_STEPS = 1000  # of the progress that is shown


class Progress(NamedTuple):
    share: float  # from 0 to 1
    text: str


def frames_done(done: int, total: int) -> Progress:
    text = tr("MMD Skin: frame {done} of {total}   Esc: cancel", done=done, total=total)
    return Progress(done / total, text)


class Job:
    """Iterated: each step works for a moment and gives the Progress; `close` drops it half-way."""

    def __init__(self, steps: Generator[Progress, None, None], frames: int) -> None:
        self._steps, self.frames = steps, frames

    def __iter__(self):
        return self

    def __next__(self) -> Progress:
        try:
            return next(self._steps)
        except ReferenceError as error:
            raise UserError("The model was removed meanwhile") from error
        except MemoryError as error:
            raise UserError(
                "There is not enough memory for {count} frames", count=self.frames
            ) from error

    def close(self):
        self._steps.close()


_running: dict[Job, Any] = {}  # each job in a window: its timer


class ModalJob:
    """An operator of the job that `_start(context)` gives.

    `_report(job)` tells of one that is done, `_stopped()` of one that is not.
    """

    _job: Any = None

    def execute(self, context):
        try:
            return self._finish(self._start(context))
        except UserError as error:
            return cancelled(self, error)

    def invoke(self, context, event):
        try:
            job = self._start(context)
            if job.frames == 1 or not _in_window(context):
                return self._finish(job)
        except UserError as error:
            return cancelled(self, error)
        self._begin(context, job)
        return {"RUNNING_MODAL"}

    def _finish(self, job):
        for _ in job:
            pass
        return self._report(job)

    def _begin(self, context, job):
        self._job = job
        manager = context.window_manager
        _running[job] = manager.event_timer_add(_TICK, window=context.window)
        manager.progress_begin(0, _STEPS)
        manager.modal_handler_add(self)

    def modal(self, context, event):
        if self._job not in _running:
            return {"CANCELLED"}
        if event.type == "ESC":
            self.cancel(context)
            self._stopped()
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        end = time.perf_counter() + _TICK
        try:
            progress = next(self._job, None)
            while progress is not None and time.perf_counter() < end:
                progress = next(self._job, None)
        except UserError as error:
            self.cancel(context)
            return cancelled(self, error)
        except BaseException:
            self.cancel(context)
            raise
        if progress is None:
            _leave(self._job, context)
            return self._report(self._job)
        context.window_manager.progress_update(int(progress.share * _STEPS))
        context.workspace.status_text_set(progress.text)
        return {"RUNNING_MODAL"}

    def cancel(self, context):
        if self._job in _running:
            self._job.close()
            _leave(self._job, context)


def _in_window(context: bpy.types.Context) -> bool:
    return not bpy.app.background and context.window is not None


def _leave(job, context):
    context.window_manager.event_timer_remove(_running.pop(job))
    context.window_manager.progress_end()
    if context.workspace is not None:
        context.workspace.status_text_set(None)


@persistent
def _stop(*_):
    """Cancel the jobs in windows: they end with their file, and with the add-on."""
    for job in list(_running):
        job.close()
        _leave(job, bpy.context)
        for workspace in bpy.data.workspaces:
            workspace.status_text_set(None)


def register():
    if _stop not in bpy.app.handlers.load_pre:
        bpy.app.handlers.load_pre.append(_stop)


def unregister():
    _stop()
    if _stop in bpy.app.handlers.load_pre:
        bpy.app.handlers.load_pre.remove(_stop)

# SPDX-License-Identifier: MIT
"""Fit: a fit that its caller runs in steps."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import mmdskin
from mmdskin import fitting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Fit(Generic[_Result]):
    """A fit that a program with a window runs in steps, without a thread.

        fit = mmdskin.Fit(mmdskin.Motion.from_poses, model, pose, tolerance=0.01)
        for share in fit:
            ...  # draw the progress; leave the loop to cancel
        motion, report = fit.result()

    function: Motion.from_poses, from_locals, from_camera or from_skeleton, whose arguments follow.

    An iterator: each step works for some hundredths of a second, and gives the share that is done,
    from 0 to 1, which never falls. The first one also does what comes before a fit: from_skeleton()
    retargets. Nothing runs between steps, so a Fit that is dropped is cancelled. Threads may share
    it; their steps wait for each other.

    Raises TypeError for other functions, and what the function raises, here or in a step.
    """

    def __init__(
        self,
        function: Callable[_Arguments, _Result],
        /,
        *args: _Arguments.args,
        **kwargs: _Arguments.kwargs,
    ) -> None:
        motion = mmdskin.Motion
        names = ("from_poses", "from_locals", "from_camera", "from_skeleton")
        if function not in [getattr(motion, name) for name in names]:
            raise TypeError(f"function: expected Motion.{', '.join(names)}, not {function!r}")
        name = function.__name__
        start = _skeleton_steps if name == "from_skeleton" else getattr(fitting, name)
        self._steps: Iterator[float] = start(*args, **kwargs)
        self._results: list[_Result] = []
        self._lock = RLock()  # a generator refuses a second thread

    def __iter__(self) -> Fit[_Result]:
        return self

    def __next__(self) -> float:
        with self._lock:
            try:
                return next(self._steps)
            except StopIteration as end:
                if end.value is not None:
                    self._results.append(end.value)
                if not self._results:
                    raise RuntimeError("fit: an earlier exception has ended it") from None
                raise

    def result(self) -> _Result:
        """What the function returns; runs the steps that are left."""
        for _ in self:
            pass
        return self._results[0]


# The functions, all steps at once.


def from_poses(_type: object, /, *args: Any, **kwargs: Any) -> Any:
    return _finished(fitting.from_poses(*args, **kwargs))


def from_locals(_type: object, /, *args: Any, **kwargs: Any) -> Any:
    return _finished(fitting.from_locals(*args, **kwargs))


def from_camera(_type: object, /, *args: Any, **kwargs: Any) -> Any:
    return _finished(fitting.from_camera(*args, **kwargs))


def from_skeleton(_type: object, /, *args: Any, **kwargs: Any) -> Any:
    return _finished(_skeleton_steps(*args, **kwargs))


def _finished(steps: Iterator[float]) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def _skeleton_steps(*args: Any, **kwargs: Any) -> Iterator[float]:
    from mmdskin.retargeting import mmd_controls

    return mmd_controls.fit_skeleton(*args, **kwargs)

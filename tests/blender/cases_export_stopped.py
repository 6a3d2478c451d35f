# SPDX-License-Identifier: GPL-3.0-or-later
"""Esc while an export finds keys: no thread goes on, nothing is written, and the scene is as before."""

import os
import threading
import time

import bpy
import fingerprint
import numpy as np
from cases_motion import MotionCase, addon

FRAMES = 600_000  # of which a fit takes many seconds


class LongExport:
    """As `export_motion.job.Export`: bones that tremble."""

    needs_frames, objects = False, ()

    def __init__(self, path, model):
        self.path, self._model = path, model
        self.ended = None

    def fit(self):
        try:
            shape = (FRAMES, len(self._model.bones), 3)
            moves = np.random.default_rng(1).standard_normal(shape, np.float32)
            turns = np.tile(np.float32([0, 0, 0, 1]), (*moves.shape[:2], 1))
            return addon().blender.native.load().Motion.from_locals(self._model, moves, turns)
        except BaseException as error:
            self.ended = type(error)
            raise


class Stopped(MotionCase):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder.name, "out.vmd")
        jobs = addon().export_motion
        self.export = LongExport(self.out, self.loaded()[0])
        timing = jobs.timing.Timing(1, 0, FRAMES, 1, 1)
        self.job = jobs.job.Job(bpy.context, [self.export], timing, "stop")

    def test_escape_ends_the_thread_at_once(self):
        before, threads = fingerprint.of_file(), threading.enumerate()
        for _ in range(20):
            self.assertIn("finding keys", next(self.job).text)
        self.assertEqual(len(threading.enumerate()), len(threads) + 1)
        time.sleep(0.5)  # in the module by then
        start = time.perf_counter()
        self.job.close()
        self.assertEqual(threading.enumerate(), threads)
        self.assertIs(self.export.ended, KeyboardInterrupt)
        self.assertLess(time.perf_counter() - start, 3)  # .1 on an idle machine
        self.assertFalse(os.path.exists(self.out))
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_options_are_those_of_the_start(self):
        """Blender frees an operator that ends; the job has a copy."""
        operators = addon().export_motion.operators
        kind = operators.MMDSKIN_OT_export_motion
        values = {name: f"value of {name}" for name in kind.shown}
        operator = type("Operator", (), {"shown": kind.shown, **values})()
        options = kind._options(operator)
        operator.tolerance = "changed"
        self.assertEqual(vars(options), values)

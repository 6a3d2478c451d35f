# SPDX-License-Identifier: GPL-3.0-or-later
"""Esc while an export finds keys: no work goes on, nothing is written, and the scene is as before."""

import os
import threading
import weakref
from unittest import mock

import bpy
import fingerprint
import numpy as np
from cases_motion import MotionCase, addon

FRAMES = 600_000  # of which a fit takes many seconds


class LongExport:
    """As `export_motion.job.Export`: bones that tremble."""

    needs_frames, objects, simulated = False, (), ()

    def __init__(self, path, model):
        self.path, self._model = path, model

    def fit(self, rows):
        shape = (FRAMES, len(self._model.bones), 3)
        moves = np.random.default_rng(1).standard_normal(shape, np.float32)
        turns = np.tile(np.float32([0, 0, 0, 1]), (*moves.shape[:2], 1))
        make = addon().blender.native.load().Motion.from_locals
        return addon().export_motion.job.made(make, self._model, moves, turns)


class Stopped(MotionCase):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder.name, "out.vmd")
        jobs = addon().export_motion
        self.export = LongExport(self.out, self.loaded()[0])
        timing = jobs.timing.Timing(1, FRAMES, 0, FRAMES, 1, 1)
        self.job = jobs.job.of(bpy.context, [self.export], timing, "stop")

    def test_escape_ends_the_search_for_keys_at_once(self):
        before, threads = fingerprint.of_file(), threading.enumerate()
        fit, fits = addon().blender.native.load().Fit, []
        step = fit.__next__

        def counted(fit):
            fits.append(weakref.ref(fit))
            return step(fit)

        with mock.patch.object(fit, "__next__", counted):
            fractions = []
            for number in range(20):
                progress = next(self.job.steps)
                fractions.append(progress.fraction)
                self.assertEqual(len(fits), number + 1)  # a step of the fit for each of the job
                self.assertIn(f"finding keys, {int(100 * progress.fraction)}%", progress.text)
            self.assertEqual(fractions, sorted(fractions))
            self.assertTrue(0 < fractions[-1] < 1, fractions)
            self.assertEqual(threading.enumerate(), threads)
            self.job.steps.close()
            self.assertIsNone(next(self.job.steps, None))
        self.assertEqual(len(fits), 20)
        self.assertIsNone(fits[0]())  # which ends its work
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

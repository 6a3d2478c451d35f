# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions as a PC2 file that a Mesh Cache modifier plays, in place of the armature modifier.

Frames are streamed to a file beside the final one, which takes its place when all are there. Clear
Bake leaves the file where it is: another file may use it.
"""

import concurrent.futures
import contextlib
import errno
import os
import struct

import numpy as np

from .. import blender_versions, cache_files, scene_model
from ..preview import nodes
from ..translations import tr
from . import record

_HEADER = struct.Struct("<12siiffi")


class MeshCache:
    """The cache of one mesh, and another for its normals where these are baked, too."""

    def __init__(self, part, bones, options):
        self.part, self.options = part, options
        self.warnings, self.notes = [], []
        self._positions = _File(cache_files.path(part.obj, ".pc2", options.folder))
        self._files = [self._positions]
        self._normals = None
        if part.skinner.normals is not None:
            self._bake_normals()

    def _bake_normals(self):
        if self.part.skinner.normals.domain == "POINT":
            path = cache_files.path(self.part.obj, ".normals.pc2", self.options.folder)
            self._normals = _File(path)
            self._files.append(self._normals)
        else:
            self.warnings.append(
                tr(
                    "'{name}' has several normals at one vertex, as at sharp edges, which a mesh"
                    " cache cannot hold: it shows Blender's normals",
                    name=self.part.obj.name,
                )
            )

    def adds_to(self, state):
        return False

    def start(self):
        frames, count = self.options.frames, self.part.skinner.vertex_count
        header = _HEADER.pack(b"POINTCACHE2\0", 1, count, frames[0], self.options.step, len(frames))
        for file in self._files:
            file.start(header)

    def add(self, block):
        self._positions.put(np.ascontiguousarray(block.positions, "<f4"))
        if self._normals:
            self._normals.put(np.ascontiguousarray(block.normals, "<f4"))

    def finish(self):
        for file in self._files:
            file.finish()
        return ()

    def write(self, state):
        obj = self.part.obj
        modifier = self._play(self._positions, "MMD Skin Cache")
        state["added"] = modifier.name
        added = [modifier]
        if self._normals:
            # The first cache moves the vertices to where nodes take their positions for normals.
            shown = self._play(self._normals, "MMD Normals Cache")
            reader = obj.modifiers.new("MMD Normals Taken", "NODES")
            giver = obj.modifiers.new("MMD Normals", "NODES")
            added = [shown, reader, modifier, giver]
            state["normals"] = [shown.name, reader.name, giver.name]
        first = scene_model.armature_modifiers(obj, self.part.armature)[0]
        place = obj.modifiers.find(first.name) + 1
        for number, one in enumerate(added):
            blender_versions.move_modifier(obj, one, place + number)
        if self._normals:
            nodes.set_kind(reader, nodes.READING)
            nodes.set_kind(giver, nodes.kind_with_normals(obj, giver))
        record.switch_armature_off(obj, self.part.armature, state)

    def close(self, done):
        """Drop what is temporary; without `done` the files are again what they were."""
        for file in self._files:
            file.close(done)

    def _play(self, file, name):
        """A new modifier that puts the vertices where the file says."""
        options = self.options
        modifier = self.part.obj.modifiers.new(name, "MESH_CACHE")
        modifier.cache_format = "PC2"
        modifier.filepath = cache_files.shown(file.path)
        modifier.deform_mode, modifier.interpolation = "OVERWRITE", "LINEAR"
        modifier.play_mode, modifier.time_mode = "SCENE", "FRAME"
        modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
        # Blender shows number `frame_scale * time - frame_start` of the file.
        modifier.frame_scale = 1 / (options.step * options.stretch)
        modifier.frame_start = options.frames[0] / options.step
        return modifier


class _File:
    """A file that is written while frames are made, and takes its place when all are there."""

    def __init__(self, path):
        self.path = path
        self._new, self._old = (f"{path}.{os.getpid()}.{end}" for end in ("new", "old"))
        self._file = self._writer = self._written = None
        self._saved = self._placed = False

    def start(self, header):
        try:
            if os.path.isdir(self.path):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            self._file = open(self._new, "xb")  # noqa: SIM115
        except OSError as error:
            raise self._error(error) from error
        # Writing takes as long as skinning, and waits for the disk: both at once.
        self._writer = concurrent.futures.ThreadPoolExecutor(1)
        self.put(header)

    def put(self, data):
        """Write when what came before has been written."""
        try:
            if self._written:
                self._written.result()
        except OSError as error:
            raise self._error(error) from error
        self._written = self._writer.submit(self._file.write, data)

    def finish(self):
        try:
            self._written.result()
            self._file.close()
            if os.path.exists(self.path):
                os.replace(self.path, self._old)
                self._saved = True
            os.replace(self._new, self.path)
            self._placed = True
        except OSError as error:
            raise self._error(error) from error

    def close(self, done):
        """Drop what is temporary; without `done` the file is again what it was."""
        if self._writer:
            self._writer.shutdown()
        with contextlib.suppress(OSError):
            if self._file:
                self._file.close()
        if not done and self._placed:
            os.remove(self.path)
        if not done and self._saved:
            os.replace(self._old, self.path)
        for leftover in (self._new, self._old):
            with contextlib.suppress(OSError):
                os.remove(leftover)

    def _error(self, error):
        return cache_files.unwritable(self.path, error)

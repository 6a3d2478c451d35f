# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers that follow the sliders of a morph and of the groups that contain it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bpy.types import ID, Object, bpy_struct

from ...blender import actions, drivers
from ...blender.translations import tr
from ...scene import sliders

if TYPE_CHECKING:
    import mmdskin

_LONGEST = 255  # characters of a driver expression


class Weights:
    def __init__(
        self,
        rig: Object,
        mesh: ID,
        morphs: "tuple[mmdskin.Morph, ...]",
        properties: dict[int, str],
        key_names: dict[int, str],
        warnings: list[str],
    ) -> None:
        """`properties` and `key_names` are names of sliders by morph index. Drivers have the shape keys
        of the mesh by the mesh, see `drivers.add_keys`."""
        self._warnings, self._morphs = warnings, morphs
        self._sliders = {
            number: (rig, sliders.path(name)) for number, name in properties.items()
        } | {
            number: (mesh, f"shape_keys.{actions.value_path(name)}")
            for number, name in key_names.items()
        }
        self._movers = {number: [(number, 1.0)] for number in self._sliders}
        for number, morph in enumerate(morphs):
            if morph.kind == "group" and number in self._sliders:
                for child, ratio in zip(morph.indices, morph.values[:, 0], strict=True):
                    self._movers.setdefault(int(child), []).append((number, float(ratio)))

    def drive(
        self, owner: bpy_struct, path: str, morphs: list[int], formula: Callable, index: int = -1
    ) -> None:
        """Drive a property by morphs, given by index.

        `formula` turns expressions of their weights into the driver's expression.
        """
        variables: dict[int, str] = {}
        weights = [self._weight(number, variables) for number in morphs]
        read = {name: self._sliders[slider] for slider, name in variables.items()}
        expression = formula(weights)
        if len(expression) <= _LONGEST:
            drivers.drive(owner, path, expression, index, **read)
        else:
            text = tr(
                "{count} morphs affect one value, more than a driver can handle: {names}",
                count=len(morphs),
                names=", ".join(self._morphs[number].name for number in morphs),
            )
            self._warnings.append(text)

    def _weight(self, number: int, variables: dict) -> str:
        terms = []
        for slider, ratio in self._movers[number]:
            name = variables.setdefault(slider, f"v{len(variables)}")
            terms.append(name if ratio == 1 else f"{ratio:.6g}*{name}")
        return "+".join(terms)

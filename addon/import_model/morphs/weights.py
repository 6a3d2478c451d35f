# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers that follow sliders: of a morph, and of the groups that it is in."""

from ... import actions, sliders
from ...translations import tr

_LONGEST = 255  # letters of a driver's expression


class Weights:
    def __init__(self, rig, shape_keys, morphs, properties, key_names, report):
        """`properties` and `key_names` hold sliders, by the number of their morph."""
        self._report, self._morphs = report, morphs
        self._places = {
            number: ("OBJECT", rig, sliders.path(name)) for number, name in properties.items()
        } | {
            number: ("KEY", shape_keys, actions.value_path(name))
            for number, name in key_names.items()
        }
        self._movers = {number: [(number, 1.0)] for number in self._places}
        for number, morph in enumerate(morphs):
            if morph.kind == "group" and number in self._places:
                for child, ratio in zip(morph.indices, morph.values[:, 0], strict=True):
                    self._movers.setdefault(int(child), []).append((number, float(ratio)))

    def drive(self, owner, path, morphs, formula, index=-1):
        """Let a property follow morphs, given by number.

        `formula` makes the driver's expression of an expression for the weight of each.
        """
        variables: dict[int, str] = {}
        weights = [self._weight(number, variables) for number in morphs]
        places = {name: self._places[slider] for slider, name in variables.items()}
        expression = formula(weights)
        if len(expression) <= _LONGEST:
            drive(owner, path, index, places, expression)
        else:
            self._report.warn(
                tr(
                    "{count} morphs act on one value, more than a driver can hold: {names}",
                    count=len(morphs),
                    names=", ".join(self._morphs[number].name for number in morphs),
                )
            )

    def _weight(self, number, variables):
        terms = []
        for slider, ratio in self._movers[number]:
            name = variables.setdefault(slider, f"v{len(variables)}")
            terms.append(name if ratio == 1 else f"{ratio:.6g}*{name}")
        return "+".join(terms)


def drive(owner, path, index, places, expression):
    """A driver of simple terms, which Blender evaluates without Python."""
    driver = owner.driver_add(path, index).driver
    driver.type = "SCRIPTED"
    for name, (kind, block, data_path) in places.items():
        variable = driver.variables.new()
        variable.name, variable.type = name, "SINGLE_PROP"
        target = variable.targets[0]
        target.id_type, target.id, target.data_path = kind, block, data_path
    driver.expression = expression

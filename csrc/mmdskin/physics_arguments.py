# SPDX-License-Identifier: MIT
"""What World(), Simulation() and physics= take, checked and as the extension module reads it."""

from __future__ import annotations

import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

import mmdskin
from mmdskin.argument import check_model, check_motion, integer, number
from mmdskin.array_arguments import check_shape, converted, frozen
from mmdskin.records import renamed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from mmdskin import Joint, Model, Motion, Physics, RigidBody

_MOST_ITERATIONS, _MOST_SETTLE = 1000, 100_000  # as mmdskin.h has them
_MOST_MODELS = 1000
_MOST_SEED = 2**31 - 1
_FORMER_NAMES = (("places", "transforms"),)  # of step() and Simulation() before 0.3
# Though they have __getitem__.
_NO_LISTS: tuple[Any, ...] = (dict, MappingProxyType, np.generic, type)


def settings_of(physics: Any) -> Physics | None:
    """A Physics whose members have the types of the default's, or for gravity that changes an array (F,3)."""
    if physics is None or physics is False:
        return None
    if physics is True:
        physics = mmdskin.Physics()
    if type(physics) is not mmdskin.Physics:
        raise TypeError(f"physics: expected None, a bool or a Physics, not {type(physics)!r}")
    return mmdskin.Physics(
        _gravity(physics.gravity),
        number(physics.hz, "Physics.hz"),
        integer(physics.iterations, "Physics.iterations", 1, _MOST_ITERATIONS),
        _ground(physics.ground, "Physics.ground"),
        bool(physics.additional_damping),
        bool(physics.collide_connected),
        None if physics.start is None else number(physics.start, "Physics.start"),
        integer(physics.settle, "Physics.settle", 0, _MOST_SETTLE),
        number(physics.teleport, "Physics.teleport"),
        number(physics.gravity_noise, "Physics.gravity_noise"),
        integer(physics.gravity_seed, "Physics.gravity_seed", 0, _MOST_SEED),
        _vector(physics.wind, "Physics.wind"),
    )


def _gravity(value: ArrayLike) -> Any:
    rows = converted(value, "Physics.gravity", "float64", 5)[1]
    if rows.ndim != 2:
        return _vector(rows, "Physics.gravity")
    check_shape(rows.shape, "Physics.gravity", ("F", 3))
    if not len(rows):
        raise ValueError("Physics.gravity: no rows, expected (3,) or (F,3)")
    return frozen(rows)


def _vector(value: ArrayLike, name: str) -> tuple[float, ...]:
    numbers = converted(value, name, "float64", 5)[1]
    check_shape(numbers.shape, name, (3,))
    return tuple(numbers.tolist())


def _ground(value: Any, name: str) -> bool | float:
    """A bool, or the height if that is not 0."""
    return bool(value) if isinstance(value, (bool, np.bool_)) else number(value, name) or True


def world(_world: object, /, *arguments: Any, **settings: Any) -> tuple[Any, ...]:
    return _world_of(*arguments, **renamed(settings))


def _world_of(
    bodies: Any,
    joints: Any,
    *,
    gravity: ArrayLike = (0, -98, 0),
    hz: float = 60,
    iterations: int = 10,
    ground: bool | float = True,
    contacts: bool = True,
    additional_damping: bool = True,
    collide_connected: bool = True,
    joint_order: ArrayLike | None = None,
    wind: ArrayLike = (0, 0, 0),
) -> tuple[Any, ...]:
    """The bodies and joints, and the other arguments as world_again() takes them."""
    order = None
    if joint_order is not None:
        order = frozen(converted(joint_order, "joint_order", "int32", 5)[1])
        check_shape(order.shape, "joint_order", ("n",))
    physics = mmdskin.Physics(
        _vector(gravity, "gravity"),
        number(hz, "hz"),
        integer(iterations, "iterations", 1, _MOST_ITERATIONS),
        _ground(ground, "ground"),
        bool(additional_damping),
        bool(collide_connected),
        wind=_vector(wind, "wind"),
    )
    return bodies, joints, (physics, bool(contacts), order)


_world_of.__qualname__ = "World"  # as errors call it


def world_again(
    bodies: tuple[RigidBody, ...], joints: tuple[Joint, ...], settings: tuple[Any, ...]
) -> tuple[Any, ...]:
    """For pickling: the arguments of the same World."""
    physics, contacts, order = settings
    return (bodies, joints), {
        "gravity": physics.gravity,
        "hz": physics.hz,
        "iterations": physics.iterations,
        "ground": physics.ground,
        "contacts": contacts,
        "additional_damping": physics.additional_damping,
        "collide_connected": physics.collide_connected,
        "joint_order": order,
        "wind": physics.wind,
    }


def simulation(_simulation: object, /, *arguments: Any, **settings: Any) -> tuple[Any, ...]:
    return _simulation_of(*arguments, **renamed(settings, _FORMER_NAMES))


def _simulation_of(
    model: Any,
    motion: Any = None,
    physics: Physics | bool = True,
    *,
    ik: bool = True,
    transforms: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
) -> tuple[Any, ...]:
    """Tuples of models and motions, whether they were lists, and the other arguments."""
    settings = settings_of(physics)
    if settings is None:
        raise TypeError("physics: expected True or a Physics")
    is_list = _is_list(model)
    models: tuple[Model, ...] = tuple(model) if is_list else (model,)
    if not 1 <= len(models) <= _MOST_MODELS:
        raise ValueError(f"model: {len(models)} models, expected 1 to {_MOST_MODELS}")
    motions: tuple[Motion | None, ...] = (motion,)
    if is_list:
        motions = (None,) * len(models) if motion is None else _as_many(motion, len(models))
    for one, followed in zip(models, motions, strict=True):
        check_model(one)
        check_motion(followed)
    rows = _rows(transforms, "transforms", is_list, (len(models), 7))
    ahead = _rows(offsets, "offsets", is_list, (len(models),))
    return models, motions, is_list, settings, bool(ik), rows, ahead


_simulation_of.__qualname__ = "Simulation"


def _is_list(value: object) -> bool:
    return hasattr(value, "__getitem__") and not isinstance(value, (str, bytes, dict))


def _as_many(motions: Any, count: int) -> tuple[Any, ...]:
    if not _is_list(motions):
        raise TypeError(f"motion: expected a list like that of models, not {type(motions)!r}")
    items = tuple(motions)
    if len(items) != count:
        raise ValueError(f"motion: length {len(items)}, expected {count}, an item for each model")
    return items


def _rows(
    values: ArrayLike | None, name: str, is_list: bool, shape: tuple[int, ...]
) -> NDArray[np.float64] | None:
    if values is None:
        return None
    if not is_list:
        raise TypeError(f"{name}: expected None for one model; give it in a list")
    rows = frozen(converted(values, name, "float64", 5)[1])
    check_shape(rows.shape, name, shape)
    return rows


def simulation_again(
    _simulation: object,
    /,
    models: tuple[Model, ...],
    motions: tuple[Motion | None, ...],
    is_list: bool,
    physics: Physics,
    ik: bool,
    transforms: NDArray[np.float64] | None,
    offsets: NDArray[np.float64] | None,
) -> tuple[Any, ...]:
    """For pickling: the arguments of the same Simulation."""
    if is_list:
        return (models, motions, physics), {"ik": ik, "transforms": transforms, "offsets": offsets}
    return (models[0], motions[0], physics), {"ik": ik}


def simulation_repr(simulation: mmdskin.Simulation[Any]) -> str:
    given: Any = simulation.model
    models = given if isinstance(given, tuple) else (given,)
    title = f"of {len(models)} models" if models is given else repr(given.name)
    bodies = sum(len(model.rigid_bodies) for model in models)
    joints = sum(len(model.joints) for model in models)
    return f"<mmdskin.Simulation {title}: frame {simulation.frame}, {bodies} rigid bodies, {joints} joints>"


def split_strain(models: tuple[Model, ...], rows: NDArray[np.float64]) -> tuple[Any, ...]:
    """Copies of the rows of each model."""
    ends = np.cumsum([len(model.joints) for model in models])
    return tuple([part.copy() for part in np.split(rows, ends[:-1])])


def step(world: Any, /, *arguments: Any, **settings: Any) -> None:
    """World.step() with the former name of its argument."""
    world.step(*arguments, **renamed(settings, _FORMER_NAMES))


def push(world: Any, /, *arguments: Any, **keywords: Any) -> None:
    """World.push(), deprecated."""
    warnings.warn("push() is called apply_impulse()", DeprecationWarning, stacklevel=2)
    world.apply_impulse(*arguments, **keywords)


def step_of_models(
    count: int, translations: Any, rotations: Any, morph_weights: Any, ik: Any, physics: Any
) -> list[tuple[Any, ...]]:
    """Of each model of a Simulation of several, the arguments of step(): each is a list with an item for
    each model, or None or a bool for all."""
    lists = {
        "translations": translations,
        "rotations": rotations,
        "morph_weights": morph_weights,
        "ik": ik,
        "physics": physics,
    }
    for name, items in lists.items():
        if items is None or isinstance(items, (bool, np.bool_)):
            lists[name] = [items] * count
        elif not hasattr(items, "__getitem__") or isinstance(items, _NO_LISTS):
            raise TypeError(
                f"{name}: expected a list with an item for each model, not {type(items)!r}"
            )
        elif len(items) != count:
            raise ValueError(
                f"{name}: length {len(items)}, expected {count}, an item for each model"
            )
    rows: list[tuple[Any, ...]] = []
    for place in range(count):
        row = []
        for items in lists.values():
            row.append(items[place])
        rows.append(tuple(row))
    return rows

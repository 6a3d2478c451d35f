# SPDX-License-Identifier: MIT
"""Motion.light_at and Motion.shadow_at: linear from key to key, cuts, and the defaults."""

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf


def motion_of(light=(), shadow=()):
    return mmdskin.load_motion(mf.write_vmd(mf.Keys(light=light, shadow=shadow)))


LIGHTS = [
    mf.LightKey(10, (0.25, 0.5, 1), (0, -1, 0)),
    mf.LightKey(20, (0.75, 0.5, 0), (1, -1, 0.5)),
    mf.LightKey(21, (1, 1, 1), (0, 0, 1)),
]
SHADOWS = [mf.ShadowKey(10, 1, 0.25), mf.ShadowKey(20, 2, 0.75), mf.ShadowKey(21, 0, 0)]


def test_without_keys_the_light_is_mmds_default():
    color, direction = motion_of().light_at(5)
    np.testing.assert_array_equal(color, np.full(3, 154 / 255, np.float32))
    np.testing.assert_array_equal(direction, np.float32([-0.5, -1, 0.5]))


def test_color_and_direction_are_linear_between_keys():
    color, direction = motion_of(light=LIGHTS).light_at([15, 12.5])
    np.testing.assert_allclose(color, [[0.5, 0.5, 0.5], [0.375, 0.5, 0.75]], atol=1e-7)
    np.testing.assert_allclose(direction, [[0.5, -1, 0.25], [0.25, -1, 0.125]], atol=1e-7)


@pytest.mark.parametrize(("frame", "key"), [(-3, 0), (10, 0), (20, 1), (20.5, 1), (21, 2), (99, 2)])
def test_outside_the_keys_and_at_a_cut_a_light_is_that_of_a_key(frame, key):
    color, direction = motion_of(light=LIGHTS).light_at(frame)
    assert color.tolist() == list(LIGHTS[key].color)
    assert direction.tolist() == list(LIGHTS[key].direction)


def test_modes_of_self_shadow_are_steps_and_distances_linear():
    mode, distance = motion_of(shadow=SHADOWS).shadow_at([0, 15, 19.9, 20, 20.5, 21])
    assert mode.dtype == np.uint8 and mode.tolist() == [1, 1, 1, 2, 2, 0]
    np.testing.assert_allclose(distance, [0.25, 0.5, 0.745, 0.75, 0.75, 0], atol=1e-6)


def test_without_keys_there_is_no_self_shadow():
    mode, distance = motion_of().shadow_at(3)
    assert mode.shape == distance.shape == () and mode == 0
    np.testing.assert_allclose((0.1 - distance) * 1e5, 8875, atol=0.1)


@pytest.mark.parametrize("method", ["light_at", "shadow_at"])
@pytest.mark.parametrize("frames", [np.nan, [0, np.inf], [[0]], "x", None])
def test_frames_that_are_no_numbers_are_refused(method, frames):
    with pytest.raises((ValueError, TypeError), match="frames"):
        getattr(motion_of(), method)(frames)

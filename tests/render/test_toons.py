# SPDX-License-Identifier: MIT
"""mmdskin.toons(): the measured colors of the toon textures that models share."""

import mmdskin
import numpy as np
import pytest

WHITE = [255, 255, 255]


def test_shape_and_type():
    toons = mmdskin.toons()
    assert toons.shape == (10, 32, 4) and toons.dtype == np.uint8
    assert (toons[..., 3] == 255).all()


def test_each_call_returns_its_own_array():
    mmdskin.toons()[:] = 0
    assert mmdskin.toons().max() == 255


@pytest.mark.parametrize(
    ("number", "shadow"), [(1, [205] * 3), (2, [245, 225, 225]), (3, [154] * 3), (4, [248, 239, 235])]
)  # fmt: skip
def test_the_first_four_step_between_rows_15_and_16(number, shadow):
    rows = mmdskin.toons()[number - 1, :, :3]
    assert (rows[:16] == WHITE).all() and (rows[16:] == shadow).all()


def test_the_fifth_and_sixth_are_soft():
    fifth, sixth = mmdskin.toons()[4:6, :, :3].astype(int)
    assert (fifth[:19] == WHITE).all() and (fifth[26:] == [255, 231, 221]).all()
    assert (sixth[:8] == [255, 237, 97]).all() and (sixth[26:] == [195, 172, 3]).all()
    for rows in (fifth[18:], sixth[19:]):
        assert (np.diff(rows, axis=0) <= 0).all()


def test_the_last_four_are_white():
    assert (mmdskin.toons()[6:] == 255).all()

# SPDX-License-Identifier: MIT
"""Published models with physics and a published dance."""

import mmdskin
import pytest
from conftest import published_file

DANCERS = pytest.mark.parametrize("name", ["初音ミク.pmx", "巡音ルカ.pmx", "miku_v2.pmd"])


def dancer(name):
    model, motion = published_file(name), published_file("realize_motion.vmd")
    return mmdskin.load_model(model), mmdskin.load_motion(motion)

# SPDX-License-Identifier: MIT
"""Real models with physics, and the motion that they dance."""

import mmdskin
import pytest
from conftest import SHARED

DANCERS = pytest.mark.parametrize("name", ["初音ミク.pmx", "巡音ルカ.pmx", "miku_v2.pmd"])


def dancer(name):
    path, dance = SHARED / f"models/{name}", SHARED / "models/realize_motion.vmd"
    if not path.is_file() or not dance.is_file():
        pytest.skip(f"{path} or {dance} is not there")
    return mmdskin.load_model(path), mmdskin.load_motion(dance)

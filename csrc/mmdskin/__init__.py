# SPDX-License-Identifier: MIT
"""Deforms the meshes of MMD models exactly as MMD does.

    model = mmdskin.load_model("miku.pmx")
    motion = mmdskin.load_motion("dance.vmd")  # or: model, motion, textures = mmdskin.sample()
    out = mmdskin.skin(model, model.pose(motion, frame=120))
    out.positions, out.normals

Reads PMX 2.0 and 2.1, PMD, VMD and VPD. Computes BDEF1, BDEF2, BDEF4, SDEF and QDEF on
the CPU, or by OpenGL without a window. OpenGL is not loaded until it is requested.
"""

from mmdskin._mmdskin import *  # noqa: F403
from mmdskin._mmdskin import __version__  # noqa: F401
from mmdskin.conversion import convert  # noqa: F401
from mmdskin.frame_loop import frames  # noqa: F401
from mmdskin.texture_files import load_textures  # noqa: F401
from mmdskin.unknown_name import UnknownNameError  # noqa: F401

_LATE = {
    **dict.fromkeys(("Retargeted", "Skeleton", "load_bvh", "load_gltf", "retarget"), "retargeting"),
    **dict.fromkeys(("Sample", "sample"), "sample_files"),
    "Fit": "fit_steps",
    "framing": "camera_framing",
    "save_glb": "gltf_file",
}


def __getattr__(name: str) -> object:
    """What is loaded when it is first used."""
    if name not in _LATE:
        raise AttributeError(f'module "mmdskin" has no attribute "{name}"')
    import importlib

    module = importlib.import_module(f"mmdskin.{_LATE[name]}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})

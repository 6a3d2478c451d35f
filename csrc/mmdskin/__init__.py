# SPDX-License-Identifier: MIT
"""MMD models as arrays: morphs, IK, physics and skinning, computed as MikuMikuDance does.

    import mmdskin

    model, motion, textures = mmdskin.sample()    # a dancer to try everything with
    model = mmdskin.load_model("dancer.pmx")      # PMX or PMD
    motion = mmdskin.load_motion("dancer.vmd")    # VMD or VPD
    pose = model.pose(motion, [0, 12.5])          # of frames, also between two
    out = mmdskin.skin(model, pose)               # out.positions, out.normals: (F, V, 3)
    for frames, out in mmdskin.frames(model, motion, physics=True):
        print(frames[0], out.positions.shape)     # a dance of any length, part by part
    picture = mmdskin.render(model, model.pose(motion, 60), textures=textures, look="mmd")
    picture.save("frame.png")

Arrays are float32 in MMD's space: y is up, the model looks along -z, one unit is 8 cm.
mmdskin.convert() changes to the spaces of Blender, glTF and SMPL.

More: framing (a camera for a dance), load_textures, save_glb, Simulation and World (physics
of your own), retarget, Skeleton, load_bvh and load_gltf (other rigs), Mesh (your own
arrays), Motion.from_poses and Motion.from_tracks (back to MMD), backends (CPU and OpenGL).

help(mmdskin.skin), help(mmdskin.Model): shapes, types, units and errors of each.
The manual is linked from the package's page; `pip show -v mmdskin` prints its address.
The command line: python -m mmdskin --help
"""

from mmdskin._mmdskin import *  # noqa: F403
from mmdskin._mmdskin import __version__  # noqa: F401
from mmdskin.conversion import convert  # noqa: F401
from mmdskin.errors import BackendError, FormatError, UnknownNameError  # noqa: F401
from mmdskin.frame_loop import frames  # noqa: F401
from mmdskin.rendering import render  # noqa: F401
from mmdskin.texture_files import load_textures  # noqa: F401
from mmdskin.toon_ramps import toons  # noqa: F401

for _name in ("backends", "load_model", "load_motion", "shutdown", "skin"):
    globals()[_name].__module__ = "mmdskin"  # where they are exported: in pickles and in help()
del _name

_LATE = {
    **dict.fromkeys(("Retargeted", "Skeleton", "load_bvh", "load_gltf", "retarget"), "retargeting"),
    **dict.fromkeys(("Sample", "sample"), "sample_files"),
    "Fit": "fit_steps",
    "framing": "camera_framing",
    **dict.fromkeys(("merged", "scaled"), "model_edit"),
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

# SPDX-License-Identifier: MIT
"""Where the tests find models, motions and recorded numbers.

Numbers recorded from other programs are part of the repository (tests/reference). Published models
and motions are not, as their authors do not allow it: they lie in ../shared or in the folder that
MMDSKIN_SHARED names (docs/CONTRIBUTING.md). Where they are missing, tests that need only some model
take one of our own, which code builds; the others are skipped.
"""

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REFERENCE = ROOT / "tests/reference"
SHARED = Path(os.environ.get("MMDSKIN_SHARED", ROOT.parent / "shared"))
MODELS = SHARED / "models"


def not_shipped(path):
    """The reason why a test of this file is skipped."""
    name = Path(path).name
    return (
        f"{name} may not be shipped with mmdskin: docs/CONTRIBUTING.md says where it is published"
    )


@cache
def own_files():
    """Name: path of our own models and motions, written to a folder that lasts as long as the process."""
    from fuzz import seeds
    from sample import model, motion
    from sample.character import dance
    from sample.character import model as character

    folder = Path(tempfile.mkdtemp(prefix="mmdskin-own-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    files = {
        "sample.pmx": model.build_sample(),
        "sample.vmd": motion.build_motion(),
        "dancer.pmx": character.build_character(),
        "dancer.vmd": dance.build_dance(),
        **dict(seeds.models()),
        **dict(seeds.motions()),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return {name: folder / name for name in files}


def published(*endings):
    """Every published file with one of the endings that is at hand."""
    return sorted(path for end in endings for path in MODELS.glob(f"**/*.{end}"))


def at_hand(*endings):
    """The published files with one of the endings; our own where there is none."""
    own = (path for path in own_files().values() if path.suffix[1:] in endings)
    return published(*endings) or sorted(own)


def at_hand_of(*names, own):
    """The published files of these names that are at hand; our own one where there is none."""
    return [path for path in (MODELS / name for name in names) if path.is_file()] or [
        own_files()[own]
    ]


def find(name):
    """The path of one of our own files or of a published one; None if it is not at hand."""
    return next(MODELS.glob(f"**/{name}"), None) or own_files().get(name)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Link the add-on into a Blender for development: link_addon.py WHEEL [FOLDER OF BLENDER'S USER FILES]

Blender then finds "MMD Skin" as a classic add-on whose files are those of this checkout. The default
is the user folder of the newest Blender that has been started here, as ~/.config/blender/4.5.
"""

import os
import re
import shutil
import sys
from pathlib import Path

ADDON = Path(__file__).resolve().parents[2] / "addon"
NAME = "mmdskin_addon"


def newest_blender():
    home = Path.home()
    places = {
        "darwin": home / "Library/Application Support/Blender",
        "win32": Path(os.environ.get("APPDATA", home), "Blender Foundation/Blender"),
    }
    place = places.get(sys.platform, home / ".config/blender")
    found = [path for path in place.glob("*") if re.fullmatch(r"\d+\.\d+", path.name)]
    if not found:
        sys.exit(f"There is no Blender in {place}: start it once, or name its user folder")
    return max(found, key=lambda path: [int(part) for part in path.name.split(".")])


def link(wheel, folder):
    """The add-on's new folder: a link for each file and folder in addon/, and the wheel's copy."""
    target = folder / "scripts/addons" / NAME
    if target.exists() and not (target / "__init__.py").is_symlink():
        sys.exit(f"{target} is an installed add-on: remove it in Blender's preferences first")
    shutil.rmtree(target, ignore_errors=True)
    (target / "wheels").mkdir(parents=True)
    for path in ADDON.iterdir():
        if path.name not in ("package.py", "__pycache__"):
            (target / path.name).symlink_to(path, target_is_directory=path.is_dir())
    shutil.copy(wheel, target / "wheels")
    return target


def main(wheel, folder=None):
    target = link(Path(wheel), Path(folder) if folder else newest_blender())
    print(f'Linked as {target}: enable "MMD Skin" in Blender\'s preferences')


if __name__ == "__main__":
    main(*sys.argv[1:])

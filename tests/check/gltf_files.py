# SPDX-License-Identifier: MIT
"""Checks glTF files of all models by the Khronos Group's validator: gltf_files.py FOLDER.

The folder has the validator in `node_modules`. The models are the sample dancer, and the published ones
where they are (tests/README.md).
"""

import json
import subprocess
import sys
from pathlib import Path

import mmdskin
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from files import locations  # noqa: E402

# Prints [[file, what is wrong]…] of the files that are named.
SCRIPT = """
const { readFileSync } = require("fs");
const { validateBytes } = require("gltf-validator");
const wrong = async (path) => {
    const { issues } = await validateBytes(new Uint8Array(readFileSync(path)));
    return issues.messages.filter((one) => one.severity < 2).map((one) => [path, one.message]);
};
Promise.all(process.argv.slice(1).map(wrong)).then((found) => console.log(JSON.stringify(found.flat())));
"""


def main(folder):
    model, motion, textures = mmdskin.sample()
    mmdskin.save_glb(folder / "sample.glb", model, motion, textures=textures)
    written = ["sample.glb"]
    for number, path in enumerate(locations.published("pmx", "pmd")):
        written.append(f"{number}-{path.stem}.glb")
        mmdskin.save_glb(folder / written[-1], mmdskin.load_model(path), motion, np.arange(60))
    command = ["node", "-e", SCRIPT, *written]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    print(f"{len(written)} glTF files", *(f"{name}: {what}" for name, what in found), sep="\n")
    sys.exit(bool(found))


main(Path(sys.argv[1]))

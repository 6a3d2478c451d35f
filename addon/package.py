# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the add-on's zip: python addon/package.py --wheel dist/mmdskin-….whl --output dist

The zip is both an extension and a classic add-on, for the systems of all its wheels; with --split
there is also one for each wheel that is an extension only. The same input gives the same bytes.
Its folder is not named `mmdskin`, since a classic add-on of that name would hide the native module.
"""

import argparse
import json
import pathlib
import re
import sys
import zipfile

import tomllib

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = "mmdskin_addon"
TIME = (2020, 1, 1, 0, 0, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--wheel", type=pathlib.Path, action="append", required=True, help="may be repeated"
    )
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder of the zip")
    parser.add_argument("--split", action="store_true", help="also one zip for each wheel")
    parser.add_argument("--website", help="URL of the add-on's home page, for the manifest")
    options = parser.parse_args()
    print(build(options.wheel, options.output, website=options.website))
    for wheel in options.wheel if options.split else ():
        suffix = f"-{_platform(wheel).replace('-', '_')}"
        print(build([wheel], options.output, suffix, options.website))


def build(
    wheels: list[pathlib.Path], output: pathlib.Path, suffix: str = "", website: str | None = None
) -> pathlib.Path:
    """Write mmdskin-<version><suffix>.zip into the folder `output` and return its path."""
    wheels = sorted(wheels, key=lambda wheel: wheel.name)
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    version = project["version"]
    for wheel in wheels:
        if wheel.name.split("-")[:2] != ["mmdskin", version]:
            sys.exit(f"{wheel.name} is not a wheel of mmdskin {version}")
    sources = _sources(version, wheels, website, extension_only=bool(suffix))
    files = {f"{FOLDER}/{name}": data for name, data in sources.items()}
    files |= {f"{FOLDER}/wheels/{wheel.name}": wheel.read_bytes() for wheel in wheels}
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"mmdskin-{version}{suffix}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, TIME)
            info.create_system, info.external_attr = 3, 0o644 << 16
            info.compress_type = (
                zipfile.ZIP_STORED if name.endswith(".whl") else zipfile.ZIP_DEFLATED
            )
            archive.writestr(info, files[name])
    return path


def _sources(
    version: str, wheels: list[pathlib.Path], website: str | None, extension_only: bool
) -> dict[str, bytes]:
    sources = sorted(path for kind in ("py", "po", "txt") for path in HERE.rglob(f"*.{kind}"))
    left_out = {"package.py", "blender/classic.py"} if extension_only else {"package.py"}
    names = [path.relative_to(HERE).as_posix() for path in sources]
    texts = {
        name: (HERE / name).read_text("utf-8")
        for name in (*names, "blender_manifest.toml", "LICENSE")
        if name not in left_out
    }
    numbers = ", ".join(re.findall(r"\d+", version)[:3])
    _put(texts, "__init__.py", '"version": (0, 0, 0)', f'"version": ({numbers})')
    _put(texts, "blender/native.py", 'REQUIRED = "0.0.0"', f'REQUIRED = "{version}"')
    manifest = {
        "version": version,
        "platforms": sorted({_platform(wheel) for wheel in wheels}),
        "wheels": [f"./wheels/{w.name}" for w in wheels],
    }
    if website:
        manifest["website"] = website
        address = f'"doc_url": {json.dumps(website)},\n    "version": ('
        _put(texts, "__init__.py", '"version": (', address)
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in manifest.items())
    _put(texts, "blender_manifest.toml", 'version = "0.0.0"\n', lines)
    return {name: text.encode("utf-8") for name, text in texts.items()}


def _put(texts: dict[str, str], name: str, old: str, new: str) -> None:
    before, found, after = texts[name].partition(f"\n{old}" if name.endswith("toml") else old)
    if not found or old in after:
        sys.exit(f"{name} must hold {old!r} once")
    texts[name] = before + found.replace(old, new) + after


def _platform(wheel: pathlib.Path) -> str:
    """Blender's name for the platform of a wheel."""
    tag = wheel.stem.rpartition("-")[2]
    system = "macos" if "macosx" in tag else "windows" if "win" in tag else "linux"
    machine = "arm64" if tag.endswith(("arm64", "aarch64")) else "x64"
    return f"{system}-{machine}"


if __name__ == "__main__":
    main()

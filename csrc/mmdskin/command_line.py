# SPDX-License-Identifier: MIT
"""The command line: `python -m mmdskin COMMAND`. docs/command-line.md shows it."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import math
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import mmdskin
from mmdskin import command_info, command_motion, command_render, command_skin
from mmdskin.command_console import CommandError, warn
from mmdskin.command_input import physics_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_COORDINATES = ("mmd", "blender", "gltf", "opengl", "smpl")
_METHODS = (
    "mmd",
    "linear",
    "dual_quaternion",
    "bulge_free",
    "bulge_compensated",
    "centers_of_rotation",
)
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns 0, 1 after an error, 130 after Ctrl-C. Wrong usage exits with 2."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names need not be in the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args(arguments)
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: warn(str(message))
            status: int = options.run(options)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # `python -m mmdskin info … | head`
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except CommandError as error:
        return _fail(str(error), error.status)
    except OSError as error:
        reason = error.strerror or str(error)
        return _fail(f"{os.fsdecode(error.filename)}: {reason}" if error.filename else reason)
    except MemoryError:
        return _fail("not enough memory")
    except (ValueError, mmdskin.BackendError) as error:
        return _fail(str(error))


def _open_closed_streams() -> None:
    """Else what is written to stderr would go to stdout, or into a file that gets its number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _fail(text: str, status: int = 1) -> int:
    warn(text)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mmdskin" if os.path.basename(sys.argv[0]) != "__main__.py" else "python -m mmdskin",
        description="MMD models and motions: what is in them, pictures, vertices, physics.",
        epilog="COMMAND --help lists the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"mmdskin {mmdskin.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[Any], int], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        made.set_defaults(run=run)
        return made

    _info(command("info", command_info.run, "show what models and motions contain"))
    _render(command("render", command_render.run, "draw pictures of a model, as PNG, or a video"))
    _skin(command("skin", command_skin.run, "write the vertices of every frame of a motion"))
    _simulate(
        command("simulate", command_motion.simulate, "solve physics into the bone keys of a VMD")
    )
    _convert(command("convert", command_motion.convert, "write a model or motion as another file"))
    _fit(command("fit", command_motion.fit, "fit a motion of one model to another"))
    sample = command("sample", command_info.sample, "write a dancer and a dance to try")
    sample.add_argument("folder", metavar="FOLDER", nargs="?", default=".", help="default: here")
    return parser


def _info(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("files", metavar="FILE", nargs="+", help="a .pmx, .pmd, .vmd or .vpd")
    add("--json", action="store_true", help="a JSON object per file, one on each line")
    _add_encoding(command)


def _render(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("model", metavar="MODEL", nargs="?", help="default: the dancer of mmdskin.sample()")
    add("motion", metavar="MOTION", nargs="?", help="default: the rest pose")
    _add_output(command, "picture", ".png", ".mp4")
    which = command.add_mutually_exclusive_group().add_argument
    which("--frame", type=_FRAME, help="default: 0")
    which(
        "--frames",
        type=_frames,
        metavar="A:B",
        help="a picture of each frame from A to B - 1, or A:B:STEP, a Python slice; PICTURE.png then "
        "gets the number of the frame before .png, or where it has #; default for a video: all",
    )
    add("--size", type=_size, default=(512, 512), metavar="WxH", help="default: 512x512")
    add("--look", choices=("mmd", "lambert"), default="mmd", help="default: mmd")
    add("--camera", metavar="VMD", help="default: a camera in front that sees the whole model")
    add("--background", type=_color, default=(1, 1, 1, 0), metavar="RRGGBB", help="or RRGGBBAA")
    add(
        "--samples",
        type=_number(int, "1 to 8", 1, 8),
        default=2,
        metavar="N",
        help="N x N per pixel, 1 to 8; default: 2",
    )
    add("--ground-shadow", action="store_true", help="a shadow on the floor (look mmd)")
    add("--self-shadow", action="store_true", help="shadows on the model (look mmd)")
    _add_encoding(command)
    _add_physics(command)
    _add_progress(command)


def _skin(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("model", metavar="MODEL")
    add("motion", metavar="MOTION")
    _add_output(command, "vertices", *command_skin.FORMATS)
    add(
        "--frames",
        type=_frames,
        default=slice(None),
        metavar="A:B",
        help="from A to B - 1, or A:B:STEP, a Python slice; default: all from 0 on",
    )
    add("--to", choices=_COORDINATES, default="mmd", help="the coordinates; default: mmd")
    add("--no-normals", action="store_true", help="an .npz without normals")
    add(
        "--method",
        choices=_METHODS,
        default="mmd",
        metavar="METHOD",
        help=f"{', '.join(_METHODS)}; default: mmd, each vertex by its own type",
    )
    add("--backend", type=_backend, default="auto", help="auto, cpu or gl; default: auto")
    add("--threads", type=_number(int, "1 or more", 1), metavar="N", help="default: all cores")
    _add_encoding(command)
    _add_physics(command)
    _add_progress(command)


def _simulate(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("model", metavar="MODEL")
    add("motion", metavar="MOTION")
    _add_output(command, "motion", ".vmd")
    add(
        "--tolerance",
        type=_POSITIVE,
        default=0.1,
        metavar="UNITS",
        help="how far the keys may move a vertex from where physics puts it; default: 0.1",
    )
    _add_settings(command)
    _add_encoding(command)
    _add_names(command)
    _add_progress(command)


def _convert(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "input",
        metavar="IN",
        help="a .pmx, .pmd, .vmd or .vpd; motion capture: a .bvh, .gltf, .glb, .vrm or .vrma",
    )
    add("body", metavar="MODEL", nargs="?", help="the model that motion capture shall move")
    add(
        "output",
        metavar="OUT",
        type=_ending(".pmx", ".glb", ".vmd", ".vpd"),
        help="a .pmx or a .glb (glTF) from a model, a .vmd or a .vpd from a motion. Only a .glb includes "
        "textures",
    )
    add("--motion", help="the dance of a .glb; default: none")
    add("--frames", type=_frames, metavar="A:B", help="of a .glb, a Python slice; default: all")
    add("--frame", type=_FRAME, help="whose pose a .vpd gets; default: the first")
    add("--model", help="whose bones and morphs a .vpd gets; default: all of the motion")
    add(
        "--part", choices=("model", "camera", "all"), help="of a motion that has bones and a camera"
    )
    add(
        "--legs",
        choices=("both", "ik"),
        help="keys of motion capture: for IK and FK, or without knees",
    )
    add(
        "--tolerance",
        type=_POSITIVE,
        help="of these keys, in units of 8 cm; default: 0.1",
    )
    add(
        "--up",
        choices=("y", "z"),
        help="axis of a .bvh that points up; default: found by the motion",
    )
    _add_encoding(command)
    _add_names(command)
    _add_physics(command)


def _fit(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("motion", metavar="MOTION")
    add(
        "made_for",
        metavar="SOURCE",
        nargs="?",
        help="the model that the motion was made for; without it only positions are scaled",
    )
    add("model", metavar="TARGET", help="the model that shall dance")
    add("output", metavar="OUT", type=_ending(".vmd"), help="a .vmd")
    add("--no-hands", action="store_true", help="keep all keys of the arms, where hands meet, too")
    add(
        "--scale",
        type=_number(float, "0.001 to 1000", 0.001, 1000),
        help="of positions; default: the ratio of the legs' lengths",
    )
    _add_encoding(command)
    _add_names(command)


def _add_output(command: argparse.ArgumentParser, name: str, *endings: str) -> None:
    command.add_argument(
        "-o",
        "--output",
        required=True,
        type=_ending(*endings),
        metavar=name.upper(),
        help=f"{', '.join(endings)}; a file that exists is replaced once the new one is complete",
    )


def _add_physics(command: argparse.ArgumentParser) -> None:
    command.add_argument("--physics", action="store_true", help="simulate hair and clothes")
    _add_settings(command)


def _add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set",
        dest="settings",
        action="append",
        type=_setting,
        default=[],
        metavar="NAME=VALUE",
        help="a setting of physics, such as hz=120, ground=false or gravity=0,-122.5,0; docs/physics-python.md "
        "lists them. May be repeated",
    )


def _add_encoding(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--encoding",
        type=_encoding,
        metavar="NAME",
        help="of the names in the motion: cp932 (MMD's), gbk, cp949, cp950, utf-8; default: that in which "
        "the model has most of them",
    )


def _add_names(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--names",
        choices=("error", "omit", "cut"),
        help="what to do with names that a VMD cannot hold, over 15 bytes: omit their keys, which MMD "
        "ignores, or cut the names; default: error",
    )


def _add_progress(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show progress; by default if the errors go to a terminal",
    )


# Types of arguments


_LARGEST = sys.float_info.max


def _number(
    kind: type[int | float], expected: str, low: float = -_LARGEST, high: float = _LARGEST
) -> Callable[[str], int | float]:
    """The type of an option that is a number."""

    def check(text: str) -> int | float:
        try:
            number = kind(text)
        except ValueError:
            number = math.nan
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{text}: expected {expected}")
        return number

    return check


_FRAME = _number(float, "0 or more", 0)
_POSITIVE = _number(float, "a positive number", sys.float_info.min)


def _ending(*endings: str) -> Callable[[str], str]:
    def check(path: str) -> str:
        if os.path.splitext(path)[1].lower() not in endings:
            raise argparse.ArgumentTypeError(f"{path}: expected a name in {', '.join(endings)}")
        return path

    return check


def _encoding(text: str) -> str:
    try:
        "a".encode(text)  # which refuses codecs that are no encodings of texts
        return codecs.lookup(text).name
    except LookupError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _frames(text: str) -> slice:
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise argparse.ArgumentTypeError(f"{text}: expected A:B or A:B:STEP")
    try:
        chosen = slice(*(int(part) if part else None for part in parts))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: expected whole numbers") from None
    if chosen.step is not None and chosen.step < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a step of 1 or more")
    return chosen


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    if not found or not int(found[1]) or not int(found[2]):
        raise argparse.ArgumentTypeError(f"{text}: expected a size such as 1280x720")
    return int(found[1]), int(found[2])


def _color(text: str) -> tuple[float, ...]:
    if not re.fullmatch(r"#?[0-9a-fA-F]{6}([0-9a-fA-F]{2})?", text):
        raise argparse.ArgumentTypeError(f"{text}: expected RRGGBB or RRGGBBAA")
    parts = bytes.fromhex(text.lstrip("#"))
    return tuple(part / 255 for part in (*parts, 255)[:4])


def _backend(text: str) -> str:
    """Also a kernel, as cpu:sse2."""
    if text != "gl":  # which takes its time to start
        try:
            mmdskin.skin(mmdskin.Model.from_arrays(), np.empty((0, 4, 4)), backend=text)
        except (ValueError, mmdskin.BackendError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _setting(text: str) -> tuple[str, Any]:
    try:
        return physics_setting(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None

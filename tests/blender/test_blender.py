# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on in real Blenders: in 3.4 as a legacy add-on, from 4.2 on the same zip as an extension.

Each cases_*.py of tests/blender runs once per Blender, in the background while pytest runs all other
tests; every test in it is reported as one of ours.
MMDSKIN_BLENDERS="3.4 4.2" chooses the versions.
"""

import ast
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest
from sample.character import dance, model

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "blender"
VERSIONS = os.environ.get("MMDSKIN_BLENDERS", "3.4 4.5").split()
EXTENSIONS = [version for version in VERSIONS if version != "3.4"]

import addon_profile  # noqa: E402
import tour  # noqa: E402
import window  # noqa: E402
import window_display  # noqa: E402


def cases():
    """module.Class.test of every case, read from the sources: no Blender is needed to collect."""
    for path in sorted(HERE.glob("cases_*.py")):
        body = ast.parse(path.read_text("utf-8")).body
        groups = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
        for name in groups:
            for test in inherited_or_own(name, groups):
                yield f"{path.stem}.{name}.{test}"


def inherited_or_own(name, groups):
    """The names of a class's own tests, and of those of its bases in the same file."""
    if name not in groups:
        return {}
    own = [node.name for node in groups[name].body if isinstance(node, ast.FunctionDef)]
    of_bases = [
        test for base in groups[name].bases for test in inherited_or_own(ast.unparse(base), groups)
    ]
    return dict.fromkeys(test for test in (*of_bases, *own) if test.startswith("test_"))


def need(version):
    """The command of that Blender; skips when it is not installed."""
    command = addon_profile.blender_command(version)
    if command is None:
        pytest.skip(f"Blender {version} is not here: run tests/blender/setup.sh {version}")
    return command


@pytest.fixture(scope="session")
def addon_zip(tmp_path_factory):
    """A zip with the wheel that is installed here."""
    wheel = installed_wheel()
    if wheel is None:
        pytest.skip("the wheel that is installed here is not in dist/: run make build")
    output = tmp_path_factory.mktemp("zip")
    return package(wheel, output)


def installed_wheel():
    # A build leaves an egg-info in the checkout, which is found first where pytest runs as a module.
    found = importlib.metadata.distributions(name="mmdskin")
    installed = next((one for one in found if one.read_text("WHEEL")), None)
    if installed is None:
        return None
    tag = re.search(r"^Tag: (.*)$", installed.read_text("WHEEL"), re.MULTILINE)[1]
    wheel = ROOT / "dist" / f"mmdskin-{installed.version}-{tag}.whl"
    return wheel if wheel.is_file() else None


def package(wheel, output):
    command = [sys.executable, ROOT / "addon/package.py", "--wheel", wheel, "--output", output]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip())


@pytest.fixture(scope="session", autouse=True)
def sessions(request, tmp_path_factory):
    """Runs the cases that pytest has selected, once in each Blender, in the background: on all
    cores but one, which runs other tests until `outcomes` is asked for."""
    selected = selected_cases(request.session.items)
    cores = max(2, os.cpu_count() or 2)
    running = Sessions(free=threading.Semaphore(cores - 1), outcomes={})

    def run(*arguments):
        with running.free:
            return run_cases(*arguments)

    pool = ThreadPoolExecutor(cores)
    for version in VERSIONS:
        if version in selected and addon_profile.blender_command(version):
            running.outcomes[version] = pool.submit(
                run,
                version,
                selected[version],
                request.getfixturevalue("addon_zip"),
                tmp_path_factory.mktemp(f"profile-{version}-"),
            )
    yield running
    pool.shutdown(cancel_futures=True)


class Sessions(NamedTuple):
    free: threading.Semaphore  # cores
    outcomes: dict  # version: a future of the outcomes of its cases


@pytest.fixture(scope="session")
def outcomes(sessions):
    """Version: a future of the outcomes of its cases. What asks for it runs last (tests/conftest.py)."""
    sessions.free.release()
    return sessions.outcomes


def selected_cases(items):
    """Version: the names of the cases that it is to run."""
    selected = {}
    for item in items:
        if item.originalname == "test_case":
            params = item.callspec.params
            selected.setdefault(params["version"], []).append(params["case"])
        elif item.originalname == "test_no_case_is_unknown":
            selected.setdefault(item.callspec.params["version"], [])
    # Alone, test_no_case_is_unknown needs them all.
    return {version: names or list(cases()) for version, names in selected.items()}


def run_cases(version, selected, addon_zip, folder, display=None):
    """The outcomes of cases, in the background or with a window on a display."""
    BUILD.mkdir(parents=True, exist_ok=True)
    report = folder / "report.json"
    log = BUILD / f"cases-{version}{'-window' if display else ''}.log"
    blender = addon_profile.blender_command(version)
    if display:
        blender = [one for one in blender if one != "--background"]
    command = [
        *blender,
        HERE / "run.py",
        "--",
        "--zip",
        addon_zip,
        "--report",
        report,
    ]
    if set(selected) != set(cases()):
        command += ["--only", *selected]
    start = time.monotonic()
    with log.open("wb") as output:
        subprocess.run(
            command,
            cwd=ROOT,  # not the folder of another test, which may be gone by now
            env=addon_profile.environment(folder) | ({"DISPLAY": display} if display else {}),
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=3600,
            check=False,
        )
        output.write(f"{time.monotonic() - start:.1f} s in all\n".encode())
    assert report.exists(), (
        f"Blender {version} gave no report, its last words:\n"
        + log.read_text("utf-8", "replace")[-3000:]
    )
    return json.loads(report.read_text("utf-8"))


def run_script(script, addon_zip, version, folder):
    """Run a user's script in a folder, in a Blender with the add-on."""
    (folder / "example.py").write_text(script, "utf-8")
    return run_in_folder(version, folder, HERE / "run_script.py", "--", addon_zip, "example.py")


def run_in_folder(version, folder, *arguments):
    """Run Blender in a folder, with a profile of its own there."""
    return subprocess.run(
        [*need(version), *arguments],
        cwd=folder,
        env=addon_profile.environment(folder / "profile"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_script_of_the_docs(addon_zip, version, tmp_path):
    page = (ROOT / "docs/python.md").read_text("utf-8")
    examples = re.findall(r"^```python\n(import bpy\n.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(examples) == 1
    model.write_character(tmp_path)
    dance.write_dance(tmp_path)
    done = run_script(examples[0], addon_zip, version, tmp_path)
    assert "the script has ended" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    assert (tmp_path / "dance.glb").stat().st_size > 1_000_000
    assert list(tmp_path.glob("*.pc2"))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_script_that_fails_ends_its_blender(addon_zip, version, tmp_path):
    done = run_script("raise ValueError('on purpose')", addon_zip, version, tmp_path)
    assert done.returncode == 1
    assert "ValueError: on purpose" in done.stderr


@pytest.mark.parametrize(
    ("code", "status"), [(None, 0), (0, 0), (3, 3), (True, 1), ("on purpose", 1)]
)
def test_a_script_that_exits_ends_its_blender_with_that_status(monkeypatch, code, status):
    ended = []
    monkeypatch.setattr(addon_profile, "install", lambda path: path)
    monkeypatch.setattr(addon_profile, "_uninstall_and_exit", lambda *end: ended.append(end))
    with addon_profile.installed("mmdskin.zip"):
        sys.exit(code)
    assert ended == [("mmdskin.zip", status)]


ENDS = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import addon_profile
import bpy
addon_profile.install(sys.argv[-1])
bpy.ops.mmdskin.import_model(filepath="dancer.pmx", live=True)
bpy.context.view_layer.update()
print("the last line", flush=True)
"""


DISABLES = """
import bpy
bpy.ops.mmdskin.import_model(filepath="dancer.pmx", live=True)
bpy.ops.mmdskin.import_motion(filepath="dancer.vmd", mode="FILE")
bpy.context.view_layer.update()
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_disabling_the_add_on_beside_a_live_model_says_nothing(addon_zip, version, tmp_path):
    """Blender evaluates drivers whose property and functions are gone."""
    model.write_character(tmp_path)
    dance.write_dance(tmp_path)
    done = run_script(DISABLES, addon_zip, version, tmp_path)
    said = done.stdout + done.stderr
    assert "the script has ended" in said, said[-2000:]
    assert "driver" not in said.casefold(), said[-2000:]


# bpy 4.2 crashes after any property with an update function.
@pytest.mark.parametrize("version", [version for version in VERSIONS if version != "4.2"])
def test_a_script_with_a_live_model_ends_by_itself(addon_zip, version, tmp_path):
    model.write_character(tmp_path)
    script = tmp_path / "script.py"
    script.write_text(ENDS, "utf-8")
    done = run_in_folder(version, tmp_path, script, "--", addon_zip)
    assert "the last line" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.returncode == 0


FULL_DISK = """
import resource
import bpy
bpy.ops.mmdskin.import_model(filepath="dancer.pmx", live=True)
bpy.context.scene.frame_end = 1
for name in ("x.usda", "x.usdc", "x.abc"):
    bpy.ops.mmdskin.export(filepath=name)
print("all are written", flush=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
bpy.context.scene.frame_end = 2
for name in ("x.usda", "x.usdc", "x.abc"):
    try:
        bpy.ops.mmdskin.export(filepath=name)
    except RuntimeError as error:
        print(error, flush=True)
"""


@pytest.mark.parametrize("version", EXTENSIONS[-1:])
def test_usd_and_alembic_files_survive_a_full_disk(addon_zip, version, tmp_path):
    model.write_character(tmp_path)
    done = run_script(FULL_DISK, addon_zip, version, tmp_path)
    assert "all are written" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    assert "'x.usda' cannot be written" in done.stdout
    assert "'x.usdc' cannot be written" in done.stdout
    assert "the script has ended" not in done.stdout  # Alembic's library ends Blender
    for name, start in (("x.usda", b"#usda"), ("x.usdc", b"PXR-USDC"), ("x.abc", b"Ogawa\xff")):
        written = (tmp_path / name).read_bytes()  # what the first export wrote, whole
        assert written.startswith(start)
        assert len(written) > 300_000


def test_the_zip_is_the_same_every_time(addon_zip, tmp_path):
    with zipfile.ZipFile(addon_zip) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".whl"))
        wheel = tmp_path / pathlib.PurePosixPath(name).name
        wheel.write_bytes(archive.read(name))
    assert package(wheel, tmp_path / "again").read_bytes() == addon_zip.read_bytes()


def test_the_zip_has_one_folder_that_does_not_hide_the_module(addon_zip):
    with zipfile.ZipFile(addon_zip) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"mmdskin_addon"}
    assert not any(name.endswith("package.py") for name in names)


def extension_tool(version):
    """Blender's own `extension` command."""
    (found,) = (addon_profile.CACHE / f"bpy-{version}").glob(
        "lib/python3.*/site-packages/bpy/*/scripts/**/blender_ext.py"
    )
    return found


@pytest.mark.parametrize("version", EXTENSIONS)
def test_blender_validates_the_extension(addon_zip, version):
    done = subprocess.run(
        [*need(version), extension_tool(version), "validate", addon_zip],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_mouse_clicks_in_a_window(addon_zip, tmp_path):
    if "3.4" not in VERSIONS:
        pytest.skip("MMDSKIN_BLENDERS lacks 3.4")
    if window_display.missing():
        pytest.skip(window_display.missing())
    with window.Window(tmp_path, BUILD) as blender:
        before = blender.state()
        blender.install(addon_zip)
        blender.key("n", "KP_Decimal")
        blender.open_tab()
        blender.picture("panel")
        bake_a_frame(blender, before)
        preview(blender, before)
        bake_a_range(blender, before)


def test_the_steps_of_the_tutorial(addon_zip, tmp_path):
    """By the mouse, from the zip to glTF; build/blender/tour keeps the pictures: make tour."""
    version = os.environ.get("MMDSKIN_TOUR", "3.4")
    if version not in VERSIONS:
        pytest.skip(f"MMDSKIN_BLENDERS lacks {version}")
    if window_display.missing(version):
        pytest.skip(window_display.missing(version))
    pictures = BUILD / "tour"
    with window.Window(tmp_path, pictures, "empty", version, size=tour.SIZE) as blender:
        tour.walk(blender, addon_zip, tmp_path)


def test_eevee_in_a_window(addon_zip, tmp_path):
    """Before 4.2, EEVEE draws nothing in the background."""
    if "3.4" not in VERSIONS:
        pytest.skip("MMDSKIN_BLENDERS lacks 3.4")
    if window_display.missing():
        pytest.skip(window_display.missing())
    names = [name for name in cases() if name.startswith("cases_look") and "eevee" in name.lower()]
    assert len(names) >= 4
    server, display = window_display.start()
    try:
        outcomes = run_cases("3.4", names, addon_zip, tmp_path, display)
    finally:
        server.terminate()
        server.wait()
    assert {name: outcome for name, (outcome, _) in outcomes.items()} == dict.fromkeys(
        names, "passed"
    ), outcomes


def bake_a_frame(blender, before):
    baked = [*before["keys"], "MMD 0001"]
    blender.click("mmdskin.bake")
    blender.wait_state(keys=baked)
    blender.picture("baked")
    blender.key("ctrl+z")
    blender.wait_state(mesh=before["mesh"])
    blender.picture("undone")
    blender.click("mmdskin.bake")
    blender.wait_state(keys=baked)
    blender.click("mmdskin.clear_bake")
    blender.wait_state(mesh=before["mesh"])
    blender.picture("cleared")


def preview(blender, before):
    blender.search("MMD Skinning")
    blender.wait_state(preview=True)
    blender.picture("searched")
    blender.search("MMD Skinning")
    blender.wait_state(preview=False, mesh=before["mesh"], shown=before["shown"])
    blender.click("mmdskin.preview")
    blender.wait_state(preview=True)
    live = blender.state()["shown"]
    assert live != before["shown"]
    blender.picture("preview")
    blender.key("Right", "Right", "Left")
    blender.wait_state(frame=2)
    blender.scrub()
    scrubbed = blender.state()
    assert scrubbed["frame"] > 100
    assert scrubbed["shown"] not in (before["shown"], live)
    blender.picture("scrubbed")
    blender.key("shift+Left")
    blender.wait_state(frame=1, shown=live)
    blender.click("mmdskin.preview")
    blender.wait_state(preview=False, mesh=before["mesh"], shown=before["shown"])


def bake_a_range(blender, before):
    blender.choose(".mmdskin.range", "s")
    blender.wait_state(range="SCENE")
    blender.set_last_frame(9000)
    blender.click("mmdskin.bake")
    blender.picture("baking")
    blender.key("Escape")
    blender.picture("cancelled")
    blender.wait_state(mesh=before["mesh"], shown=before["shown"])
    blender.set_last_frame(40)
    baked = [*before["keys"], *(f"MMD {frame:04d}" for frame in range(1, 41))]
    blender.click("mmdskin.bake")
    blender.wait_state(keys=baked)
    blender.picture("range")
    first = blender.state()["shown"]
    blender.key("Right")
    blender.wait_state(frame=2)
    assert blender.state()["shown"] != first
    blender.key("Left")
    blender.undo_until(lambda: blender.state()["mesh"] == before["mesh"], "the mesh")
    blender.wait_state(end=40)
    blender.click("mmdskin.bake")
    blender.wait_state(keys=baked)
    blender.click("mmdskin.clear_bake")
    blender.wait_state(mesh=before["mesh"], shown=before["shown"])
    blender.picture("range-cleared")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", list(cases()))
def test_case(outcomes, version, case):
    need(version)
    outcome, text = outcomes[version].result().get(case, ("failed", "the case did not run"))
    if outcome == "skipped":
        pytest.skip(text)
    assert outcome == "passed", text


@pytest.mark.parametrize("version", VERSIONS)
def test_no_case_is_unknown(outcomes, request, version):
    """Pytest reports every case that Blender ran, and vice versa."""
    need(version)
    selected = selected_cases(request.session.items)[version]
    assert outcomes[version].result().keys() == set(selected)

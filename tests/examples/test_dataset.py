# SPDX-License-Identifier: MIT
"""docs/examples, run as by a user, in its own Python, with two workers.

What they write is read here by the bytes of its files, without Zarr.
"""

import json
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import examples_python
import mmdskin
import numpy as np
import pytest
from files import locations, motion_file, small
from files import pmx_file as pmx
from module import docs_examples
from sample import model as sample
from sample import motion as sample_motion
from sample.character import dance
from sample.character import model as character

PROBE = Path(__file__).with_name("probe.py")
ENGINES = ["dataset_dask", "dataset_ray"]
REAL = ["初音ミク.pmx", "mmt_test_model.pmx", "miku_v2.pmd", "test.vmd", "test.vpd"]


@pytest.fixture(scope="module")
def run():
    """Run a script with arguments and return its output; checks its exit status."""
    python = examples_python.command()
    if python is None:
        pytest.skip("the examples' Python is not here: run make build/examples")
    # not pytest's folder, whose path is too long for Ray's sockets
    folder = tempfile.mkdtemp(prefix="mmdskin")
    environment = examples_python.environment(folder)

    def call(script, *arguments, status=0, start=subprocess.run, **options):
        command = [python, script, *arguments]
        if start is subprocess.Popen:
            return start(command, env=environment, **options)
        options |= {"env": environment, "capture_output": True, "text": True}
        done = start(command, timeout=300, **options)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    yield call
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Folders of models and motions: the sample, a small model below, a broken one, and real ones if available."""
    models, motions = tmp_path_factory.mktemp("モデル"), tmp_path_factory.mktemp("踊り")
    (models / "サンプル.pmx").write_bytes(sample.build_sample())
    (models / "小さい").mkdir()
    (models / "小さい" / "少し.PMX").write_bytes(pmx.write(small.small_file()))
    (models / "壊れた.pmx").write_bytes(sample.build_sample()[:5000])
    (motions / "踊り.vmd").write_bytes(sample_motion.build_motion())
    for path in filter(Path.exists, (locations.MODELS / name for name in REAL)):
        target = models if path.suffix in (".pmx", ".pmd") else motions
        (target / path.name).write_bytes(path.read_bytes())
    return models, motions


OPTIONS = ["--frames", ":63:2", "--chunk-mb", "1"]


@pytest.fixture(scope="module")
def serial(run, data, tmp_path_factory):
    """The data set that one core writes."""
    store = tmp_path_factory.mktemp("serial") / "踊り.zarr"
    run(script("dataset_chunks"), *data, store, *OPTIONS, status=1)
    return store


def test_the_examples_of_the_docs_read_a_group(run, tmp_path):
    models, motions = tmp_path / "models", tmp_path / "motions"
    for folder, write in ((models, character.write_character), (motions, dance.write_dance)):
        folder.mkdir()
        write(folder)
    run(script("dataset_chunks"), models, motions, tmp_path / "dances.zarr")
    by_zarr, by_xarray = docs_examples.of_page("docs/scale.md")
    same = "print(positions.shape, (positions[0] == first.values).all())\n"
    (tmp_path / "read.py").write_text(by_zarr + by_xarray + same, encoding="utf-8")
    vertices = len(mmdskin.load_model(models / "dancer.pmx").positions)
    assert run(tmp_path / "read.py", cwd=tmp_path).split("\n")[-2] == f"(100, {vertices}, 3) True"


def test_the_lines_of_the_docs_run(run, tmp_path):
    """The first as it is printed. The others need a cluster: all scripts know their options."""
    (lines,) = docs_examples.of_page("docs/scale.md", "sh")
    (tmp_path / "docs").symlink_to(examples_python.EXAMPLES.parent)
    install, first, *others = map(shlex.split, lines.splitlines())
    assert install[-2:] == ["-r", "docs/examples/requirements.txt"]
    assert (tmp_path / install[-1]).exists()
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "model.pmx").write_bytes(pmx.write(small.small_file()))
    (tmp_path / "motions").mkdir()
    (tmp_path / "motions" / "motion.vmd").write_bytes(sample_motion.build_motion())
    assert first[0] == "python"
    run(*first[1:], cwd=tmp_path)
    assert (tmp_path / "dances.zarr/model.pmx/motion.vmd").is_dir()
    assert others
    for _python, path, *arguments in others:
        known = run(path, "--help", cwd=tmp_path)
        assert all(f"{word} " in known for word in arguments if word.startswith("--"))


def test_every_option_of_the_docs_exists(run):
    page = (examples_python.EXAMPLES.parent / "scale.md").read_text(encoding="utf-8")
    options = set(re.findall(r"^\| `(--[\w-]+)", page, re.MULTILINE))
    assert len(options) > 5
    for engine in ("dataset_chunks", *ENGINES):
        known = run(script(engine), "--help")
        assert [option for option in options if f"{option} " not in known] == []


def script(engine):
    return examples_python.EXAMPLES / f"{engine}.py"


def contents(store):
    """Bytes of every file, except partial files that a killed worker left."""
    paths = (path for path in store.rglob("*") if path.is_file() and path.suffix != ".partial")
    return {str(path.relative_to(store)): path.read_bytes() for path in paths}


def times(store):
    return {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()}


def array(group, name, frames):
    """A chunked array of a group, read by the format's specification."""
    described = json.loads((group / name / "zarr.json").read_text("utf-8"))
    shape, chunk = described["shape"], described["chunk_grid"]["configuration"]["chunk_shape"]
    assert [codec["name"] for codec in described["codecs"]] == ["bytes"]
    assert shape[0] == frames and shape[1:] == chunk[1:]
    parts = [
        np.fromfile(group / name / "c" / str(i) / "0" / "0", described["data_type"])
        for i in range(-(-frames // chunk[0]))
    ]
    return np.concatenate(parts).reshape(-1, *chunk[1:])[:frames]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_group_contains_the_results_of_skin(run, data, tmp_path, dtype):
    run(script("dataset_chunks"), *data, tmp_path / "out", *OPTIONS, "--dtype", dtype, status=1)
    model = mmdskin.load_model(data[0] / "サンプル.pmx")
    motion = mmdskin.load_motion(data[1] / "踊り.vmd")
    frames = np.arange(motion.frame_range[1] + 1)[:63:2]
    skinned = mmdskin.skin(model, model.pose(motion, frames), backend="cpu")
    group = tmp_path / "out" / "サンプル.pmx" / "踊り.vmd"
    for name in ("positions", "normals"):
        wanted = getattr(skinned, name).astype(dtype)
        assert np.array_equal(array(group, name, len(frames)), wanted)


def test_a_group_names_its_files_and_frames(serial):
    group = serial / "小さい" / "少し.PMX" / "踊り.vmd"
    found = json.loads((group / "zarr.json").read_text("utf-8"))["attributes"]
    assert (found["model"], found["motion"]) == ("小さい/少し.PMX", "踊り.vmd")
    assert found["frames"] == [0, 63, 2]
    assert len(found["model_sha256"]) == len(found["motion_sha256"]) == 64


@pytest.mark.parametrize("engine", ENGINES)
def test_workers_write_the_bytes_of_a_serial_run(run, data, serial, tmp_path, engine):
    """And they report the broken file."""
    said = run(script(engine), *data, tmp_path / "out", *OPTIONS, "--workers", "2", status=1)
    assert "\n壊れた.pmx: FormatError: vertices: " in said
    assert contents(tmp_path / "out") == contents(serial)


def test_a_running_cluster_needs_only_its_packages(run, data, serial, tmp_path):
    """Its workers import the example's functions although they cannot see its folder."""
    file = tmp_path / "scheduler.json"
    dask = [examples_python.command().with_name("dask")]
    scheduler = ["scheduler", "--scheduler-file", file, "--host", "127.0.0.1", "--port", "0"]
    workers = ["worker", "--scheduler-file", file, "--nworkers", "2", "--nthreads", "1"]
    options = {"start": subprocess.Popen, "cwd": tmp_path, "stderr": subprocess.DEVNULL}
    with ExitStack() as stack:
        for command in (scheduler, workers):
            process = stack.enter_context(run(*dask, *command, "--no-dashboard", **options))
            stack.callback(process.terminate)
            while not file.exists():
                assert process.poll() is None, "the scheduler has ended"
                time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        run(
            script("dataset_dask"),
            *data,
            tmp_path / "out",
            *OPTIONS,
            "--scheduler",
            address,
            status=1,
        )
    assert contents(tmp_path / "out") == contents(serial)


@pytest.mark.parametrize(
    "engine, probe", [*((engine, "die") for engine in ENGINES), ("dataset_dask", "orphan")]
)
def test_a_killed_worker_loses_nothing(run, data, serial, tmp_path, engine, probe):
    """Nor does the process of its own in which Dask's worker runs a task."""
    run(PROBE, probe, engine, *data, tmp_path / "out", *OPTIONS, "--workers", "2", status=1)
    assert (tmp_path / "out.died").exists()
    assert contents(tmp_path / "out") == contents(serial)


def test_a_killed_run_is_resumed(run, data, serial, tmp_path):
    """Finished chunks are not written again."""
    arguments = [*data, tmp_path / "out", *OPTIONS]
    run(PROBE, "die", "dataset_chunks", *arguments, status=-signal.SIGKILL)
    before = times(tmp_path / "out")
    assert contents(tmp_path / "out") != contents(serial)
    run(script("dataset_chunks"), *arguments, status=1)
    assert contents(tmp_path / "out") == contents(serial)
    after = times(tmp_path / "out")
    kept = [path for path in before if path.parent.parent.name == "written"]
    assert kept
    assert all(before[path] == after[path] for path in kept)


def test_a_second_run_writes_nothing(run, data, serial):
    """Nor does another engine."""
    before = times(serial)
    run(script("dataset_dask"), *data, serial, *OPTIONS, "--workers", "2", status=1)
    assert times(serial) == before


def few(tmp_path):
    """A model, a motion, and how to make the data set of the folders they are in."""
    model, motion = tmp_path / "models" / "少し.pmx", tmp_path / "motions" / "踊り.vmd"
    model.parent.mkdir()
    motion.parent.mkdir()
    model.write_bytes(pmx.write(small.small_file()))
    motion.write_bytes(sample_motion.build_motion())
    arguments = [script("dataset_chunks"), model.parent, motion.parent, tmp_path / "out"]
    return model, motion, arguments


@pytest.mark.parametrize("change", ["model", "motion", "frames"])
def test_changed_groups_are_rebuilt(run, tmp_path, change):
    model, motion, arguments = few(tmp_path)
    run(*arguments)
    chunk = tmp_path / "out" / model.name / motion.name / "positions/c/0/0/0"
    before = chunk.read_bytes()
    if change == "model":
        file = small.small_file()
        file.positions *= 2
        model.write_bytes(pmx.write(file))
    elif change == "motion":
        found = motion_file.keys(motion.read_bytes())
        del found.bones[5:]
        motion.write_bytes(motion_file.write_vmd(found))
    else:
        arguments += ["--frames", "5:"]
    run(*arguments)
    assert chunk.read_bytes() != before


def test_a_broken_file_is_reported_and_does_not_stop_others(run, tmp_path):
    model, motion, arguments = few(tmp_path)
    model.with_name("壊れた.pmx").write_bytes(model.read_bytes()[:3000])
    motion.with_name("空.vmd").touch()
    said = run(*arguments, status=1).splitlines()
    assert any(line.startswith("壊れた.pmx: FormatError: ") for line in said)
    assert any(line.startswith("空.vmd: FormatError: ") for line in said)
    assert "1 models, 1 motions, 2 failures" in said
    assert (tmp_path / "out" / model.name / motion.name / "written/c/0").exists()


def test_a_file_that_changes_during_a_run_is_reported(run, tmp_path):
    """Otherwise the hash in the attributes would be wrong."""
    _, _, [_, *arguments] = few(tmp_path)
    said = run(PROBE, "change", "dataset_chunks", *arguments, status=1)
    assert "ValueError: 少し.pmx was changed after this run started" in said


def test_a_motion_for_another_model_gives_a_warning_and_is_computed(run, tmp_path):
    model, motion, arguments = few(tmp_path)
    model.write_bytes(pmx.write(small.rigid_file(10)))
    said = run(*arguments)
    assert f"{model.name}/{motion.name}: the motion names no bone or morph of the model" in said
    assert (tmp_path / "out" / model.name / motion.name / "written/c/0").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_worker_holds_less_than_300_mb(run, tmp_path, engine):
    """With chunks of the default size, for models of any size."""
    model, motion, [_, *arguments] = few(tmp_path)
    model.with_name("大きい.pmx").write_bytes(pmx.write(small.rigid_file(200_000)))
    for path in filter(
        Path.exists, (locations.MODELS / name for name in ["巡音ルカ.pmx", "realize_motion.vmd"])
    ):
        folder = model.parent if path.suffix == ".pmx" else motion.parent
        (folder / path.name).write_bytes(path.read_bytes())
    options = ["--workers", "2", "--dtype", "float16", "--frames", ":30"]
    run(PROBE, "measure", engine, *arguments, *options)
    peaks = [int(path.read_text()) for path in (tmp_path / "out.memory").iterdir()]
    assert len(peaks) == 2
    assert max(peaks) < 300_000

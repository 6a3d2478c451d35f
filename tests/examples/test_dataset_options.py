# SPDX-License-Identifier: MIT
"""What docs/examples can store, from which pairs, and that inputs which kill workers end as failures."""

import json
import shutil
from pathlib import Path

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files import small
from physics import chains
from test_dataset import ENGINES, PROBE, run, script  # noqa: F401

READ = Path(__file__).with_name("read_back.py")
GROUP = "髪.pmx/振る.vmd"
ALL = ("positions", "normals", "bone_matrices", "joints", "morph_weights")


def hairy():
    """A model whose vertices hang on a chain of rigid bodies."""
    chain, file = chains.chain_file(), small.rigid_file(12)
    file.bones, file.rigid_bodies, file.joints = chain.bones, chain.rigid_bodies, chain.joints
    file.bone_indices[:, 0] = np.arange(12) % len(file.bones)
    file.comment = "Do not sell."
    return file


@pytest.fixture
def folders(tmp_path):
    """A folder with a model and one with a motion, and where the data set is to be."""
    models, motions = tmp_path / "models", tmp_path / "motions"
    models.mkdir()
    motions.mkdir()
    (models / "髪.pmx").write_bytes(pmx.write(hairy()))
    chains.swing().save(motions / "振る.vmd")
    return models, motions, tmp_path / "out.zarr"


def read(run, store, group=GROUP):  # noqa: F811
    output = store.parent / "read.npz"
    run(READ, store, group, output)
    found = json.loads(output.with_suffix(".json").read_text("utf-8"))
    return np.load(output), found["dimensions"], found["manifest"]


def computed(folders, physics=False):
    models, motions, _ = folders
    model = mmdskin.load_model(models / "髪.pmx")
    motion = mmdskin.load_motion(motions / "振る.vmd")
    pose = model.pose(motion, np.arange(91), physics=physics or None)
    skinned = mmdskin.skin(model, pose, backend="cpu")
    joints = chains.bone_positions(model, pose)
    return dict(
        zip(ALL, (*skinned[:2], pose.bone_matrices, joints, pose.morph_weights), strict=True)
    )


@pytest.mark.parametrize("engine", ["dataset_chunks", "dataset_dask"])
def test_physics_is_that_of_pose(run, folders, engine):  # noqa: F811
    """In chunks of a few frames, although each frame depends on the one before."""
    workers = ["--workers", "2"] if engine == "dataset_dask" else []
    run(script(engine), *folders, "--physics", "--chunk-mb", "0.005", *workers)
    found, _, _ = read(run, folders[2])
    wanted, rigid = computed(folders, physics=True), computed(folders)
    assert np.array_equal(found["positions"], wanted["positions"])
    assert np.abs(wanted["positions"] - rigid["positions"]).max() > 1


def test_every_array_can_be_chosen(run, folders):  # noqa: F811
    run(script("dataset_chunks"), *folders, "--arrays", *ALL, "--frames", "10:80:5")
    found, dimensions, _ = read(run, folders[2])
    for name, values in computed(folders).items():
        assert np.allclose(found[name], values[10:80:5], atol=1e-5), name
        assert dimensions[name][0] == "frame"
    assert found["frame"].tolist() == [*range(10, 80, 5)]
    assert dimensions["bone_matrices"] == ["frame", "bone", "row", "column"]


def test_only_what_is_chosen_is_stored(run, folders):  # noqa: F811
    run(script("dataset_chunks"), *folders, "--arrays", "joints", "morph_weights")
    found, _, _ = read(run, folders[2])
    assert {*ALL} & {*found} == {"joints", "morph_weights"}


@pytest.mark.parametrize("compress", ["lz4", "zstd"])
def test_shards_and_compression_keep_the_values(run, folders, compress):  # noqa: F811
    """And a shard is a file of several chunks."""
    options = ["--chunk-mb", "0.005", "--shard-mb", "0.02", "--compress", compress]
    run(script("dataset_chunks"), *folders, *options)
    found, _, _ = read(run, folders[2])
    for name in ("positions", "normals"):
        assert np.array_equal(found[name], computed(folders)[name])
    described = json.loads((folders[2] / GROUP / "positions/zarr.json").read_text("utf-8"))
    chunk = described["codecs"][0]["configuration"]["chunk_shape"][0]
    block = described["chunk_grid"]["configuration"]["chunk_shape"][0]
    assert block >= 3 * chunk
    assert len([*(folders[2] / GROUP / "positions/c").iterdir()]) == -(-91 // block)


def test_a_url_of_a_folder_is_that_folder(run, folders):  # noqa: F811
    models, motions, store = folders
    run(script("dataset_chunks"), models, motions, store.as_uri())
    assert np.array_equal(read(run, store)[0]["positions"], computed(folders)["positions"])


def test_a_list_of_pairs_takes_the_place_of_all_pairs(run, folders):  # noqa: F811
    models, motions, store = folders
    shutil.copy(models / "髪.pmx", models / "b.pmx")
    shutil.copy(motions / "振る.vmd", motions / "c.vmd")
    (models.parent / "pairs.csv").write_text(
        "model,motion\nb.pmx,振る.vmd\n髪.pmx,c.vmd\n髪.pmx,none.vmd\n", "utf-8"
    )
    said = run(script("dataset_chunks"), *folders, "--pairs", models.parent / "pairs.csv", status=1)
    assert "none.vmd: FileNotFoundError" in said
    made = sorted(path.parent.relative_to(store).as_posix() for path in store.rglob("written"))
    assert made == ["b.pmx/振る.vmd", "髪.pmx/c.vmd"]


def test_the_manifest_has_a_row_for_each_pair_and_each_error(run, folders):  # noqa: F811
    models, motions, store = folders
    (models / "broken.pmx").write_bytes((models / "髪.pmx").read_bytes()[:300])
    (models / "readme.txt").touch()
    mmdskin.Motion.from_tracks([("頭", [0], None, None, None)]).save(motions / "他.vmd")
    run(script("dataset_chunks"), *folders, status=1)
    rows = {(row["model"], row["motion"]): row for row in read(run, store)[2]}
    assert {*rows} == {("broken.pmx", None), ("髪.pmx", "振る.vmd"), ("髪.pmx", "他.vmd")}
    assert rows["broken.pmx", None]["error"].startswith("FormatError: ")
    row = rows["髪.pmx", "他.vmd"]
    assert row["error"] is None
    assert row["unmatched_bones"] == ["頭"]
    assert row["frames"] == [0, 1, 1]
    assert row["terms"] == "Do not sell.\n\nSee readme.txt"
    assert len(row["model_sha256"]) == 64


@pytest.mark.parametrize("engine", ENGINES)
def test_inputs_that_kill_their_process_are_failures(run, folders, engine):  # noqa: F811
    """Each of them, and nothing else; the run ends."""
    models, motions, store = folders
    shutil.copy(models / "髪.pmx", models / "kill.pmx")
    for number in range(5):
        shutil.copy(motions / "振る.vmd", motions / f"{number}.vmd")
    said = run(PROBE, "kill", engine, *folders, "--workers", "2", status=1).splitlines()
    failed = sorted(line.split(",")[0] for line in said if line.startswith("kill.pmx/"))
    assert failed == [f"kill.pmx/{name}.vmd" for name in (0, 1, 2, 3, 4, "振る")]
    assert "2 models, 6 motions, 6 failures" in said
    assert len([*store.glob("髪.pmx/*/written/c/0")]) == 6


def test_two_hundred_pairs_with_physics(run, folders):  # noqa: F811
    models, motions, store = folders
    for number in range(19):
        shutil.copy(models / "髪.pmx", models / f"{number}.pmx")
    for number in range(9):
        chains.swing(40 + 10 * number).save(motions / f"{number}.vmd")
    said = run(script("dataset_dask"), *folders, "--physics", "--workers", "2", "--quiet")
    assert "20 models, 10 motions, 0 failures" in said
    assert len([*store.glob("*/*/written/c/0")]) == 200
    assert len(read(run, store)[2]) == 200

# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems between a zip and a running module, one step per Blender:
zip_problems.py -- STEP ZIP OLDER_ZIP FOLDER

The driver (test_zip_problems.py) runs the steps in order, each in a process and all in one profile.
FOLDER is a place for files of the steps' own.
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import addon_profile  # noqa: E402
import bpy  # noqa: E402
import scene  # noqa: E402

CLASSIC = bpy.app.version < (4, 2)
PACKAGE = "mmdskin_addon" if CLASSIC else "bl_ext.user_default.mmdskin"


def refusal():
    """The error message of a bake."""
    try:
        bpy.ops.mmdskin.bake()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("it baked")


def assert_restart_is_asked_for(zips):
    said = refusal()
    assert f"needs version {zips.new_version} of its native module" in said, said
    assert f"but {zips.old_version} is loaded: restart Blender" in said, said


def bake():
    assert bpy.ops.mmdskin.bake() == {"FINISHED"}
    assert bpy.ops.mmdskin.clear_bake() == {"FINISHED"}


def module_file():
    """The native module that is loaded."""
    return pathlib.Path(sys.modules["mmdskin._mmdskin"].__file__)


def version():
    return sys.modules["mmdskin"].__version__


def first_bake(zips):
    """Install, bake, and record the path of the module."""
    addon_profile.install(zips.new)
    make_scene()
    bake()
    zips.note("module", str(module_file()))


def after_the_scanner(zips):
    """The module was deleted since the last start, but the add-on's wheel was not."""
    pathlib.Path(zips.noted("module")).unlink()
    enable()
    make_scene()
    bake()
    zips.note("module", str(module_file()))


def after_a_thorough_scanner(zips):
    enable()
    pathlib.Path(zips.noted("module")).unlink()
    folder = pathlib.Path(sys.modules[PACKAGE].__file__).parent / "wheels"
    for wheel in folder.glob("*.whl"):
        wheel.unlink()
    for path in sys.path:
        for file in pathlib.Path(path, "mmdskin").glob("_mmdskin.*"):
            file.unlink()
    make_scene()
    said = refusal()
    assert "perhaps removed by antivirus software: install the add-on's zip again" in said, said


def removed_while_loaded(zips):
    """All files of the module vanish after the first bake; Windows keeps the one that is open."""
    addon_profile.install(zips.new)
    bpy.ops.wm.save_as_mainfile(filepath=str(zips.folder / "scene.blend"))
    make_scene()
    bake()
    native = module_file()
    for file in sorted(native.parent.rglob("*"), reverse=True):
        if file.is_dir():
            file.rmdir()
        elif sys.platform != "win32" or file != native:
            file.unlink()
    use_everything(zips.folder)


def use_everything(folder):
    """Every operator that reads, computes or writes by the module, on a model with physics."""
    from sample.character import dance
    from sample.character import model as character

    ops = bpy.ops.mmdskin
    done = {"FINISHED"}
    motion = str(dance.write_dance(folder))
    frames = dict(range="CUSTOM", frame_start=1, frame_end=3)
    scene.clear()
    assert ops.import_model(filepath=str(character.write_character(folder))) == done
    assert ops.import_motion(filepath=motion) == done
    assert ops.preview(action="ENABLE") == done
    settings = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE").mmdskin
    settings.source, settings.motion_path, settings.physics = "IK", motion, True
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 3
    assert ops.simulate() == done
    model = str(folder / "dancer.pmx")
    assert ops.fit_motion(filepath=motion, made_for=model) == done
    settings.source = "MOTION"
    for target in ("MESH_CACHE", "CORRECTIVE"):
        assert ops.bake(target=target, folder=str(folder), **frames) == done
        assert ops.clear_bake() == done
    assert ops.bake(target="SHAPE_KEYS", **frames) == done
    assert ops.export(filepath=str(folder / "dance.glb")) == done
    assert ops.export_motion(filepath=str(folder / "again.vmd")) == done
    assert ops.export_pose(filepath=str(folder / "pose.vpd")) == done
    for name in ("dance.glb", "again.vmd", "pose.vpd"):
        assert (folder / name).stat().st_size > 100, name


def update_while_loaded(zips):
    """The older version is in use when the newer one is installed over it."""
    addon_profile.install(zips.old)
    make_scene()
    bake()
    assert version() == zips.old_version, version()
    try:
        addon_profile.install(zips.new)
    except RuntimeError as error:  # Windows does not let Blender write over it
        assert "Permission denied" in str(error) and "_mmdskin.pyd" in str(error), error
        assert sys.platform == "win32"
        enable()
    assert_restart_is_asked_for(zips)


def after_the_restart(zips):
    enable()
    make_scene()
    bake()
    assert version() == zips.new_version, version()


def beside_an_older_one(zips):
    """The older version is still installed as a legacy add-on, and was used."""
    bpy.ops.preferences.addon_install(filepath=zips.old, overwrite=True)
    bpy.ops.preferences.addon_enable(module="mmdskin_addon")
    make_scene()
    bake()
    assert version() == zips.old_version, version()
    addon_profile.install(zips.new)
    assert_restart_is_asked_for(zips)


STEPS = {
    step.__name__: step
    for step in (
        first_bake,
        after_the_scanner,
        after_a_thorough_scanner,
        removed_while_loaded,
        update_while_loaded,
        after_the_restart,
        beside_an_older_one,
    )
}


class Zips:
    def __init__(self, new, old, folder):
        self.new, self.old, self.folder = new, old, pathlib.Path(folder)
        self.new_version, self.old_version = (
            pathlib.Path(p).stem.split("-")[1] for p in (new, old)
        )

    def note(self, name, text):
        (self.folder / name).write_text(text, "utf-8")

    def noted(self, name):
        return (self.folder / name).read_text("utf-8")


def enable():
    bpy.ops.preferences.addon_enable(module=PACKAGE)


def make_scene():
    import case

    scene.clear()
    scene.pose(scene.Scene(case.small_model()))


def main(step, *zips):
    STEPS[step](Zips(*zips))
    print("the step has ended", flush=True)
    os._exit(0)  # the add-on stays enabled, and its module unpacked


if __name__ == "__main__":
    main(*sys.argv[sys.argv.index("--") + 1 :])

# SPDX-License-Identifier: MIT
"""`load_motion`: VMD and VPD files, against the independent reader of motion_file and by hand."""

import random
import struct
from functools import cache

import mmdskin
import numpy as np
import pytest
from files import locations
from files import motion_file as mf
from files import pmx_file as pmx

NAMES = ["センター", "左足ＩＫ", "ソ表能", "ボーンマ", "a", "半ｶﾅ", "十五バイトの名前"]
FILES = [pytest.param(path, id=path.name) for path in locations.at_hand("vmd", "vpd")]


def assert_same(found, expected, place="motion"):
    if isinstance(expected, np.ndarray):
        # A rotation may be rounded differently.
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=1.2e-7, err_msg=place, strict=False
        )
        assert found.shape == expected.shape, place
    elif hasattr(expected, "stored"):
        assert_same(found[:6], list(expected[:6]), place)
        if found.stored is None and expected.stored is not None:  # as mmdskin writes it
            flags = [b"\0\0" if on else b"\x63\x0f" for on in found.physics]
            blocks = map(mf.block, found.interpolation, flags)
            rows = zip(found.rotations, blocks, strict=True)
            raw = b"".join(rotation.tobytes() + block for rotation, block in rows)
            assert raw == expected.stored.tobytes(), place
        elif found.stored is not None:
            assert found.stored.tobytes() == expected.stored.tobytes(), place
    elif hasattr(expected, "_fields"):
        for name in expected._fields:
            assert_same(getattr(found, name), getattr(expected, name), f"{place}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for i, pair in enumerate(zip(found, expected, strict=True)):
            assert_same(*pair, f"{place}[{i}]")
    else:
        assert found == expected, place


def assert_valid(motion):
    for track in motion.bones:
        assert (np.diff(track.frames.astype(np.int64)) > 0).all()
        assert np.isfinite(track.translations).all()
        np.testing.assert_allclose(np.linalg.norm(track.rotations, axis=1), 1, atol=1e-6)
        assert track.interpolation.max(initial=0) <= 127
    for track in motion.morphs:
        assert (np.diff(track.frames.astype(np.int64)) > 0).all()
        assert np.isfinite(track.weights).all()
    for values in (*motion.camera[1:4], *motion.light[1:], motion.shadow[2]):
        assert np.isfinite(values).all()


def random_keys(seed, scale=1):
    r = random.Random(seed)

    def numbers(n):
        return [r.uniform(-5, 5) for _ in range(n)]

    def frame():
        return r.choice([r.randrange(40), r.randrange(2**32)])

    def several(make, most):
        return [make() for _ in range(r.randrange(most))]

    def block():
        return r.choice([None, r.randbytes(64), r.randbytes(16) + bytes(48)])

    def state():
        return r.choice(NAMES), r.randrange(3)

    def bone():
        return mf.BoneKey(r.choice(NAMES), frame(), numbers(3), numbers(4), block())

    def camera():
        curves, rest = r.randbytes(24), (r.randrange(180), r.randrange(3))
        return mf.CameraKey(frame(), r.uniform(-9, 9), numbers(3), numbers(3), curves, *rest)

    return mf.Keys(
        "モデル",
        several(bone, 200 * scale),
        several(lambda: mf.MorphKey(r.choice(NAMES), frame(), r.uniform(0, 1)), 150 * scale),
        several(camera, 20 * scale),
        several(lambda: mf.LightKey(frame(), numbers(3), numbers(3)), 20 * scale),
        several(lambda: mf.ShadowKey(frame(), r.randrange(5), r.random()), 20 * scale),
        several(lambda: mf.PropertyKey(frame(), r.randrange(3), several(state, 4)), 20 * scale),
    )


def bones_of(*records):
    """The bone tracks of a VMD with these keys, by name."""
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys("", records)))
    return {track.name: track for track in motion.bones}


def one_bone_key(**members):
    return bones_of(mf.BoneKey("a", 0)._replace(**members))["a"]


@cache
def bytes_of(path):
    return path.read_bytes()


# Whole files


@pytest.mark.parametrize("path", FILES)
def test_real_files_equal_the_independent_reader(path):
    assert_same(mmdskin.load_motion(path), mf.read(path))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("last", mf.SECTIONS)
def test_a_file_may_end_after_any_section(last, version):
    for seed in range(20):
        data = mf.write_vmd(random_keys(seed), last=last, version=version)
        assert_same(mmdskin.load_motion(data), mf.read(data))


def test_a_motion_without_keys_has_no_tracks():
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys("名前")))
    assert (motion.name, motion.frame_range) == ("名前", (0, 0))
    assert len(motion.bones) == len(motion.morphs) == 0
    assert motion.camera.interpolation.shape == (0, 6, 4)
    assert motion.properties.ik_enabled.shape == (0, 0)


def test_the_frame_range_spans_all_tracks():
    keys = mf.Keys("", [mf.BoneKey("a", 7)], [mf.MorphKey("b", 5, 0.0)])
    keys = keys._replace(shadow=[mf.ShadowKey(9, 0, 0.0)])
    assert mmdskin.load_motion(mf.write_vmd(keys)).frame_range == (5, 9)


# Keys


def test_keys_are_sorted_and_the_last_of_a_frame_is_kept():
    frames = [5, 2, 5, 2**32 - 1, 0, 2, 5]
    keys = [mf.BoneKey("a", frame, (i, 0, 0)) for i, frame in enumerate(frames)]
    track = bones_of(*keys)["a"]
    assert track.frames.tolist() == [0, 2, 5, 2**32 - 1]
    assert track.translations[:, 0].tolist() == [4, 5, 6, 3]


def test_interleaved_tracks_are_separated_in_order_of_appearance():
    tracks = bones_of(*(mf.BoneKey(NAMES[i % 3], i) for i in range(9)))
    assert list(tracks) == NAMES[:3]
    assert [t.frames.tolist() for t in tracks.values()] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_numbers_that_are_not_finite_become_zero():
    track = one_bone_key(translation=(float("nan"), 2, float("-inf")))
    assert track.translations.tolist() == [[0, 2, 0]]


@pytest.mark.parametrize("bad", [(0, 0, 0, 0), (float("nan"), 0, 0, 1), (0, float("inf"), 0, 1)])
def test_rotations_without_direction_become_the_identity(bad):
    assert one_bone_key(rotation=bad).rotations.tolist() == [[0, 0, 0, 1]]


@pytest.mark.parametrize("scale", [1e-30, 0.5, 3.0, 1e10])
def test_rotations_are_normalized(scale):
    track = one_bone_key(rotation=(0, 0.6 * scale, 0, -0.8 * scale))
    np.testing.assert_allclose(track.rotations, [[0, 0.6, 0, -0.8]], atol=1e-7)


# Interpolation: the bytes of docs/mmd-behavior.md#vmd-bone-curves and #vmd-camera-curves


LINEAR = bytes.fromhex(
    "14140000141414146B6B6B6B6B6B6B6B"
    "141414141414146B6B6B6B6B6B6B6B00"
    "1414141414146B6B6B6B6B6B6B6B0000"
    "14141414146B6B6B6B6B6B6B6B000000"
)


@pytest.mark.parametrize("flag", [b"\0\0", b"\x63\x0f"])
def test_the_block_that_mmd_writes_is_a_straight_line(flag):
    block = LINEAR[:2] + flag + LINEAR[4:]
    track = one_bone_key(block=block)
    assert track.interpolation.tolist() == [[[20, 20, 107, 107]] * 4]


def test_each_channel_is_read_from_its_own_row():
    curves = np.arange(16).reshape(4, 4)
    assert (one_bone_key(block=mf.block(curves.tolist())).interpolation == curves).all()


def test_a_block_with_one_row_is_used_for_all_channels():
    block = bytes([1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24, 31, 32, 33, 34]) + bytes(48)
    track = one_bone_key(block=block)
    expected = [[c, 10 + c, 20 + c, 30 + c] for c in (1, 2, 3, 4)]
    assert track.interpolation.tolist() == [expected]


def test_curves_are_clamped_to_127():
    assert one_bone_key(block=b"\xff" * 64).interpolation.tolist() == [[[127] * 4] * 4]


def camera_of(**members):
    key = mf.CameraKey(0)._replace(**members)
    return mmdskin.load_motion(mf.write_vmd(mf.Keys(camera=[key]))).camera


def test_camera_curves_are_stored_x1_x2_y1_y2():
    curves = camera_of(block=bytes([1, 3, 2, 4] * 5 + [200, 3, 2, 4])).interpolation
    assert curves.tolist() == [[[1, 2, 3, 4]] * 5 + [[127, 2, 3, 4]]]


@pytest.mark.parametrize("byte, perspective", [(0, True), (1, False), (9, False)])
def test_projection_zero_is_perspective(byte, perspective):
    assert bool(camera_of(projection=byte).perspective[0]) is perspective


def test_unknown_shadow_modes_become_the_nearest():
    keys = [mf.ShadowKey(i, mode, 0.0) for i, mode in enumerate([0, 1, 2, 3, 255])]
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys(shadow=keys)))
    assert motion.shadow.modes.tolist() == [0, 1, 2, 2, 2]


def test_ik_that_a_key_does_not_list_is_enabled():
    keys = [mf.PropertyKey(0, 1, [("a", 0), ("b", 1)]), mf.PropertyKey(9, 0, [("b", 0)])]
    found = mmdskin.load_motion(mf.write_vmd(mf.Keys(properties=keys))).properties
    assert tuple(found.ik_names) == ("a", "b")
    assert found.visible.tolist() == [1, 0]
    assert found.ik_enabled.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("extra", [0, 1])
def test_property_records_with_an_extra_byte_are_recognized_by_the_size(extra):
    data = mf.write_vmd(mf.Keys(), last="shadow") + struct.pack("<I", 3)
    for frame in range(3):
        data += struct.pack("<IBBI", frame, 1, extra, 1) + struct.pack("<20sB", b"a", frame % 2)
    found = mmdskin.load_motion(data).properties
    assert found.frames.tolist() == [0, 1, 2]
    assert found.ik_enabled.tolist() == [[0], [1], [0]]


# Names


def test_every_two_byte_code_decodes_as_in_python():
    names = [bytes([high, low]) for high in range(1, 256) for low in range(256)]
    names = list(dict.fromkeys(mf.field(name) for name in names))
    keys = [mf.MorphKey(name, 0, 0.0) for name in names]
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys("", (), keys)))
    assert [track.name for track in motion.morphs] == [mf.decode(name) for name in names]


def test_bytes_after_the_nul_of_a_name_are_ignored():
    names = [b"a\0garbage", b"a\0other", b"a"]
    (track,) = bones_of(*(mf.BoneKey(name, i) for i, name in enumerate(names))).values()
    assert (track.name, track.frames.tolist()) == ("a", [0, 1, 2])


def test_a_name_cut_inside_a_character_keeps_the_byte_as_a_surrogate():
    (name,) = bones_of(mf.BoneKey("八文字の長い名前だ", 0))
    assert name == "八文字の長い名\udc91"


def test_names_that_differ_in_the_byte_of_a_cut_character_stay_two():
    names = ["八文字の長い名前だ", "八文字の長い名字だ"]
    assert [*bones_of(*(mf.BoneKey(name, 0) for name in names))] == [
        "八文字の長い名\udc91",
        "八文字の長い名\udc8e",
    ]


def model_with_bones(*names):
    return mmdskin.load_model(pmx.write(pmx.PMX(2.0, bones=[pmx.Bone(name) for name in names])))


def unmatched(names, *keys):
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys("", keys)))
    return tuple(motion.unmatched(model_with_bones(*names)).bones)


def test_names_that_fit_match_exactly():
    keys = [mf.BoneKey(name, 0) for name in ("センター", "右足IK", "頭")]
    assert unmatched(["センター", "右足ＩＫ", "頭"], *keys) == ("右足IK",)


def test_a_cut_name_matches_no_bone_as_in_mmd():
    key = mf.BoneKey("八文字の長い名前だ", 0)
    assert unmatched(["センター", "八文字の長い名前だ"], key) == ("八文字の長い名\udc91",)


def test_an_ik_name_ends_after_fifteen_bytes():
    full = "ああああああaあ".encode("cp932")  # MMD uses fifteen bytes of the field
    key = mf.PropertyKey(0, 1, [(full + b"\xfd\xfd\xfd", True)])
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys(properties=[key])))
    assert motion.properties.ik_names == (full.decode("cp932"),)


# VPD


POSE = mf.Keys(
    "モデル",
    [mf.BoneKey(name, 0, (i, -0.5, 1e-6), (0, 0.6, 0, 0.8)) for i, name in enumerate(NAMES)],
    [mf.MorphKey("マ", 0, 0.25), mf.MorphKey("あ", 0, 1.0)],
)


def pose(body):
    return mmdskin.load_motion(f"Vocaloid Pose Data file\r\n\r\n{body}".encode("cp932"))


@pytest.mark.parametrize("newline", ["\r\n", "\n", "\r"])
@pytest.mark.parametrize("count", [None, 0, 3, 99])
def test_a_pose_is_a_motion_of_frame_zero(count, newline):
    motion = mmdskin.load_motion(mf.write_vpd(POSE, count=count, newline=newline))
    assert_same(motion, mf.read(mf.write_vpd(POSE)))
    assert [track.name for track in motion.bones] == NAMES
    assert motion.bones[3].interpolation.tolist() == [[[20, 20, 107, 107]] * 4]


def test_the_count_of_bones_may_be_missing():
    motion = pose("x.osm;\nBone0{a\n1,2,3;\n0,0,0,1;\n}")
    assert motion.name == "x"
    assert motion.bones[0].translations.tolist() == [[1, 2, 3]]


def test_the_last_of_two_blocks_of_a_name_is_kept():
    blocks = "".join(f"Bone{x}{{a\n{x},0,0;\n0,0,0,1;\n}}\n" for x in (1, 2))
    assert pose("x.osm;\n2;\n" + blocks).bones[0].translations.tolist() == [[2, 0, 0]]


def test_unknown_blocks_are_ignored_whatever_their_characters():
    unknown = "Camera0{ボマ\n 1,2,3;\n}\n"
    motion = pose("x.osm;\n1;\n" + unknown + "Bone0{a\n1,0,0;\n0,0,0,1;\n}\n" + unknown)
    assert [track.name for track in motion.bones] == ["a"]


@pytest.mark.parametrize(
    "text, value",
    [
        ("1", 1), ("+2.5", 2.5), ("-.5", -0.5), ("5.", 5), ("1e3", 1000), ("25E-1", 2.5),
        ("0.1", 0.1), ("16777217.0000001", 16777218), ("3.4028235e38", 1e10),
        ("1e-46", 0), ("1e999", 0), ("nan", 0), ("-1.#IND00", 0), ("-nan(ind)", 0),
        ("3.14159265358979323846264338327950288419716939937510", np.pi),
    ],
)  # fmt: skip
def test_numbers_are_decimal_whatever_the_locale(text, value):
    motion = pose(f"x.osm;\n1;\nBone0{{a\n{text},0,0;\n0,0,0,1;\n}}\n")
    assert motion.bones[0].translations[0, 0] == np.float32(value)


@pytest.mark.parametrize("rotation", ["0,0,0,0", "nan,0,0,1", "1e999,0,0,0"])
def test_a_pose_without_direction_is_the_identity(rotation):
    motion = pose(f"x.osm;\n1;\nBone0{{a\n0,0,0;\n{rotation};\n}}\n")
    assert motion.bones[0].rotations.tolist() == [[0, 0, 0, 1]]


@pytest.mark.parametrize(
    "body", ["Bone0{a", "Bone0{a\n1,2,3;\n}", "Bone0{a\n1,2,3;\n0,0,0,1;\n", "Bone0{a\nx,2,3;\n"]
)
def test_an_incomplete_block_is_an_error(body):
    with pytest.raises(mmdskin.FormatError) as caught:
        pose("x.osm;\n1;\n" + body)
    assert caught.value.section == "bones[0]"


# Damage


@pytest.mark.parametrize(
    "data", [b"", b"V", b"Vocaloid Motion Dat", b"PMX ", b"\0" * 200, b"Vocaloid Pose Data fil"]
)
def test_other_data_is_a_format_error(data):
    with pytest.raises(mmdskin.FormatError):
        mmdskin.load_motion(data)


@pytest.mark.parametrize("count", [2**32 - 1, 2**31, 2**31 - 1, 10**7 + 1, 2**32 // 111 + 1, 10**6])
@pytest.mark.parametrize("section", mf.SECTIONS[:2])
def test_impossible_counts_of_keys_are_rejected(section, count):
    before = mf.write_vmd(mf.Keys(), last="bones")
    data = before[:-4] if section == "bones" else before
    with pytest.raises(mmdskin.FormatError) as caught:
        mmdskin.load_motion(data + struct.pack("<I", count) + bytes(1000))
    assert caught.value.section.startswith(section)


@pytest.mark.parametrize("junk", [b"\r\n", b"\xff" * 4, b"\xff" * 400])
@pytest.mark.parametrize("last", mf.SECTIONS[1:])
def test_what_cannot_be_a_later_section_is_ignored(last, junk):
    keys = random_keys(5)
    data = mf.write_vmd(keys, last=last)
    assert_same(mmdskin.load_motion(data + junk), mf.read(data))


@pytest.mark.parametrize("section", mf.SECTIONS)
def test_a_cut_record_is_an_error_that_names_it(section):
    full = random_keys(11)._asdict()
    keys = mf.Keys("")._replace(**{section: (full[section] * 3)[:3]})
    data = mf.write_vmd(keys, last=section)
    with pytest.raises(mmdskin.FormatError) as caught:
        mmdskin.load_motion(data[:-1])
    assert caught.value.section == f"{section}[2]"
    assert 50 < caught.value.offset < len(data)


def load_or_refuse(data, check):
    try:
        motion = mmdskin.load_motion(bytes(data))
    except mmdskin.FormatError as error:
        assert error.section
        assert 0 <= error.offset <= len(data)
    else:
        if check:
            assert_valid(motion)


@pytest.mark.parametrize("path", FILES)
def test_every_truncation_is_rejected_or_valid(path):
    data = bytes_of(path)
    places = {*range(min(200, len(data))), *range(max(0, len(data) - 100), len(data))}
    places |= set(np.linspace(0, len(data) - 1, 500).astype(int).tolist())
    for i, place in enumerate(sorted(places)):
        load_or_refuse(data[:place], i % 10 == 0)


@pytest.mark.parametrize("path", FILES)
def test_flipped_bytes_are_rejected_or_valid(path):
    data, r = bytearray(bytes_of(path)), random.Random(path.name)
    # Fewer for a dance of megabytes, which is read completely each time.
    for i in range(min(10000, 4 * 10**9 // len(data))):
        # Every second flip hits the counts and names at the start.
        place = r.randrange(len(data) if i % 2 else min(600, len(data)))
        old = data[place]
        data[place] = r.randrange(256)
        load_or_refuse(data, i % 50 == 0)
        data[place] = old

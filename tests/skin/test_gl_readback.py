# SPDX-License-Identifier: MIT
"""Results come back the same from devices of all kinds: with memory of their own or without, with buffers that stay
mapped or not."""

import pytest
from gl_scripts import python


@pytest.mark.parametrize("hardware", [0, 1])
@pytest.mark.parametrize(
    "switch, persistent", [("no_storage", 0), ("refuse_persistent", 0), ("nothing_else", 1)]
)
def test_devices_of_all_kinds_give_their_results(wrapper, hardware, switch, persistent):
    """With and without memory of their own, and buffers that stay mapped. Several passes."""
    python(
        f"""
        if "{switch}" != "nothing_else":
            tell("{switch}", 1)
        tell("hardware", {hardware})
        moves = np.tile(np.eye(4, dtype="f4"), (1501, 1, 1, 1))
        moves[:, 0, 0, 3] = np.arange(1501)
        for normals in (None, np.tile(np.float32([0, 1, 0]), (1000, 1))):
            moved = mmdskin.Mesh(POINTS, np.zeros((1000, 1), "i4"), np.ones((1000, 1)), normals=normals)
            for frames in (1, 1501, 40):
                found = mmdskin.skin(moved, moves[:frames], backend="gl")
                expected = POINTS + moves[:frames, 0, None, :3, 3]
                assert abs(found.positions - expected).max() <= 2e-4
                if normals is not None:
                    assert abs(found.normals - [0, 1, 0]).max() <= 1e-6
        assert (told("persistent_mappings") > 0) == {persistent}
        assert (told("buffer_copies") > 0) == {hardware}
        """,
        **wrapper,
    )


PICTURES = """
one = np.zeros((3, 1), "i4"), np.ones((3, 1), "f4")
corners = np.float32([[-1, -1, 0], [0, 1, 0], [1, -1, 0]])
normals = np.tile(np.float32([0, 0, -1]), (3, 1))
flat = mmdskin.Mesh(corners, *one, normals=normals, triangles=np.int32([[0, 1, 2]]))
material = mmdskin.Material(
    *("", "", (1, 0, 0, 1), (0, 0, 0), 0, (0, 0, 0), 0, (0, 0, 0, 1), 1, -1, -1, "none", -1, False),
    *("", 3))


camera = mmdskin.Camera((0, 0, -5), (0, 0, 0), (0, 1, 0), 40)


def pictures(frames=7, want=("image", "depth", "normals", "triangles"), size=(33, 20)):
    moves = np.float32([0.2, 0.1, 0]) * np.arange(frames)[:, None, None]
    posed = mmdskin.Skinned(corners + moves, np.tile(normals, (frames, 1, 1)), None)
    return mmdskin.render(flat, posed, size=size, materials=[material], want=want, camera=camera)


def same(a, b):
    return all(x is y is None or np.array_equal(x, y) for x, y in zip(a, b, strict=True))


expected = pictures()
assert told("persistent_mappings") == 0  # a software renderer: without buffers
assert len({frame.tobytes() for frame in expected.image}) == 7
wide = pictures(5, size=(700, 500))
mmdskin.shutdown()
tell("hardware", 1)
"""


@pytest.fixture
def drawn(wrapper):
    """A script that begins with pictures of a software renderer and goes on with a device."""
    return wrapper | {"before": wrapper["before"] + PICTURES}


@pytest.mark.parametrize("switch, persistent", [("no_storage", 0), ("nothing_else", 1)])
def test_pictures_that_are_read_through_buffers(drawn, switch, persistent):
    python(
        f"""
        if "{switch}" != "nothing_else":
            tell("{switch}", 1)
        mappings = told("mappings")
        assert same(pictures(), expected)
        assert told("mappings") > mappings
        assert (told("persistent_mappings") > 0) == {persistent}
        # other numbers of frames, sizes and outputs after each other
        for frames in (1, 2, 7):
            found = pictures(frames)
            assert same(found, [part[:frames] for part in expected])
        assert pictures(3, ("depth",), (200, 100)).depth.shape == (3, 100, 200)
        assert same(pictures(5, size=(700, 500)), wide)  # copied by several threads
        assert same(pictures(7, ("image", "triangles")),
                    expected._replace(depth=None, normals=None))
        """,
        **drawn,
    )


def test_a_picture_that_is_too_large_for_buffers(drawn):
    """It is read directly, between frames that are not."""
    python(
        """
        assert same(pictures(), expected)
        mappings = told("mappings")
        large = pictures(2, size=(1700, 1720))
        assert told("mappings") == mappings
        assert large.triangles[0, 860, 850] == 0 and large.triangles[0, 0, 0] == -1
        assert (large.image[0, 860, 850] == [255, 0, 0, 255]).any()
        assert same(pictures(), expected)
        """,
        **drawn,
    )


def test_pictures_that_cannot_be_mapped(drawn):
    python(
        """
        tell("no_storage", 1)
        tell("mappings_left", 2)
        try:
            pictures()
            raise AssertionError("no BackendError")
        except mmdskin.BackendError as error:
            assert str(error) == "OpenGL: the results cannot be mapped", error
        tell("mappings_left", -1)
        assert same(pictures(), expected)
        """,
        **drawn,
    )


def test_a_device_that_hangs_between_pictures(drawn):
    python(
        """
        assert same(pictures(), expected)
        tell("hang", 1)
        try:
            pictures()
            raise AssertionError("no BackendError")
        except mmdskin.BackendError as error:
            assert "has not finished within 1 s" in str(error)
        mmdskin.shutdown()
        assert told("calls_since_hang") == 0
        tell("hang", 0)
        assert same(pictures(), expected)
        """,
        MMDSKIN_GL_TIMEOUT="1",
        **drawn,
    )


# What is kept between calls


def test_textures_are_kept_within_a_limit(wrapper):
    """Of 256 MB: eleven of 2048 x 2048 pixels with mipmaps, and a small one, which counts 64 KB."""
    python(
        """
        corners = np.float32([[-1, -1, 0], [0, 1, 0], [1, -1, 0]])
        flat = mmdskin.Mesh(corners, np.zeros((3, 1), int), np.ones((3, 1)), triangles=[[0, 1, 2]])
        posed = mmdskin.Skinned(corners, None, None)
        material = mmdskin.Material(
            *("", "", (1, 1, 1, 1), (0, 0, 0), 0, (1, 1, 1), 0, (0, 0, 0, 1), 1, 0, -1, "none", -1, False),
            *("", 3))

        def alive():
            return ctypes.c_int.in_dll(driver, "textures_alive").value

        def render(textures):
            return mmdskin.render(flat, posed, materials=[material], textures=textures,
                                  uvs=np.zeros((3, 2)), size=(8, 8)).image

        def draw(value):
            return render({0: np.full((2048, 2048, 4), value, np.uint8)})

        mmdskin.render(flat, posed, materials=[], size=(8, 8))
        before = alive()
        for value in range(16):
            draw(100 + value)
            assert alive() - before == min(value + 1, 11), (value, alive() - before)
        for value in (115, 105, 110):  # kept
            color = draw(value)[6, 4]
            assert (color[:3] == value).all(), color
            assert alive() - before == 11
        for first in (0, 3000, 6000):  # of one pixel each
            texels = np.arange(first, first + 3000, dtype="<u4").view(np.uint8).reshape(-1, 1, 1, 4)
            render(dict(enumerate(texels)))
            assert alive() - before < 4096, alive() - before
        """,
        **wrapper,
    )


def test_nothing_is_kept_of_a_call_that_fails(wrapper):
    """Its textures may be incomplete."""
    python(
        """
        flat = mmdskin.Mesh(POINTS[:3], np.zeros((3, 1), int), np.ones((3, 1)), triangles=[[0, 1, 2]])
        posed = mmdskin.Skinned(POINTS[:3], None, None)

        def draw(textures):
            return mmdskin.render(flat, posed, materials=[], textures=textures, uvs=np.zeros((3, 2)),
                                  size=(8, 8))

        def alive():
            return ctypes.c_int.in_dll(driver, "textures_alive").value

        start = alive()
        draw({})
        assert alive() > start
        try:
            draw({0: np.zeros((1, 1 << 15, 4), np.uint8)})
            raise AssertionError("no error")
        except ValueError as error:
            assert "the device supports" in str(error)
        assert alive() == start
        draw({})
        """,
        **wrapper,
    )

# SPDX-License-Identifier: MIT
"""Pictures as a video, by PyAV."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from mmdskin.command_console import CommandError

if TYPE_CHECKING:
    import fractions
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


@contextlib.contextmanager
def writer(
    file: BinaryIO, size: tuple[int, int], rate: fractions.Fraction
) -> Iterator[Callable[[NDArray[np.uint8]], None]]:
    """Writes an MP4 of H.264, which every browser and phone plays. Gives a function that takes the
    next picture, (H,W,4) sRGB, on white where it is translucent.

    Raises CommandError without PyAV, and for a size that the format lacks.
    """
    try:
        import av  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise CommandError('PyAV writes videos: pip install "mmdskin[video]"') from None
    if size[0] % 2 or size[1] % 2:
        raise CommandError(f"--size {size[0]}x{size[1]}: a video needs even numbers", status=2)
    with av.open(file, "w", format="mp4") as container:
        stream: Any = container.add_stream("libx264", rate=rate, options={"crf": "18"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"

        def write(image: NDArray[np.uint8]) -> None:
            opacity = image[..., 3:] / np.float32(255)
            opaque = np.rint(image[..., :3] * opacity + 255 * (1 - opacity)).astype(np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(opaque, format="rgb24")))

        yield write
        container.mux(stream.encode())

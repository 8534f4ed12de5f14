"""Writers of small image files, from the formats' definitions alone."""

import base64
import struct
import zipfile
import zlib
from pathlib import Path

# JPEG files of 8x8 pixels: all grey (128), all red (254, 0, 0), and one of four inks.
GREY_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/wAALCAAI"
    "AAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z")
RED_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/2wBDAQME"
    "BAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBT/wAARCAAIAAgDAREAAhEBAxEB/8QAFAABAAAAAAAAAAAA"
    "AAAAAAAACP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/xAAVAQEBAAAAAAAAAAAAAAAAAAAHCf/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/ADoDFU3/2Q==")
CMYK_JPEG = base64.b64decode(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAIBgYHBgUIBwcHCQkICgwUDQwLCwwZEhMPFB0aHx4dGhwcICQuJyAiLCMcHCg3KSwwMTQ0NB8nOT04MjwuMzQy/8AAFAgACAAI"
    "BEMRAE0RAFkRAEsRAP/EABQAAQAAAAAAAAAAAAAAAAAAAAf/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/9oADgRDAE0AWQBLAAA/AH4+nw9v/9k=")


def chunk(kind: bytes, content: bytes) -> bytes:
    """Of a PNG file."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(height: int, width: int, channels: int, pixels: bytes, bits: int = 8, before: bytes = b"", after_last: bytes = b"",
        palette: bytes = b"") -> bytes:
    """PNG (ISO/IEC 15948) of rows of pixels with `bits` per channel: 1 grey or of a palette, 2 grey with transparency, 3 colours, 4 with
    transparency. before: chunks before the image's; after_last: bytes after the compressed rows."""
    line = (width * channels * bits + 7) // 8
    lines = b"".join(b"\0" + pixels[y * line:(y + 1) * line] for y in range(height))
    colours = 3 if palette else {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, bits, colours, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + (chunk(b"PLTE", palette) if palette else b"") + before
            + chunk(b"IDAT", zlib.compress(lines) + after_last) + chunk(b"IEND", b""))


def npy(shape: tuple, data: bytes, descr: str = "|u1", header: str = "", version: int = 1) -> bytes:
    """NumPy's format (numpy.lib.format) of these elements; `header` replaces the dictionary."""
    text = header or f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}"
    length = struct.calcsize("<H" if version == 1 else "<I")
    text += " " * (-(8 + length + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text.encode() + data


def write_npz(path: Path, arrays: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)


def write_folders(folder: Path, images: list[tuple[str, bytes]]) -> None:
    """Files under these names, such as train/cats/0001.png."""
    for name, content in images:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)

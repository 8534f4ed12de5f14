"""Sounds that stand for spoken digits: a rising or falling tone for each."""

import math
import random
import struct
import wave
from pathlib import Path

RATE = 8000


def sound(digit: int, seed: int) -> bytes:
    """A glide from a pitch to another that together tell the digit, with noise, of 0.2 to 0.4 s."""
    draw = random.Random(1000 * digit + seed)
    length = draw.randrange(RATE // 5, 2 * RATE // 5)
    begin, end = 300 + 250 * digit, 300 + 250 * ((digit + 3) % 10)
    phase, samples = 0.0, []
    for t in range(length):
        phase += 2 * math.pi * (begin + (end - begin) * t / length) * draw.uniform(0.98, 1.02) / RATE
        samples.append(int(6000 * math.sin(phase) + draw.uniform(-1500, 1500)))
    return struct.pack(f"<{length}h", *samples)


def record_digits(folder: Path, times: int) -> None:
    """Makes the folder, with files named as those of the Free Spoken Digit Dataset."""
    folder.mkdir()
    for digit in range(10):
        for index in range(times):
            with wave.open(str(folder / f"{digit}_anna_{index}.wav"), "wb") as file:
                file.setparams((1, 2, RATE, 0, "NONE", ""))
                file.writeframes(sound(digit, index))

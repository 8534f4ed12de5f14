#!/usr/bin/env python3
"""Makes the *.f32 files of this folder: features by torchaudio's Kaldi-compatible functions (Debian: python3-torchaudio 0.13.1)
of signals that tests/speech/signals.hpp makes by the same whole-number formulas. Each file: float32, little-endian, [frames][dim].

Usage: python3 make.py"""

from pathlib import Path

import torch
import torchaudio.compliance.kaldi as kaldi
import torchaudio.functional

FOLDER = Path(__file__).resolve().parent


def wave(phase: int) -> int:
    """Like a sine of amplitude 8192: parabolas over a phase of 16 bits."""
    x = phase % 65536 - 32768
    return x * (32768 - abs(x)) // 32768


def noise(samples: int) -> list[int]:
    """Linear congruential: white, -4096 … 4095, four times as loud in each second thousand samples."""
    state, out = 12345, []
    for t in range(samples):
        state = (1664525 * state + 1013904223) % 2**32
        out.append((state // 2**19 - 4096) * (4 if t // 1000 % 2 else 1))
    return out


def sines(samples: int) -> list[int]:
    """Three tones of 200, 1237 and 3011 steps of phase per sample, and noise, or rounding errors would fill the gaps between them."""
    return [wave(200 * t) + wave(1237 * t + 5000) // 4 + wave(3011 * t + 300) // 8 + n // 8 for t, n in enumerate(noise(samples))]


def chirp(samples: int) -> list[int]:
    """A tone that rises by 3 steps of phase per sample and sample, over an offset, with noise."""
    return [wave(100 * t + 3 * (t * (t + 1) // 2)) + 500 + n // 8 for t, n in enumerate(noise(samples))]


def save(name: str, features: torch.Tensor) -> None:
    features.contiguous().numpy().astype("<f4").tofile(FOLDER / f"{name}.f32")
    print(name, tuple(features.shape))


def main() -> None:
    signal = {f.__name__: torch.tensor([f(8000)], dtype=torch.float32) for f in (sines, chirp, noise)}
    wide = {"num_mel_bins": 40, "sample_frequency": 16000.0}
    narrow = {"num_mel_bins": 24, "sample_frequency": 8000.0}
    save("fbank_sines", kaldi.fbank(signal["sines"], **wide))
    save("fbank_chirp", kaldi.fbank(signal["chirp"], snip_edges=False, **wide))
    save("fbank_noise", kaldi.fbank(signal["noise"], snip_edges=False, use_energy=True, energy_floor=0.0, **narrow))
    save("fbank_band", kaldi.fbank(signal["noise"], low_freq=100.0, high_freq=-300.0, frame_length=20.0, window_type="hamming",
                                   remove_dc_offset=False, preemphasis_coefficient=0.5, **narrow))
    # Cepstra in double: they are sums with signs of large numbers.
    save("mfcc_chirp", kaldi.mfcc(signal["chirp"].double(), use_energy=True, energy_floor=0.0))
    mfcc = kaldi.mfcc(signal["noise"].double(), num_ceps=20, cepstral_lifter=0.0, **narrow)
    save("mfcc_noise", mfcc)
    save("deltas_noise", torchaudio.functional.compute_deltas(mfcc.T[None], win_length=5)[0].T)


if __name__ == "__main__":
    main()

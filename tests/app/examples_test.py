#!/usr/bin/env python3
"""Every example that a --help shows runs, in the order of the commands, each with what those before it made."""

import gzip
import os
import random
import shutil
import struct
import subprocess
import tomllib
import unittest
from pathlib import Path

from digit_sounds import record_digits
from generated_speech_test import TEXT, UNSEEN, has_voices
from image_files import npy, png, write_folders, write_npz
from paragrad_cli import MPIEXEC, PROGRAM, ROOT, FolderTest, help_commands, run
from plot_test import CAN_DRAW


def examples_of(command: list[str]) -> list[str]:
    """Lines that end with a backslash go on in the next."""
    block = run(*command, "--help").stdout.partition("Examples:\n")[2]
    lines = [line.removeprefix("  ") for line in block.splitlines() if line.startswith("  ")]
    return [example for example in "\n".join(lines).replace("\\\n", "").split("\n") if example]


def write_idx(folder: Path) -> None:
    """Images of 2x2 pixels of ten classes, under the names of MNIST's files."""
    folder.mkdir()
    for subset, count in (("train", 40), ("t10k", 10)):
        for kind, shape, content in (("images-idx3", [count, 2, 2], bytes(4 * count)),
                                     ("labels-idx1", [count], bytes(i % 10 for i in range(count)))):
            header = struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape)
            (folder / f"{subset}-{kind}-ubyte.gz").write_bytes(gzip.compress(header + content))


def write_kaldi_tables(folder: Path) -> None:
    """Eight utterances of three features and three classes, as text."""
    draw = random.Random(1)
    with (folder / "feats.ark").open("w") as archive, (folder / "feats.scp").open("w") as script, \
         (folder / "ali.ark").open("w") as alignments:
        for u in range(8):
            archive.write(f"u{u} ")
            script.write(f"u{u} feats.ark:{archive.tell()}\n")
            archive.write(" [ " + "\n".join(f"{draw.random()} {draw.random()} {t}" for t in range(12 + u)) + " ]\n")
            alignments.write(f"u{u} {' '.join(str(t % 3) for t in range(12 + u))}\n")


def write_cifar(folder: Path) -> None:
    """Files of CIFAR-10's binary version, all images black."""
    folder.mkdir()
    for name in (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"):
        (folder / name).write_bytes(b"".join(bytes([i % 10, i % 251]) + bytes(3071) for i in range(1001)))


def write_pictures(folder: Path) -> None:
    """Grey images of 2x2 pixels, in folders and in an .npz file beside them."""
    write_folders(folder, [(f"{subset}/{name}/{i}.png", png(2, 2, 1, bytes(range(i, i + 4))))
                           for subset in ("train", "test") for name in ("cats", "dogs") for i in range(8)])
    content, labels = npy((20, 2, 2), bytes(range(80))), npy((20,), bytes(i % 2 for i in range(20)))
    write_npz(folder.parent / "images.npz", {"x_train": content, "y_train": labels, "x_test": content, "y_test": labels})


class Examples(FolderTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        write_idx(cls.folder / "mnist")
        write_cifar(cls.folder / "cifar-10-batches-bin")
        write_pictures(cls.folder / "pictures")
        (cls.folder / "flowers.csv").write_text("length,width,species\n" + "".join(
            f"{i % 5 + 1}.5,{i},{('iris', 'rose')[i % 2]}\n" for i in range(20)))
        write_kaldi_tables(cls.folder)
        (cls.folder / "sonnets.txt").write_text("Shall I compare thee to a summer's day?\n" * 20)
        cls.run_of_text()
        record_digits(cls.folder / "recordings", 12)
        (cls.folder / "text").write_text("\n".join(TEXT) + "\n")
        (cls.folder / "other-text").write_text("\n".join(UNSEEN) + "\n")
        shutil.copy(ROOT / "tests/app/cntk/speech.cntk", cls.folder)
        for name in ("sim", "experiments"):
            (cls.folder / name).symlink_to(ROOT / name)

    @classmethod
    def run_of_text(cls) -> None:
        """What the examples of `sample` take."""
        run("data", "import-text", "--from", cls.folder / "sonnets.txt", "--tokens", "characters", "--name", "s", "--out",
            cls.folder / "text.h5").check_returncode()
        run("train", "--data", cls.folder / "text.h5", "--model", "gpt:layers=1,heads=1,width=8,context=8", "--learning-rate", 0.01, "--epochs", 1,
            "--blocks", 1, "--out", cls.folder / "runs/sonnets").check_returncode()

    def test_all_examples_run(self):
        environment = {**os.environ, "PATH": os.pathsep.join(
            [str(Path(PROGRAM).resolve().parent), str(Path(MPIEXEC).parent), os.environ["PATH"]])}
        missing = set()
        if not MPIEXEC or "MPI       none" in run("--version").stdout:
            missing.add("mpiexec")
        if not has_voices():
            missing.add("generate-speech")
        if not CAN_DRAW:
            missing.add("plot")
        commands = [[name] for name in help_commands()]
        at = commands.index(["data"])
        commands[at:at + 1] = [["data", name] for name in ("generate", *help_commands("data"))]
        seen = set()
        for command in commands:
            examples = examples_of(command)
            with self.subTest(command=command):
                self.assertTrue(any(f"paragrad {' '.join(command)} " in example + " " for example in examples), examples)
            for example in examples:
                if example in seen or missing & set(example.split()):
                    continue
                seen.add(example)
                with self.subTest(command=command, example=example):
                    done = subprocess.run(["sh", "-ec", example], cwd=self.folder, env=environment, capture_output=True, text=True,
                                          timeout=60)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        written = list(self.folder.rglob("*.toml"))
        self.assertGreater(len(written), 20)
        for path in written + list(ROOT.glob("*/*/*.toml")):
            with self.subTest(toml=path):
                tomllib.loads(path.read_text())


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""What leads out of an HDF5 file is refused in one sentence that names the other file, and never followed: links, elements in other files,
virtual arrays, also where the other file is a pipe. What stays within the file is read as ever."""

import os
import shutil
import subprocess
import unittest
from collections.abc import Callable
from pathlib import Path

import hdf5_tampering
from paragrad_cli import CliTest, run, weights

ARRAYS = ("/train/features", "/train/labels", "/valid/features", "/test/labels", "/train/offsets")
GROUPS = ("/train", "/valid")


@unittest.skipUnless(hdf5_tampering.HDF5, "needs HDF5 as a shared library")
class OutsideElements(CliTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        out = cls.folder / "run"
        trained = run("train", "--data", cls.data, "--model", "8-12-6", "--learning-rate", "0.1", "--epochs", "1", "--quiet", "--out", out)
        assert trained.returncode == 0, trained.stderr
        cls.checkpoint = out / "checkpoint.h5"
        shutil.copy(cls.data, cls.folder / "store.h5")
        shutil.copy(cls.checkpoint, cls.folder / "store-checkpoint.h5")
        (cls.folder / "bytes").write_bytes(bytes(200_000))
        os.mkfifo(cls.folder / "pipe")

    def changed(self, whole: Path | str, change: Callable[[hdf5_tampering.File], None]) -> Path:
        path = self.folder / "changed.h5"
        shutil.copy(whole, path)
        with hdf5_tampering.File(path) as file:
            change(file)
        return path

    def commands(self, data: Path) -> list[tuple]:
        return [("data", "info", data), ("data", "verify", data), ("evaluate", self.checkpoint, "--data", data),
                ("train", "--data", data, "--model", "8-12-6", "--learning-rate", "0.1", "--epochs", "1", "--quiet")]

    def all_refuse(self, data: Path, other: str) -> None:
        for command in self.commands(data):
            with self.subTest(command=command[0:2]):
                self.assert_refused(run(*command, timeout=100), str(data), f"another file, '{other}'" if other else "other files")

    def test_links_to_other_files(self):
        for other in ("store.h5", "pipe", "none.h5", str(self.folder / "store.h5")):
            for name in (*ARRAYS, *GROUPS):
                with self.subTest(other=other, object=name):
                    self.all_refuse(self.changed(self.data, lambda f: f.external_link(name, other, name)), other)

    def test_a_link_within_the_file_to_a_link_out_of_it(self):
        def change(file: hdf5_tampering.File) -> None:
            file.link_beside("/aside", "store.h5", "/train/features")
            file.soft_link("/train/features", "/aside")

        self.all_refuse(self.changed(self.data, change), "store.h5")

    def test_elements_in_other_files(self):
        for other in ("bytes", "pipe", "/etc/passwd"):
            for name in ARRAYS:
                with self.subTest(other=other, object=name):
                    self.all_refuse(self.changed(self.data, lambda f: f.external_elements(name, other)), other)

    def test_virtual_arrays(self):
        for other in ("store.h5", "pipe", "."):
            for name in ARRAYS:
                with self.subTest(other=other, object=name):
                    self.all_refuse(self.changed(self.data, lambda f: f.virtual_array(name, other, name)), "")

    def test_parameters_of_checkpoints(self):
        for change, words in ((lambda f: f.external_link("/parameters", "store-checkpoint.h5", "/parameters"), "another file, 'store-checkpoint.h5'"),
                              (lambda f: f.external_link("/parameters", "pipe", "/parameters"), "another file, 'pipe'"),
                              (lambda f: f.external_elements("/parameters", "bytes"), "another file, 'bytes'"),
                              (lambda f: f.external_elements("/parameters", "pipe"), "another file, 'pipe'"),
                              (lambda f: f.virtual_array("/parameters", "store-checkpoint.h5", "/parameters"), "virtual")):
            path = self.changed(self.checkpoint, change)
            for command in (("evaluate", path, "--data", self.data), ("sharpness", path, "--data", self.data),
                            ("train", "--init", path, "--data", self.data, "--model", "8-12-6", "--learning-rate", "0.1", "--epochs", "1")):
                with self.subTest(words=words, command=command[0]):
                    self.assert_refused(run(*command), str(path), words)

    def test_partitions_are_not_written_into_another_file(self):
        store = self.folder / "store.h5"
        self.assertEqual(run("data", "partition", store, "--workers", 2, "--blocks", 2).returncode, 0)
        before = store.read_bytes()
        path = self.folder / "elsewhere.h5"
        shutil.copy(self.data, path)
        with hdf5_tampering.File(path) as file:
            file.link_beside("/partitions", "store.h5", "/partitions")
        self.assert_refused(run("data", "partition", path, "--workers", 3, "--blocks", 2), "another file, 'store.h5'")
        self.assert_refused(run("data", "info", path), "another file, 'store.h5'")
        self.assertEqual(store.read_bytes(), before)

    def test_links_within_a_file_and_those_that_nobody_follows_change_nothing(self):
        def change(file: hdf5_tampering.File) -> None:
            file.link_beside("/mine", "pipe", "/anything")
            file.soft_link("/valid", "/test")

        def trained(data) -> subprocess.CompletedProcess:
            return run("train", "--data", data, "--model", "8-12-6", "--learning-rate", "0.1", "--epochs", "1", "--quiet")

        path = self.changed(self.data, change)
        self.assertEqual(weights(trained(path)), weights(trained(self.data)))
        self.assertEqual(run("data", "info", path).returncode, 0)

    def test_arrays_that_were_never_written_take_no_memory(self):
        path = self.changed(self.checkpoint, lambda f: f.unwritten_array("/parameters", [1_000_000_000]))
        self.assert_refused(run("evaluate", path, "--data", self.data), "1000000000 elements was never written")
        path = self.changed(self.data, lambda f: f.unwritten_array("/train/features", [500_000_000, 8]))
        self.assert_refused(run("data", "info", path), "500000000x8 elements was never written")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Code outside the tree is built with the installed package: the example as its page says, and an entry of each kind, which the tests of the catalogues find."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, ROOT, FolderTest, weights
from readme_test import BLOCK

BUILD = Path(PROGRAM).resolve().parent
OUTSIDE = ROOT / "tests/app/outside"
EXAMPLE = ROOT / "experiments/own_strategy"


class Outside(FolderTest):
    """The page's first block installs the package and builds the example."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for name, target in (("build", BUILD), ("experiments", ROOT / "experiments"), ("sim", ROOT / "sim")):
            (cls.folder / name).symlink_to(target)
        cls.environment = {**os.environ, "HOME": str(cls.folder), "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
        cls.blocks = BLOCK.findall((EXAMPLE / "README.md").read_text())
        built = cls.shell(cls.blocks[0][0])
        assert built.returncode == 0, built.stdout + built.stderr

    @classmethod
    def shell(cls, commands: str) -> subprocess.CompletedProcess:
        return subprocess.run(["sh", "-ec", commands], cwd=cls.folder, env=cls.environment, capture_output=True, text=True, timeout=300)

    def configure(self, name: str, *files: Path, lists: str = "") -> str:
        project = self.folder / name
        project.mkdir()
        for file in files:
            shutil.copy(file, project)
        if lists:
            (project / "CMakeLists.txt").write_text(lists)
        done = self.shell(f"cmake -S {project} -B {project}/build -D CMAKE_PREFIX_PATH=$HOME/paragrad -D CMAKE_BUILD_TYPE=Release")
        return " ".join(done.stderr.split())  # without CMake's line breaks

    def test_the_example_ends_in_the_same_weights_in_both_worlds(self):
        printed = ""
        for commands, expected in self.blocks[1:]:
            if "mpiexec" in commands and not MPIEXEC:
                self.skipTest("needs an MPI that starts ranks together")
            done = self.shell(commands)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            if expected:
                self.assertEqual(done.stdout, expected)
            printed += done.stdout
        hashes = re.findall("^weights sha256 ([0-9a-f]{64})$", printed, re.MULTILINE)
        self.assertEqual(len(hashes), 2, printed)
        self.assertEqual(len(set(hashes)), 1, printed)
        run = self.folder / "runs/ranks"
        self.assertIn("gossip-weight=0.25\n", (run / "config.toml").read_text())
        self.assertEqual(json.loads((run / "manifest.json").read_text())["program"]["added"],
                         {"gossip.cpp": hashlib.sha256((EXAMPLE / "gossip.cpp").read_bytes()).hexdigest()})

    def test_an_entry_of_each_kind_is_one_of_the_programs_own(self):
        self.configure("each", OUTSIDE / "CMakeLists.txt", OUTSIDE / "damped.cpp", OUTSIDE / "narrow.cpp", OUTSIDE / "slices.cpp", EXAMPLE / "gossip.cpp")
        built = self.shell("cmake --build each/build")
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        program = self.folder / "each/build/paragrad"
        self.assertRegex(subprocess.run([program, "--version"], capture_output=True, text=True).stdout,
                         r"added     gossip.cpp .*\nadded     slices.cpp .*\nadded     damped.cpp .*\nadded     narrow.cpp ")

        found = subprocess.run([sys.executable, "-W", "ignore", ROOT / "tests/app/catalogue_test.py"], capture_output=True, text=True,
                               env={**os.environ, "PARAGRAD": str(program)})
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

        data = str(self.folder / "each.h5")
        subprocess.run([program, "data", "generate", "--out", data, "--samples", "300", "--valid", "30", "--test", "30", "--dim", "8",
                        "--classes", "6"], check=True, capture_output=True)

        def train(*arguments: str, strategy: str = "data_parallel", workers: str = "2", world: str = "simulate") -> subprocess.CompletedProcess:
            emulated = ["--platform", PLATFORM] if world == "simulate" else []
            return subprocess.run([program, world, "--workers", workers, *emulated, "--data", data, "--epochs", "1", "--quiet", "--minibatch", "16",
                                   "--strategy", strategy, *arguments], capture_output=True, text=True)

        dense = ["--model", "8-12-6:sigmoid", "--learning-rate", "0.1", "--blocks", "2"]
        for workers in ("2", "4"):
            averaged = weights(train(*dense, "--mask-share", "1", strategy="sparta", workers=workers))
            for world in ("simulate", "train"):
                self.assertEqual(weights(train(*dense, "--slices", "1", strategy="slices", workers=workers, world=world)), averaged)
            in_turn = {weights(train(*dense, "--optimiser", "adamw", strategy="slices", workers=workers, world=world)) for world in ("simulate", "train")}
            self.assertEqual(len(in_turn), 1)
        known = train("--model", "8-12-6:sigmoid", "--optimiser", "momentum", "--momentum", "0.5", "--learning-rate", "0.1")
        own = train("--model", "zoo:narrow", "--optimiser", "damped", "--momentum", "0.5", "--learning-rate", "0.4", "--damping", "0.25")
        self.assertEqual(weights(own), weights(known))
        self.assert_refused(train("--model", "zoo:narrow", "--optimiser", "damped", "--damping", "2"), "--damping: '2'", "from 0 to 1")
        self.assert_refused(train("--model", "zoo:narow", "--learning-rate", "0.1"), "unknown zoo model 'narow'", ", narrow)")

    def test_a_mistake_in_the_users_project_is_named(self):
        start = "cmake_minimum_required(VERSION 3.25)\nproject(mistaken)\nfind_package(paragrad REQUIRED)\n"
        unnamed = self.configure("unnamed", lists=start + "paragrad_program(mine gossip)\n")
        self.assertIn("write STRATEGIES, OPTIMISERS or NETWORKS before 'gossip'", unnamed)
        missing = self.configure("missing", lists=start + "paragrad_program(mine STRATEGIES gossip)\n")
        self.assertIn(f"there is no {self.folder}/missing/gossip.cpp", missing)
        shutil.copy(EXAMPLE / "gossip.cpp", self.folder / "bmuf.cpp")
        known = self.configure("known", self.folder / "bmuf.cpp", lists=start + "paragrad_program(mine STRATEGIES bmuf)\n")
        self.assertIn("Paragrad has STRATEGY(bmuf) already; give yours another name", known)
        newer = self.configure("newer", lists=start.replace("paragrad R", "paragrad 99 R"))
        self.assertIn('compatible with requested version "99"', newer)


if __name__ == "__main__":
    unittest.main()

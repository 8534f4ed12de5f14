#!/usr/bin/env python3
"""Files made to exhaust their reader end in one sentence: memory is bounded by what a file contains, and nothing that nests deeply uses up
the stack. Every reader of text or archives is in the table."""

import gzip
import json
import shutil
import struct
import subprocess
import unittest
from pathlib import Path

import hdf5_tampering
from paragrad_cli import PLATFORM, PROGRAM, ROOT, CliTest, run, run_with_peak

MEGABYTE = 1_000_000


class HostileFiles(CliTest):
    def file(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path

    def assert_cheap(self, command: list, most: int) -> None:
        """Refused, with no more than `most` bytes of memory."""
        code, peak = run_with_peak(*command)
        self.assertEqual(code, 2)
        self.assertLess(peak, most)

    def test_tables_of_more_columns_than_a_network_has_inputs(self):
        for name, content in (("wide.csv", b"0," * 4 * MEGABYTE + b"0\n" + b"0," * 4 * MEGABYTE + b"0\n"),
                              ("wide.csv.gz", gzip.compress(b"0," * 4 * MEGABYTE + b"0\n", 1))):
            with self.subTest(name):
                command = ["data", "import-csv", "--from", self.file(name, content), "--out", self.folder / "out.h5", "--name", "wide"]
                self.assert_cheap(command, 150 * MEGABYTE)
                self.assert_refused(run(*command), "line 1 of", "more than 1000001 fields")

    def test_a_compressed_table_takes_memory_for_what_it_contains(self):
        path = self.file("long.csv.gz", gzip.compress(b"0,0,0,0,0,0,0,1\n0,0,0,0,0,0,0,0\n" * 400_000))
        code, peak = run_with_peak("data", "import-csv", "--from", path, "--out", self.folder / "long.h5", "--name", "long")
        self.assertEqual(code, 0)
        self.assertLess(peak, 12 * 400_000 * 32 + 50 * MEGABYTE)
        limited = subprocess.run(["/bin/sh", "-c", f"ulimit -v 600000; exec {PROGRAM} data import-csv --from {self.bomb()} --out "
                                  f"{self.folder}/bomb.h5 --name bomb"], capture_output=True, text=True)
        self.assertEqual(limited.returncode, 2, limited.stderr)
        self.assertIn("memory", limited.stderr)
        self.assertFalse((self.folder / "bomb.h5").exists())

    def bomb(self) -> Path:
        """A table of 1.6 GB in a few MB."""
        path = self.folder / "bomb.csv.gz"
        lines = gzip.compress(b"0,0,0,0,0,0,0,1\n" * 1_000_000)
        path.write_bytes(lines * 100)  # members of a gzip file follow each other
        return path

    def test_platform_files_that_nest_deeply_or_are_huge(self):
        whole = Path(PLATFORM).read_text()
        deep = {"dotted section": f"[{'a.' * 40_000}a]\n", "dotted sections": f"[[{'a.' * 40_000}a]]\n", "dotted key": f"{'a.' * 40_000}a = 1\n",
                "quoted parts": '["a"' + '."a"' * 40_000 + "]\n", "spaces": f"[{'a . ' * 40_000}a]\n", "lists": "a = " + "[" * 40_000 + "]" * 40_000 + "\n",
                "tables": "a = " + "{a = " * 40_000 + "1" + "}" * 40_000 + "\n", "unclosed": "a = " + "[" * 40_000,
                "after a string": '"""\n[["""' + "=1\n[" + "a." * 40_000 + "a]\n", "in a table": "x = {" + "a." * 40_000 + "a = 1}\n"}
        for name, text in deep.items():
            for content in (text, whole + text, text + whole):
                with self.subTest(name):
                    path = self.file("deep.toml", content.encode())
                    self.assert_refused(run("platform", path), f"'{path}', line ")
        self.assert_cheap(["platform", self.file("huge.toml", whole.encode() + b"# \n" * MEGABYTE)], 60 * MEGABYTE)
        harmless = whole + '# [a.b.c' + ".d" * 100 + "]\n" + "# " + "[" * 100 + "\n"
        self.assertEqual(run("platform", self.file("harmless.toml", harmless.encode())).returncode, 0)

    def test_configurations_of_cntk_that_nest_deeply(self):
        for text in ("a=[\n" * 20_000 + "b=1" + "\n]" * 20_000, "SGD=[" + "(" * 100_000 + ")" * 100_000 + "]", "a=[" * 100_000):
            path = self.file("deep.cntk", text.encode())
            self.assert_refused(run("import-cntk", path, "--out", self.folder / "out.toml"), str(path))

    def test_run_folders_with_json_that_nests_deeply(self):
        out = self.folder / "run"
        made = run("train", *self.task, "--out", out)
        self.assertEqual(made.returncode, 0, made.stderr)
        deep = "[" * 200_000 + "]" * 200_000
        for name in ("manifest.json", "metrics.jsonl"):
            folder = self.folder / f"deep-{name}"
            shutil.copytree(out, folder)
            content = json.loads((folder / "manifest.json").read_text()) if name == "manifest.json" else {"epoch": 1}
            (folder / name).write_text(json.dumps(content)[:-1] + f', "run": {{"rescaled": {deep}}}}}\n')
            for command in (["compare", folder, out], ["train", *self.task, "--out", folder, "--resume", "--rescale"]):
                with self.subTest(name, command=command[0]):
                    ended = run(*command)
                    self.assertIn(ended.returncode, (0, 2), ended.stderr)

    def test_models_orders_and_searches_that_repeat_a_piece_without_end(self):
        deep = "-".join(["8"] * 100_000)
        self.assertIn(run("model", f"@{self.file('deep-model', deep.encode())}").returncode, (0, 2))
        order = self.file("order.txt", b'{"format":"paragrad-order","version":1,"servers":1000000000}\n')
        self.assert_cheap(["train", *self.task, "--strategy", "async_sgd", "--replay", order], 250 * MEGABYTE)
        search = self.file("search.toml", b"a = " + b"[" * 100_000 + b"]" * 100_000 + b"\n")
        self.assert_refused(run("search", search, "--out", self.folder / "searches"), "search.toml")

    @unittest.skipUnless(hdf5_tampering.HDF5, "needs HDF5 as a shared library")
    def test_texts_of_hdf5_that_all_refer_to_one_long_text(self):
        path, count, length = self.folder / "texts.h5", 3000, 60_000
        shutil.copy(ROOT / "tests/data/foreign.h5", path)
        with hdf5_tampering.File(path) as file:
            file.texts_of_variable_length("source_sha256", [b"x" * length, *(b"%06d" % i for i in range(count))])
        self.assertEqual(run("data", "info", path).returncode, 0)
        content = bytearray(path.read_bytes())
        at = content.index(struct.pack("<I", length))
        while content[at + 16:at + 20] != content[at + 32:at + 36]:  # references to texts: length, address, number
            at = content.index(struct.pack("<I", length), at + 1)
        content[at:at + 16 * (count + 1)] = content[at:at + 16] * (count + 1)
        path.write_bytes(content)
        self.assert_cheap(["data", "info", path], 400 * MEGABYTE)
        self.assert_refused(run("data", "info", path), "source_sha256", "fits into the file")

    def test_a_kaldi_archive_that_claims_more_than_it_holds(self):
        claim = (b"\0BFM \4" + (2**31 - 1).to_bytes(4, "little") + b"\4" + (2**31 - 1).to_bytes(4, "little"))
        path = self.file("claim.ark", b"u " + claim + bytes(100))
        self.assert_cheap(["data", "import-kaldi", "--features", path, "--alignments", path, "--out", self.folder / "k.h5", "--name", "k"], 60 * MEGABYTE)


if __name__ == "__main__":
    unittest.main()

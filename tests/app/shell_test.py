#!/usr/bin/env python3
"""What a shell gets of the program: help, completions, the manual, its version, lines without control characters, an installation."""

import os
import pty
import re
import select
import shutil
import subprocess
import unittest
from pathlib import Path

from paragrad_cli import PROGRAM, ROOT, CliTest, FolderTest, help_commands, run

BUILD = Path(PROGRAM).resolve().parent
ENVIRONMENT = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"}


def options_of(command: list[str]) -> set[str]:
    """As its help lists them."""
    names = re.findall(r"^  (-\S+)", run(*command, "--help").stdout, re.MULTILINE)
    return {name for joined in names for name in joined.split(",")}


class Terminal:
    """A command that has a terminal."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def read(self, until: str | None = None) -> str:
        """What is written until this text comes, or the command ends, or nothing comes for 10 s."""
        written = ""
        while (until is None or until not in written) and select.select([self.terminal], [], [], 10.0)[0]:
            try:
                written += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:  # the other side has ended
                break
        return written

    def close(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.child, 0)


class Help(unittest.TestCase):
    def test_commands_are_grouped_by_purpose_with_a_line_each(self):
        printed = run().stdout
        self.assertEqual(printed, run("--help").stdout)
        self.assertEqual(printed, run("help").stdout)
        self.assertEqual(printed, run("--help", "evaluate", "nothing").stdout)
        listed = re.findall(r"^COMMAND\(([\w-]+), \w+, \"([^\"]+)\"\)", (ROOT / "src/app/commands.def").read_text(), re.MULTILINE)
        self.assertEqual([name for name, _ in listed], help_commands())
        for name, purpose in listed:
            section = printed.split(f"\n{purpose}:\n")[1].split("\n\n")[0]
            self.assertRegex(section, rf"(?m)^  {name} +[A-Z][^\n]+\.$")
        self.assertLess(max(map(len, printed.splitlines())), 126)

    def test_options_of_training_are_in_groups_of_a_size_to_read(self):
        for command in ("train", "simulate"):
            groups = re.findall(r"^([A-Z][^\n]+):\n((?:  +\S[^\n]*\n)+)", run(command, "--help").stdout, re.MULTILINE)
            sizes = {title: len(re.findall(r"^  -", options, re.MULTILINE)) for title, options in groups}
            self.assertGreater(len(sizes), 9)
            self.assertLess(max(sizes.values()), 17, sizes)

    def test_exit_codes_are_told_in_help_manual_and_on_the_page_of_training(self):
        codes = re.findall(r"^  (\d)  (.+)$", run("--help").stdout.split("Exit codes:\n")[1], re.MULTILINE)
        self.assertEqual([code for code, _ in codes], ["0", "1", "2", "3"])
        page = " ".join((ROOT / "src/train/README.md").read_text().split())
        manual = run("manual").stdout
        for code, meaning in codes:
            self.assertIn(f"{code} {meaning}", page)
            self.assertIn(f"{code}  {meaning}", manual)

    def test_the_version_tells_what_the_program_is_made_of(self):
        lines = run("--version").stdout.splitlines()
        self.assertRegex(lines[0], r"^paragrad \d+\.\d+\.\d+ \(commit [0-9a-z]+( with changes)?\)$")
        self.assertEqual([line.split()[0] for line in lines[1:]], ["compiler", "MPI", "BLAS", "CUDA", "HDF5"])
        self.assertRegex(lines[1], r"\w+ [\d.]+, (Release|Debug|RelWithDebInfo): -")
        self.assertRegex(lines[2], r"none$|\d+\.\d+")
        self.assertRegex(lines[3], r"OpenBLAS .*own kernels")
        self.assertRegex(lines[5], r"\d+\.\d+\.\d+$")


class BashCompletion(CliTest):
    def complete(self, *words: str) -> list[str]:
        """The last word's completions."""
        script = ('source <(paragrad completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _paragrad; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", "paragrad", *words], cwd=self.folder, env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=20)
        self.assertEqual(done.stderr, "")
        return [line for line in done.stdout.splitlines() if line]

    def test_commands_and_those_below_them(self):
        self.assertEqual(set(self.complete("")), {*help_commands(), *options_of([])})
        self.assertEqual(self.complete("sim"), ["simulate"])
        self.assertEqual(set(self.complete("data", "imp")), {"import-idx", "import-cifar", "import-images", "import-numpy", "import-csv", "import-text", "import-kaldi", "import-fsdd"})
        self.assertEqual(self.complete("data", "generate", "--sep"), ["--separation"])

    def test_every_option_of_every_command(self):
        for command in [*([name] for name in help_commands()), *(["data", name] for name in help_commands("data"))]:
            with self.subTest(command=command):
                self.assertEqual(set(self.complete(*command, "-")), options_of(command))

    def test_values_of_options_that_know_some(self):
        self.assertEqual(set(self.complete("train", "--strategy", "b")), {"bmuf", "bmuf_adam", "bounded_staleness", "backup_workers"})
        self.assertEqual(self.complete("train", "--quiet", "--strategy", "=", "dil"), ["diloco"])
        self.assertIn("ring", self.complete("collective", "--collective", "="))
        self.assertEqual(self.complete("train", "--overlap", ""), ["true", "false"])
        self.assertEqual(self.complete("compare", "--format", ""), ["text", "csv", "json", "markdown"])
        self.assertEqual(self.complete("completion", "z"), ["zsh"])
        self.assertEqual(self.complete("train", "--minibatch", ""), [])

    def test_the_values_offered_are_those_that_the_program_knows(self):
        for option in ("strategy", "collective", "compression", "optimiser", "schedule", "device", "loss", "bmuf-kind", "io", "network"):
            strategy = [] if option == "strategy" else ["--strategy", "data_parallel"]
            refused = self.simulate(1, *strategy, f"--{option}", "no-such-name")
            known = re.search(r"known: (.*)", refused.stderr).group(1)
            names = [re.match(r"\w+", name).group() for name in re.sub(r"\[.*?\]", "", known).split(", ")]
            with self.subTest(option=option):
                self.assertEqual(self.complete("simulate", f"--{option}", ""), names)

    def test_files_elsewhere(self):
        (self.folder / "my runs").mkdir()
        self.assertEqual(self.complete("train", "--data", "ta"), ["task.h5"])
        self.assertEqual(self.complete("compare", "my"), ["my runs"])
        self.assertEqual(self.complete("platform", "task"), ["task.h5"])


@unittest.skipUnless(shutil.which("zsh"), "needs zsh")
class ZshCompletion(FolderTest):
    def test_the_script_is_well_formed(self):
        script = self.folder / "_paragrad"
        script.write_text(run("completion", "zsh").stdout)
        checked = subprocess.run(["zsh", "-n", script], capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_commands_options_and_values_are_completed(self):
        (self.folder / ".zshrc").write_text("autoload -U compinit; compinit -u -D; source <(paragrad completion zsh); echo ready\n")
        zsh = Terminal(["zsh", "-i"], {**ENVIRONMENT, "ZDOTDIR": str(self.folder)}, self.folder)
        self.addCleanup(zsh.close)
        zsh.read("ready")
        for typed, completed in (("paragrad simu", "simulate"), ("paragrad data gener", "generate"),
                                 ("paragrad train --learning-rate-p", "--learning-rate-per"),
                                 ("paragrad train --optimiser lar", "lars"), ("paragrad completion ba", "bash")):
            with self.subTest(typed=typed):
                zsh.type(typed + "\t")
                self.assertIn(completed, zsh.read(completed))
                zsh.type("\x15")  # clears the line


class Manual(FolderTest):
    def test_every_command_and_option_is_in_it(self):
        manual = run("manual").stdout.replace("\\-", "-")
        for command in [[], *([name] for name in help_commands()), *(["data", name] for name in help_commands("data"))]:
            if command:
                page = manual.split(f'.SS "paragrad {" ".join(command)}"\n')[1].split("\n.S")[0]
            else:
                page = manual.split('.SH "OPTIONS"')[1].split("\n.S")[0]
            with self.subTest(command=command):
                if command != ["data"]:
                    shown = set(re.findall(r"(--[\w-]+)[,\\]", "\n".join(re.findall(r"^\.TP\n(.*)$", page, re.MULTILINE))))
                    self.assertEqual(shown, {name for name in options_of(command) if name.startswith("--") and name != "--help"})
                    self.assertTrue(not command or "Examples:" in page)

    def test_roff_and_its_readers_find_nothing_to_mend(self):
        page = self.folder / "paragrad.1"
        page.write_text(run("manual").stdout)
        checks = (["mandoc", "-T", "lint", "-W", "warning", page], ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page])
        if not any(shutil.which(check[0]) for check in checks):
            self.skipTest("needs mandoc or man")
        for check in checks:
            if shutil.which(check[0]):
                with self.subTest(check=check[0]):
                    done = subprocess.run(check, capture_output=True, text=True, env={**os.environ, "MANROFFSEQ": ""})
                    said = done.stderr if check[0] == "man" else done.stdout
                    self.assertEqual([line for line in said.splitlines() if "missing date" not in line], [])


class Progress(CliTest):
    def lines_of_a_training(self, **variables: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | variables
        terminal = Terminal([str(BUILD / "paragrad"), "train", *(word for word in self.task if word != "--quiet")], environment, self.folder)
        self.addCleanup(terminal.close)
        return terminal.read()

    def test_the_line_of_progress_is_left_out_where_plain_lines_are_asked_for(self):
        self.assertIn("\r\x1b[K", self.lines_of_a_training())
        self.assertIn("\x1b[K", self.lines_of_a_training(NO_COLOR=""))
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            written = self.lines_of_a_training(**variables)
            with self.subTest(variables=variables):
                self.assertNotIn("\x1b", written)
                self.assertNotIn("\r", written.replace("\r\n", "\n"))
                self.assertEqual(sum(line.startswith("epoch") for line in written.splitlines()), 2)


class Installation(FolderTest):
    def test_cmake_installs_the_program_its_manual_and_what_shells_complete(self):
        if not (BUILD / "cmake_install.cmake").exists():
            self.skipTest("the program is not in a build folder")
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", self.folder], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        share = self.folder / "share"
        self.assertEqual((share / "man/man1/paragrad.1").read_text(), run("manual").stdout)
        self.assertEqual((share / "bash-completion/completions/paragrad").read_text(), run("completion", "bash").stdout)
        self.assertEqual((share / "zsh/site-functions/_paragrad").read_text(), run("completion", "zsh").stdout)
        self.assertEqual({file.name for file in (share / "paragrad/python/paragrad").iterdir()},
                         {file.name for file in (ROOT / "src/python/paragrad").glob("*.py")})
        version = subprocess.run([self.folder / "bin/paragrad", "--version"], capture_output=True, text=True)
        self.assertEqual(version.stdout, run("--version").stdout)


if __name__ == "__main__":
    unittest.main()

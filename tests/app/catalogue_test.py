"""Whatever a catalogue holds is explained, completed, checked, recorded and the same in all worlds, as the tests find it there."""

import json
import re
import unittest

from paragrad_cli import PLATFORM, CliTest, run, weights

ALL = json.loads(run("help", "--format", "json").stdout)
CATALOGUES = {c["kind"]: c["entries"] for c in ALL if not c["in_text"]}
OF_TRAINING = {kind: [e for e in CATALOGUES[kind] if not e["serves"] or "allreduce" in e["serves"]]
               for kind in ("strategy", "partition", "compression", "collective", "optimiser", "schedule", "loss")}
OF_TRAINING["partition"] = [e for e in OF_TRAINING["partition"] if e["name"] != "stored"]  # which needs a file that another program has written to
SHOWN: dict[str, str] = {}  # the defaults that the parser shows: of the first entry that has an option
for option in (o for entries in CATALOGUES.values() for e in entries for o in e["options"]):
    SHOWN.setdefault(option["name"], option["default"])
OPTIONS = {o["name"]: o for entries in CATALOGUES.values() for e in entries for o in e["options"] if o["kind"]}


def beyond(option: dict) -> str:
    """A value that the option does not take."""
    limits = option["range"]
    if not limits or limits == "any number":
        return "nonsense"
    if found := re.match(r"above ([\d.e+]+)", limits):
        return found[1]
    least, _, most = limits.partition(" to ")
    if most.startswith("below "):
        return most.removeprefix("below ")
    return "-1" if least.startswith("0") else "0"


class Catalogue(CliTest):
    def chosen(self, kind: str, entry: dict) -> list[str]:
        """A small training that uses the entry."""
        name = entry["name"]
        arguments = [f"--{kind}", entry["example"]]
        if kind != "strategy":
            arguments += ["--strategy", "data_parallel" if kind == "compression" else "bmuf"]
        if name == "bmuf_adam":
            arguments += ["--optimiser", "adam"]
        if name == "table":
            arguments += ["--schedule-rates", "0.1,0.05"]
        if name == "multi_step":
            arguments += ["--schedule-milestones", "1"]
        return arguments

    def workers_of(self, entry: dict) -> int:
        return 1 if entry["summary"].endswith("on a single worker") else 2

    def test_every_entry_is_explained(self):
        self.assertLessEqual({"gelu", "resnet18", "k40m-fdr", "convolution", "cross_entropy", "cpu"}, {e["name"] for c in ALL for e in c["entries"]})
        for catalogue in ALL:
            for entry in catalogue["entries"]:
                with self.subTest(kind=catalogue["kind"], entry=entry["name"]):
                    text = run("help", entry["name"]).stdout
                    chosen = re.sub("`(.*)`", r"--\1", catalogue["in_text"] or f"`{catalogue['kind']}` {{}}").replace("{}", entry["name"] + entry["parameter"])
                    for part in (f"{entry['name']}: {entry['summary']}\n  {catalogue['kind']}; chosen by {chosen}", entry["source"], *entry["serves"]):
                        self.assertIn(part, text)
                    self.assertRegex(entry["summary"], r"[^.]$")
                    for option in entry["options"]:
                        self.assertIn(f"\n  {option['name']} " if catalogue["in_text"] else f"--{option['name']}", text)
                        self.assertIn(option["help"], text)

    def test_every_default_lies_in_its_range(self):
        seen = 0
        for option in (o for c in ALL for e in c["entries"] for o in e["options"]):
            limits = re.match(r"(above )?([\d.e+-]+) to (below )?([\d.e+-]+)", option["range"])
            if limits and re.fullmatch(r"[\d.e+-]+", option["default"]):
                seen += 1
                value, least, most = float(option["default"]), float(limits[2]), float(limits[4])
                with self.subTest(option=option["name"]):
                    self.assertTrue((least < value if limits[1] else least <= value) and (value < most if limits[3] else value <= most), option)
        self.assertGreater(seen, 50)

    def test_the_config_of_a_run_repeats_it_also_where_entries_have_different_defaults(self):
        different = []
        for kind, entries in OF_TRAINING.items():
            different += [(kind, e) for e in entries if any(o["kind"] and o["default"] != SHOWN[o["name"]] for o in e["options"])]
        self.assertIn("fp16", [entry["name"] for _, entry in different])
        for kind, entry in different:
            with self.subTest(kind=kind, entry=entry["name"]):
                out = self.folder / f"repeat-{entry['name']}"
                expected = weights(self.simulate(3, *self.chosen(kind, entry), "--out", out))
                self.assertEqual(weights(run("simulate", "--config", out / "config.toml", "--out", self.folder / f"again-{entry['name']}")), expected)

    def test_every_network_operation_and_function_can_be_used_as_its_help_says(self):
        text = {c["kind"]: c for c in ALL if c["in_text"]}
        for entry in text["zoo model"]["entries"]:
            with self.subTest(model=entry["name"]):
                self.assertEqual(run("model", f"zoo:{entry['name']}{entry['parameter']}").returncode, 0)
        for entry in text["activation function"]["entries"]:
            with self.subTest(function=entry["name"]):
                self.assertIn(f"{entry['name']}\n".strip(), run("model", f"784-512-10:{entry['name']}").stdout)
        network = self.folder / "network.txt"
        for entry in text["operation"]["entries"]:
            with self.subTest(operation=entry["name"]):
                network.write_text(f"input 8x8x4\ny = {entry['name']} input no-such-key=1\nz = affine y outputs=2\n")
                self.assertIn("no-such-key", run("model", f"file:{network}").stderr)

    def test_every_option_is_in_help_completion_and_manual(self):
        shown, completion = run("simulate", "--help").stdout, run("completion", "bash").stdout
        manual = run("manual").stdout.replace("\\", "")
        for name, option in OPTIONS.items():
            with self.subTest(option=name):
                self.assertRegex(shown, rf"\n  --{name} {option['kind']}")
                self.assertIn(f"--{name} ", completion)
                self.assertIn(f"--{name}", manual)
        for kind in CATALOGUES.keys() - {"platform"}:  # which may also be files
            for entry in CATALOGUES[kind]:
                self.assertRegex(completion, rf"\b{entry['name']}\b")

    def test_a_value_out_of_range_is_refused(self):
        for name, option in OPTIONS.items():
            if option["values"] in [[e["name"] for e in entries] for entries in OF_TRAINING.values()]:  # a name with a parameter, which only its owner checks
                continue
            with self.subTest(option=name):
                value = beyond(option)
                refused = self.simulate(2, "--strategy", "bmuf", f"--{name}", value)
                self.assert_refused(refused, f"--{name}", f"'{value}'")

    def test_every_entry_trains_and_records_the_options_that_it_uses(self):
        for kind, entries in OF_TRAINING.items():
            for entry in entries:
                if entry["name"] in ("nccl", "native", "ctc"):  # of libraries that emulated workers do not have; needs sequences
                    continue
                with self.subTest(kind=kind, entry=entry["name"]):
                    out = self.folder / f"{kind}-{entry['name']}"
                    weights(self.simulate(self.workers_of(entry), *self.chosen(kind, entry), "--out", out))
                    recorded = {line.partition("=")[0].strip() for line in (out / "config.toml").read_text().splitlines()}
                    own = {o["name"] for o in entry["options"] if o["kind"] and o["default"] == SHOWN[o["name"]]}
                    # Those refine a feature that is off here.
                    self.assertLessEqual(own - {"overlap", "quantise-threshold"}, recorded)
                    others = {o["name"] for e in entries for o in e["options"]} - {o["name"] for o in entry["options"]}
                    if kind == "strategy":
                        through = {o["name"] for e in CATALOGUES["compression"] if own & {"compression", "outer-compression"} and e["name"] == "none"
                                   for o in e["options"]}
                        self.assertFalse((others & recorded) - own - through)

    def test_every_entry_ends_in_the_same_weights_and_sends_as_much_in_all_worlds(self):
        for kind in ("strategy", "compression", "optimiser", "schedule", "loss"):
            for entry in OF_TRAINING[kind]:
                if kind == "strategy" and "servers" in {o["name"] for o in entry["options"]} or entry["name"] == "ctc":
                    continue  # asynchronous: the order of updates differs; sequences: worlds_test.py
                with self.subTest(kind=kind, entry=entry["name"]):
                    words, workers = [*self.task, *self.chosen(kind, entry)], self.workers_of(entry)
                    expected = self.outcome("simulate", "--workers", workers, "--platform", PLATFORM, *words)
                    self.assertEqual(self.outcome("train", *words, ranks=workers), expected)
                    self.assertEqual(self.outcome("train", *words, "--workers", workers), expected)

    def test_an_option_of_another_entry_is_refused_and_the_own_ones_are_named(self):
        for kind in ("strategy", "loss"):
            for entry in CATALOGUES[kind]:
                own = [o["name"] for o in entry["options"]]
                others = [o for e in CATALOGUES[kind] for o in e["options"] if o["kind"] in ("FLOAT", "UINT") and o["name"] not in own]
                for option in others[:3]:
                    with self.subTest(entry=entry["name"], option=option["name"]):
                        value = "0.5" if option["kind"] == "FLOAT" else "3"
                        refused = self.simulate(self.workers_of(entry), f"--{kind}", entry["name"], f"--{option['name']}", value)
                        self.assert_refused(refused, f"--{option['name']} is an option of the", entry["name"], *(f"--{name}" for name in own))


if __name__ == "__main__":
    unittest.main()

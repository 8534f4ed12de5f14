"""`paragrad model`: tables, JSON and Graphviz of models, and the published counts."""

import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["PARAGRAD"]

# Parameters and multiplications (multiply-adds) of one forward pass. ResNet-50: 25,557,032 parameters (torchvision's weights
# ResNet50_Weights.IMAGENET1K_V1); "3.8 x 10^9 FLOPs", multiply-adds, in table 1 of He et al., CVPR 2016. GoogLeNet:
# "a computational budget of 1.5 billion multiply-adds" in section 1 of Szegedy et al., CVPR 2015, whose table 1 counts 34
# million for the first convolution of 7x7x3x64 weights at 112x112 positions, which are 118 million; 6,998,552 parameters
# without the auxiliary classifiers, by the layers of that table.
PUBLISHED = {"zoo:resnet50": (25_557_032, 3.8e9), "zoo:googlenet": (6_998_552, 1.5e9)}


def run(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, "model", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def described(*arguments: object) -> dict:
    return json.loads(run(*arguments, "--format", "json").stdout)


class Model(unittest.TestCase):
    def test_the_published_counts(self):
        for name, (parameters, multiplications) in PUBLISHED.items():
            model = described(name)
            self.assertEqual(model["parameters"], parameters)
            self.assertAlmostEqual(model["mult_adds"] / multiplications, 1, delta=0.06)
            self.assertIn(f"{parameters:,}", run(name).stdout)

    def test_totals_are_those_of_the_nodes(self):
        for name in ("784-512-256-10:relu", "40-2xblstm32p16+peepholes-50", "zoo:inception_v3"):
            model = described(name)
            for what in ("parameters", "mult_adds", "flops", "activation_bytes"):
                self.assertEqual(model[what], sum(node[what] for node in model["nodes"]), (name, what))
            self.assertEqual(model["training_bytes"], model["replica_bytes"] + model["copy_bytes"] + model["minibatch"] * model["training_bytes_per_sample"])

    def test_a_perceptron_by_hand(self):
        model = described("7-5-3:tanh", "--minibatch", 10, "--optimiser", "adam")
        self.assertEqual([node["parameters"] for node in model["nodes"]], [40, 18])
        self.assertEqual([node["mult_adds"] for node in model["nodes"]], [35, 15])
        self.assertEqual(model["replica_bytes"], 4 * 58 * 4)  # gradient, two means
        self.assertEqual(model["copy_bytes"], 4 * 58)
        self.assertEqual(model["training_bytes_per_sample"], 4 * (2 * 7 + 5 + 3 + 5))  # the gradient of the outputs replaces them

    def test_memory_of_a_run(self):
        """The peak of a run above that of a tiny one is what the model's description says, within 10 %."""
        with tempfile.TemporaryDirectory() as folder:
            data = f"{folder}/images.h5"
            subprocess.run([PROGRAM, "data", "generate", "--out", data, "--samples", "4096", "--valid", "2048", "--test", "8", "--dim", "784",
                            "--classes", "10"], check=True, capture_output=True, timeout=60)

            def peak(model: str, minibatch: int, optimiser: str) -> int:
                out = f"{folder}/run"
                subprocess.run([PROGRAM, "train", "--data", data, "--model", model, "--minibatch", str(minibatch), "--blocks", "2",
                                "--max-blocks", "1", "--epochs", "1", "--learning-rate", "0.001", "--optimiser", optimiser, "--quiet",
                                "--out", out, "--overwrite"], check=True, capture_output=True, timeout=120)
                with open(f"{out}/manifest.json") as file:
                    return json.load(file)["finished"]["peak_memory_bytes"]

            tiny = peak("784-2-10", 16, "sgd")
            for model, minibatch, optimiser in (("zoo:lenet5", 2048, "momentum"), ("zoo:resnet:depth=8,side=28,channels=1", 256, "nesterov"),
                                                ("784-2048-2048-10:relu", 1024, "adam")):
                with self.subTest(model=model):
                    predicted = described(model, "--minibatch", minibatch, "--optimiser", optimiser)["training_bytes"]
                    ratio = (peak(model, minibatch, optimiser) - tiny) / predicted
                    self.assertAlmostEqual(ratio, 1, delta=0.1)

    def test_less_memory_than_all_values_and_their_gradients(self):
        model = described("zoo:resnet50")
        self.assertLess(model["training_bytes_per_sample"], model["activation_bytes"])

    def test_graphviz(self):
        lines = run("8-4-2", "--format", "dot").stdout.splitlines()
        self.assertEqual(lines[0], "digraph model {")
        self.assertIn('  "layer 1" -> "layer 2" [label="4"];', lines)

    def test_mistakes(self):
        for arguments, words in ((["8"], "needs an input and an output"), (["8-2", "--format", "xml"], "'xml'"),
                                 (["8-2", "--optimiser", "sdg"], "'sdg'"), (["8-2", "--minibatch", "0"], "--minibatch")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()

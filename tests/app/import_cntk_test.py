#!/usr/bin/env python3
"""paragrad import-cntk: what becomes of the SGD block of a CNTK configuration file, and what is named because nothing does."""

import math
import random
import tomllib
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, CliTest, FolderTest, run, weights

EXAMPLES = Path(__file__).parent / "cntk"
# Of a block that says nothing else: a minibatch of 256 samples, momentum 0.9 per minibatch.
MOMENTUM = {"momentum": 0.9, "unit-gain-momentum": True, "optimiser": "momentum"}
TIME_CONSTANT = {"momentum-time-constant": -256 / math.log(0.9), "unit-gain-momentum": True, "optimiser": "momentum"}


class ImportTest(FolderTest):
    def file(self, text: str | bytes) -> Path:
        path = self.folder / "sgd.cntk"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def imported(self, text: str | Path, *arguments) -> tuple[dict, list[str]]:
        """The options, and what was said on stderr without the file's name."""
        path = text if isinstance(text, Path) else self.file(text)
        result = run("import-cntk", path, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        said = [line.removeprefix(f"paragrad: {path}:") for line in result.stderr.splitlines()]
        comments = [line for line in result.stdout.splitlines() if line.startswith("# line ")]
        self.assertEqual(comments, [f"# line {line}" for line in said])
        return tomllib.loads(result.stdout), said

    def assert_options(self, text: str | Path, expected: dict, *arguments) -> list[str]:
        options, said = self.imported(text, *arguments)
        self.assertEqual(options.keys(), expected.keys())
        for option, value in expected.items():
            if isinstance(value, float):
                self.assertAlmostEqual(options[option], value, delta=1e-12 * abs(value), msg=option)
            else:
                self.assertEqual(options[option], value, option)
        return said

    def assert_part(self, text: str, expected: dict, *arguments) -> list[str]:
        options, said = self.imported(text, *arguments)
        self.assertEqual({option: options.get(option) for option in expected}, expected)
        return said

    def assert_said(self, said: list[str], *expected: tuple[int, str]) -> None:
        """These lines alone, each with this text in it."""
        self.assertEqual(len(said), len(expected), said)
        for line, (number, text) in zip(said, expected):
            self.assertTrue(line.startswith(f"{number}: "), line)
            self.assertIn(text, line)


class Examples(ImportTest):
    """The three of CNTK's wiki (Multiple GPUs and machines, September 2016), word for word, and a whole configuration."""

    def test_data_parallel_with_one_bit(self):
        said = self.assert_options(EXAMPLES / "wiki_data_parallel.cntk", {
            "strategy": "data_parallel", "gradient-bits": 1, "quantise-threshold": "zero", "minibatch": 256, **TIME_CONSTANT,
            "auto-minibatch": True, "minibatch-tuning-frequency": 3, "minibatch-error-margin": 1, "minibatch-max": 1048576,
            "minibatch-search-samples": 128000, "parallel-start-epoch": 2})
        self.assert_said(said, (1, "give --learning-rate"), (2, "'...'"), (3, "DataParallelSGD is taken"))

    def test_block_momentum(self):
        expected = {"learning-rate": 0.0005, "learning-rate-per": "sample", "strategy": "bmuf", "bmuf-kind": "nbm_cntk",
                    "sync-period": 120000, "reset-local-momentum": True, "block-learning-rate-form": "cntk", "sync-stats": 5,
                    "minibatch": 64, **TIME_CONSTANT}
        self.assertEqual(self.assert_options(EXAMPLES / "wiki_block_momentum.cntk", expected, "--workers", 4), [])
        said = self.assert_options(EXAMPLES / "wiki_block_momentum.cntk", {**expected, "minibatch": 256})
        self.assert_said(said, (1, "--workers"))

    def test_model_averaging(self):
        said = self.assert_options(EXAMPLES / "wiki_model_averaging.cntk", {
            "learning-rate": 0.002, "learning-rate-per": "sample", "strategy": "model_averaging", "sync-period": 40000,
            "sync-stats": 20, "minibatch": 64, **TIME_CONSTANT}, "--workers", 4)
        self.assertEqual(said, [])

    def test_a_whole_configuration(self):
        rates = [0.2 / 1024] * 2 + [0.1 / 1024] * 3 + [0.05 / 1024]
        said = self.assert_options(EXAMPLES / "speech.cntk", {
            "epochs": 8, "l2": 1e-5, "learning-rate": rates[0], "learning-rate-per": "sample", "schedule": "table",
            "schedule-rates": rates, "minibatch": 256, "momentum-time-constant": -1024 / math.log(0.9),
            "unit-gain-momentum": True, "optimiser": "nesterov", "strategy": "bmuf", "parallel-start-epoch": 2,
            "sync-period": 20000, "bmuf-kind": "cbm", "reset-local-momentum": False, "block-momentum-time-constant": 480000,
            "block-learning-rate": 1.5, "block-learning-rate-form": "cntk"}, "--workers", 4)
        self.assert_said(said, (23, "dropoutRate = 0.0*4:0.2"), (28, "unknown key learningRateMultiplier = 2"),
                         (29, "$unset$"), (39, "taken per worker"), (44, "autoAdjustLR = adjustAfterEpoch"), (45, "reduceLearnRateIfImproveLessThan"))


class Keys(ImportTest):
    def test_learning_rates(self):
        for text, expected in (
            ("learningRatesPerMB = 0.1", {"learning-rate": 0.1, "learning-rate-per": "minibatch", "schedule": None}),
            ("learningRatesPerSample = 0.1*5", {"learning-rate": 0.1, "learning-rate-per": "sample", "schedule": None}),
            ("LearningRatesPerMB=0.1*2:0.05", {"learning-rate": 0.1, "schedule": "table", "schedule-rates": [0.1, 0.1, 0.05]}),
            ("learningRatesPerMB = (0.1 : 0.05*3)", {"schedule-rates": [0.1, 0.05]}),
            ('learningRatesPerMB = "1:0.5"; minibatchSize = 10:50',  # per sample, since the sizes change
             {"learning-rate": 0.1, "learning-rate-per": "sample", "schedule-rates": [0.1, 0.01], "minibatch": 10}),
        ):
            with self.subTest(text=text):
                self.assert_part(text, expected)

    def test_a_schedule_of_sizes_is_named(self):
        said = self.assert_part("learningRatesPerSample = 1\nminibatchSize = 128*2:1024", {"minibatch": 128})
        self.assert_said(said, (2, "minibatchSize = 128*2:1024 changes"))

    def test_momentum_is_said_so_that_it_does_not_depend_on_the_number_of_workers(self):
        rate = "learningRatesPerSample = 1; minibatchSize = 100\n"
        averaging = "ParallelTrain = [ parallelizationMethod = ModelAveragingSGD ]"
        for text, expected in (
            ("", MOMENTUM),
            ("momentumPerMB = 0.5", {**MOMENTUM, "momentum": 0.5}),
            ("momentumPerMB = 0", {"momentum": 0, "unit-gain-momentum": None}),
            ("momentumAsTimeConstant = 2500", {"momentum-time-constant": 2500, "momentum": None, "unit-gain-momentum": True}),
            ("momentumAsTimeConstant = 0", {"momentum": 0, "unit-gain-momentum": None}),
            ("momentumPerSample = 0.5", {"momentum-time-constant": -1 / math.log(0.5)}),
            ("momentumPerMB = 0.5;" + averaging, {"momentum-time-constant": -100 / math.log(0.5), "momentum": None}),
            ("useNAG = true", {"optimiser": "nesterov"}),
        ):
            with self.subTest(text=text):
                self.assert_part(rate + text, expected, "--workers", 4)

    def test_blocks_of_all_workers_are_divided(self):
        text = "learningRatesPerSample = 1; minibatchSize = 1000\nParallelTrain = [ BlockMomentumSGD = [ blockSize = 80000 ] ]"
        self.assert_part(text, {"sync-period": 20000, "minibatch": 250}, "--workers", 4)
        said = self.assert_part(text, {"sync-period": None, "minibatch": 1000})
        self.assert_said(said, (1, "divide it"), (2, "BlockMomentumSGD is taken"), (2, "blockSize = 80000"))
        said = self.assert_part(text, {"minibatch": 333}, "--workers", 3)
        self.assertIn("1000 is not a multiple of 3", said[0])

    def test_asynchronous_workers_exchange_after_so_many_minibatches(self):
        text = "learningRatesPerSample = 1; minibatchSize = 128; momentumPerMB = 0\nParallelTrain = [ parallelizationMethod = DataParallelASGD\n"
        for more, expected in (("]", {"push-every": 8, "fetch-every": 8, "prefetch": None}), ("DataParallelASGD = [ syncPeriodPerWorker = 64 ] ]", {"push-every": 2}),
                               ("DataParallelASGD = [ syncPeriod = 8; usePipeline = true ] ]", {"push-every": 1, "fetch-every": 1, "prefetch": True})):
            with self.subTest(more):
                self.assertEqual(self.assert_part(text + more, {"strategy": "async_sgd", "minibatch": 32, **expected}, "--workers", 4), [])
        said = self.assert_part(text + "DataParallelASGD = [ simModelAverage = true\nAdjustLearningRateAtBeginning = [ adjustType = linear ] ] ]",
                                {"strategy": "async_sgd", "push-every": 2})
        self.assert_said(said, (1, "divide it"), (3, "--strategy model_averaging"), (4, "--warm-up"))

    def test_a_warm_up_has_the_unit_of_the_learning_rate(self):
        for rate, from_rate, expected in (("learningRatesPerMB = 1", "startLearnRatePerMB = 0.1", 0.1), ("learningRatesPerSample = 1", "startLearnRatePerMB = 1.6", 0.1),
                                          ("learningRatesPerMB = 1", "startLearnRatePerSample = 0.1", 1.6)):
            with self.subTest(rate, from_rate=from_rate):
                self.assertEqual(self.assert_part(f"{rate}; minibatchSize = 16; warmupEpochs = 5; {from_rate}", {"warm-up": 5, "warm-up-from": expected}), [])
        self.assert_said(self.imported("learningRatesPerMB = 1\nstartLearnRatePerMB = 1")[1], (2, "without warmupEpochs"))

    def test_the_reader_s_number_of_utterances_is_named(self):
        text = "train = [\nSGD = [ learningRatesPerSample = 1 ]\nreader = [ {}\nnbruttsineachrecurrentiter = 16 ] ]"
        self.assert_said(self.imported(text.format("frameMode = false"))[1], (4, "nbruttsineachrecurrentiter = 16"))
        self.assert_said(self.imported(text.format(""))[1], (4, "--minibatch"))
        self.assertEqual(self.imported(text.format("frameMode = true"))[1], [])

    def test_no_reason_denies_what_there_is(self):
        reasons = "\n".join(self.imported("learningRatesPerSample = 1\ndropoutRate = 0.5\nbatchNormalizationTimeConstant = 9\ngradUpdateType = adagrad\n"
                                          "batchNormalizationBlendTimeConstant = 9\nuseAdagrad = true")[1])
        self.assertNotIn("not supported", reasons)
        self.assertNotIn("only plain", reasons)
        self.assertEqual(reasons.count("network here"), 3)
        self.assertEqual(reasons.count("--optimiser adagrad"), 2)

    def test_keys_that_cntk_did_not_read_as_documented(self):
        before = "learningRatesPerSample = 1\nParallelTrain = [\nparallelizationMethod = "
        for text, period, remark in (
            ("ModelAveragingSGD\nModelAveragingSGD = [ syncPeriod = 5000 ]\n]", 5000, "every 40000 samples"),
            ("ModelAveragingSGD\nModelAveragingSGD = [ syncPeroid = 5000 ]\n]", 5000, "misspelt"),
            ("ModelAveragingSGD\nModelAveragingSGD = [ syncPeroid = 1; syncPeriod = 5000 ]\n]", 5000, "misspelt"),
        ):
            with self.subTest(text=text):
                said = self.assert_part(before + text, {"sync-period": period}, "--workers", 1)
                self.assert_said(said, (4, remark))
        said = self.assert_part(before + "DataParallelASGD\nDataParallelASGD = [ syncPeriod = 256\n"
                                "AdjustLearningRateAtBeginning = [ adjustNBMiniBatch = 9 ] ] ]", {"strategy": "async_sgd"}, "--workers", 1)
        self.assert_said(said, (3, "the servers do"), (5, "adjustNBMiniBatch"))
        said = self.assert_part("learningRatesPerSample = 1\nuseNesterovMomentum = true", {"optimiser": "nesterov"})
        self.assert_said(said, (2, "CNTK read useNAG"))

    def test_what_changes_nothing_is_passed_over_and_what_is_off_as_well(self):
        self.assertEqual(self.assert_options("""
            SGD = [
                learningRatesPerSample = 1; maxEpochs = 3
                modelPath = "$nowhere$/x"; traceLevel = 1; keepCheckPointFiles = true; numMBsToShowResult = 10
                dropoutRate = 0:0.0*3; L1RegWeight = 0; epochSize = 0; gradUpdateType = "None"; truncated = false
                clippingThresholdPerSample = infinity; gradientClippingWithTruncation = true
                ParallelTrain = [ parallelizationMethod = none ]
                AutoAdjust = [ autoAdjustLR = None; loadBestModel = true; learnRateDecreaseFactor = 0.5 ]
            ]""", {"learning-rate": 1, "learning-rate-per": "sample", "epochs": 3, "minibatch": 256, **MOMENTUM}), [])

    def test_gradients_are_clipped_as_in_cntk(self):
        for more, clip in (("", "truncate"), ("; gradientClippingWithTruncation = true", "truncate"),
                           ("; gradientClippingWithTruncation = false", "norm")):
            with self.subTest(more=more):
                self.assertEqual(self.assert_options("learningRatesPerSample = 1; clippingThresholdPerSample = 0.05" + more, {
                    "learning-rate": 1, "learning-rate-per": "sample", "minibatch": 256, "clip-gradient": 0.05, "clip": clip,
                    **MOMENTUM}), [])

    def test_what_cannot_be_expressed_is_named(self):
        for text in ("dropoutRate = 0.5", "L1RegWeight = 1e-4", "epochSize = 20000", "gradUpdateType = fsAdagrad",
                     "truncated = true", "sgdSpecial = 3"):
            with self.subTest(text=text):
                _, said = self.imported("learningRatesPerSample = 1\n" + text)
                self.assert_said(said, (2, text))

    def test_the_blocks_around_count_as_in_cntk(self):
        said = self.assert_part("n = 64; precision = double\ntrain = [\nminibatchSize = $n$\nSGD = [ learningRatesPerMB = 1 ] ]",
                                {"minibatch": 64})
        self.assert_said(said, (1, "precision = double"), (3, "outside of the SGD block"))
        said = self.assert_part("parallelTrain = false\nSGD = [ learningRatesPerSample = 1\nParallelTrain = [ DataParallelSGD "
                                "= [ gradientBits = 32*2:1; useBufferedAsyncGradientAggregation = true ] ] ]",
                                {"strategy": "data_parallel", "gradient-bits": 32, "buffered": True})
        self.assert_said(said, (1, "one worker"), (3, "is taken"), (3, "gradientBits = 32*2:1 changes"))

    def test_comments_are_those_of_cntk(self):
        self.assert_part("learningRatesPerSample = 1 # maxEpochs = 1\n  # ParallelTrain = [\nmaxEpochs = 7", {"epochs": 7})


class Training(CliTest):
    def test_an_imported_file_trains_as_its_options_do(self):
        written, imported = self.folder / "sgd.cntk", self.folder / "imported.toml"
        written.write_text("learningRatesPerMB = 0.2:0.1; minibatchSize = 16; momentumPerMB = 0.5; useNAG = true; maxEpochs = 2; "
                           "L2RegWeight = 1e-5")
        self.assertEqual(run("import-cntk", written, "--strict", "--out", imported).returncode, 0)
        task = ["train", "--data", self.data, "--model", "8-12-6:sigmoid", "--blocks", 4, "--quiet"]
        by_hand = run(*task, "--learning-rate", 0.2, "--schedule", "table", "--schedule-rates", "0.2,0.1", "--minibatch", 16,
                      "--optimiser", "nesterov", "--momentum", 0.5, "--unit-gain-momentum", "true", "--epochs", 2, "--l2", 1e-5)
        self.assertEqual(weights(run(*task, "--config", imported)), weights(by_hand))

    def test_every_example_can_be_run(self):
        platform = ["--workers", 2, "--platform", PLATFORM]
        for example in sorted(EXAMPLES.glob("*.cntk")):
            with self.subTest(example=example.name):
                imported = self.folder / "example.toml"
                self.assertEqual(run("import-cntk", example, "--workers", 2, "--out", imported).returncode, 0)
                rate = [] if "learning-rate =" in imported.read_text() else ["--lr-per-sample", 0.001]
                task = ["--data", self.data, "--model", "8-12-6:sigmoid", "--epochs", 2, "--quiet"]
                self.assertTrue(weights(run("simulate", *platform, *task, "--config", imported, *rate)))


class Program(ImportTest):
    text = "learningRatesPerMB = 0.1:0.05; momentumPerMB = 0.9; maxEpochs = 2\nsgdSpecial = 1\n"

    def test_the_file_is_written_as_it_is_printed(self):
        path, out = self.file(self.text), self.folder / "out.toml"
        printed = run("import-cntk", path).stdout
        result = run("import-cntk", path, "--out", out)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertEqual(out.read_text(), printed)

    def test_strict_refuses_what_would_get_lost(self):
        out = self.folder / "strict.toml"
        refused = run("import-cntk", self.file(self.text), "--strict", "--out", out)
        self.assert_refused(refused, "line 2: unknown key sgdSpecial = 1", "--strict")
        self.assertFalse(out.exists())
        self.assertEqual(run("import-cntk", self.file(self.text.replace("sgdSpecial = 1", "")), "--strict").returncode, 0)

    def test_damaged_files_get_one_sentence(self):
        for text, parts in (
            ("SGD = [\n maxEpochs = 1\n", ["sgd.cntk:1:", "'['", "never closed"]),
            ("maxEpochs = 1\n]\n", ["sgd.cntk:2:", "closes nothing"]),
            ("SGD = [\n a = { b = 1 ]\n", ["sgd.cntk:2:", "needs its '}'"]),
            ('modelPath = "x\nmaxEpochs = 1\n', ["sgd.cntk:1:", "never closed"]),
            ("SGD = [\n maxEpochs 1\n]", ["sgd.cntk:2:", "'maxEpochs 1'"]),
            ("hello world", ["sgd.cntk:1:", "'hello world'"]),
            ("", ["sgd.cntk"]),
            ("command = train\ntrain = [ action = train ]", ["no SGD block"]),
            ("maxEpochs = many", ["sgd.cntk:1:", "'many' is not a number"]),
            ("maxEpochs = 1.5", ["whole number"]),
            ("learningRatesPerMB = 0.1*0:1", ["0.1*5:0.05"]),
            ("learningRatesPerMB = 0.1*1000000:1", ["10000 epochs"]),
            ("learningRatesPerMB = 1\nlearningRatesPerSample = 1", ["sgd.cntk:1:", "keep one"]),
            ("minibatchSize = 0", ["minibatchSize = 0"]),
            ("minibatchSize = 10:0", ["minibatchSize = 10:0"]),
            ("momentumPerMB = 1", ["[0, 1)"]),
            ("a = $b$; b = $a$; maxEpochs = 1\nParallelTrain = [ parallelizationMethod = Hogwild ]", ["Hogwild", "BlockMomentumSGD"]),
            ("ParallelTrain = 3", ["must be a block"]),
            ("ParallelTrain = [ BlockMomentumSGD = [ resetSGDMomentum = perhaps ] ]", ["perhaps"]),
        ):
            with self.subTest(text=text):
                self.assert_refused(run("import-cntk", self.file(text)), *parts)
        self.assert_refused(run("import-cntk", self.folder / "none.cntk"), "none.cntk")
        self.assert_refused(run("import-cntk", self.folder), str(self.folder))
        self.assert_refused(run("import-cntk", self.file(self.text), "--workers", -1), "--workers")
        self.assert_refused(run("import-cntk", self.file(self.text), "--out", "/proc/forbidden"), "/proc/forbidden")

    def test_whatever_the_bytes_the_program_ends_with_an_answer(self):
        random.seed(1)
        whole = (EXAMPLES / "speech.cntk").read_bytes()
        for _ in range(60):
            damaged = bytearray(whole)
            for _ in range(random.randint(1, 8)):
                at = random.randrange(len(damaged))
                damaged[at : at + random.choice((0, 1, 1, 40))] = random.choice((b"", b"[", b"}", b"=", b'"', b"$", b"\xff", b":"))
            result = run("import-cntk", self.file(bytes(damaged)))
            self.assertIn(result.returncode, (0, 2), result.stderr)
            if result.returncode == 0:
                tomllib.loads(result.stdout)


if __name__ == "__main__":
    unittest.main()

"""A value for every option of a training, with which it changes something, and what it needs for that."""

from pathlib import Path

from paragrad_cli import PLATFORM, CliTest, run

# Option: a value other than its default, and what it needs besides its entry.
VALUES = {
    # Strategies and compressions.
    "bucket-bytes": ("100", ""), "overlap": ("false", "--bucket-bytes 100"), "compression": ("fp16", ""), "buffered": ("true", ""),
    "collective": ("parameter_server", ""), "workers-per-node": ("2", "--collective hierarchical:ring+ring"), "gradient-bits": ("8", ""),
    "error-feedback": ("false", ""), "error-decay": ("0.5", ""), "update-statistics": ("true", ""), "gather-codes": ("true", ""), "outer-compression": ("bits:2", ""), "quantise-threshold": ("mean", "--compression bits:1"), "reset-local-momentum": ("false", ""),
    "bmuf-kind": ("cbm", ""), "block-momentum": ("0.1", ""), "block-momentum-time-constant": ("500", ""), "block-learning-rate": ("0.5", ""),
    "block-learning-rate-form": ("cntk", "--block-momentum 0.9"), "slow-momentum": ("0.1", ""), "slow-learning-rate": ("0.5", ""),
    "outer-learning-rate": ("0.5", ""), "fragments": ("2", "--fragment-cut packed"), "fragment-cut": ("packed", "--model 8-9-7-5-6"), "outer-delay": ("2", ""), "eager": ("false", ""), "local-share": ("0.2", ""),
    "mask-share": ("0.5", ""), "mask": ("cycle", "--mask-share 0.3"), "group-size": ("3", "--workers 4"), "group-momentum": ("0.1", ""), "group-rate": ("0.5", ""), "group-pull": ("0.2", "--workers 4"),
    "outer-momentum": ("0.5", ""), "outer-restart": ("2", ""), "worker-speeds": ("1,0.5", "--push-every 4"), "grace": ("0.01", ""), "adaptive-learning-rate": ("0.1", ""), "adaptivity": ("0.1", ""),
    "local-start-epoch": ("1", ""), "servers": ("1", ""), "work": ("own", "--platform {uneven}"), "server-transport": ("windows", ""),
    "push-every": ("3", ""), "outer-step": ("weighted", ""), "outer-buffer": ("1", ""), "fetch-every": ("3", ""), "prefetch": ("true", ""), "staleness-bound": ("0", ""), "lazy-threshold": ("10", ""),
    "lazy-minibatches": ("2", "--lazy-threshold 10"), "elastic-rate": ("0.1", ""), "backup-workers": ("2", "--workers 4"),
    # Local optimisers.
    "beta1": ("0.5", ""), "beta2": ("0.5", ""), "epsilon": ("0.1", ""), "lars-trust": ("0.1", ""), "muon-momentum": ("0.5", ""),
    "muon-size": ("spectral", ""), "momentum-every": ("2", ""), "adamw-rate": ("0.5", ""), "qhm-nu": ("0.3", ""),
    "momentum": ("0.5", ""), "momentum-time-constant": ("100", ""), "unit-gain-momentum": ("true", ""), "l2": ("0.1", ""),
    "l2-on": ("weights", "--l2 0.1"), "clip-gradient": ("0.001", ""), "clip": ("global", "--clip-gradient 0.001"), "max-norm": ("0.1", ""),
    "optimiser": ("sgd", ""),
    # Rates.
    "learning-rate": ("0.2", ""), "learning-rate-per": ("sample", ""), "lr-per-sample": ("0.01", ""), "warm-up": ("1", ""),
    "warm-up-minibatches": ("5", ""), "warm-up-from": ("0.05", "--warm-up 1"), "schedule": ("exponential", ""), "schedule-factor": ("0.3", ""), "schedule-every": ("2", ""),
    "schedule-milestones": ("2", ""), "schedule-final": ("0.05", ""), "schedule-decay": ("0.9", ""), "newbob-improvement": ("0.001", ""),
    "newbob-restore": ("true", "--learning-rate 3 --epochs 5"), "schedule-rates": ("0.1,0.02", ""),
    # Losses.
    "loss": ("squared_error", ""), "label-smoothing": ("0.2", ""), "focal-gamma": ("1", ""),
    # The training.
    "model": ("8-11-6:sigmoid", ""), "epochs": ("3", ""), "seed": ("2", ""), "strategy": ("model_averaging", ""), "blocks": ("5", ""),
    "partition": ("dirichlet:0.5", ""), "sync-period": ("100", ""), "max-blocks": ("2", ""), "splits": ("3", "--strategy easgd"), "shuffle": ("true", ""), "tensor-parallel": ("2", ""),
    "balance": ("true", "--platform {uneven}"), "parallel-start-epoch": ("2", ""), "minibatch": ("8", ""), "micro-batch": ("4", ""),
    "target-error": ("0.99", ""), "patience": ("1", "--patience 2 --patience-gain 1 --epochs 4"),
    "patience-measure": ("loss", "--patience 1 --epochs 8 --learning-rate 0.001"), "patience-gain": ("0.9", "--patience 1 --epochs 4 --learning-rate 0.03"),
    "validations": ("2", ""), "ema-decay": ("0.5", ""), "keep-best": ("true", "--learning-rate 3 --epochs 6"),
    "context": ("2+0", "--context 1+1 --model 24-12-6:sigmoid"), "data": ("{other}", ""), "init": ("{checkpoint}", ""),
    "chunks": ("3-5+2", "--model {recurrent}"), "windows": ("random", "--data {text} --model gpt:layers=1,heads=1,width=4,context=4"), "sync-batch-norm": ("true", "--model {normalised} --strategy data_parallel"),
    "augment-pad": ("1", "--model {image_net}"), "augment-flip": ("true", "--model {image_net}"),
    "augment-cutout": ("1", "--model {image_net}"),
    "auto-minibatch": ("true", "--epochs 3"), "minibatch-tuning-frequency": ("2", "--epochs 3 --auto-minibatch"),
    "minibatch-max": ("16", "--auto-minibatch"), "minibatch-error-margin": ("1000", "--learning-rate 0.5 --auto-minibatch"),
    "minibatch-search-samples": ("100", "--auto-minibatch"),
    # Pretraining.
    **{option: (value, "--pretrain-epochs 1 --visible-units gaussian --pretrain-minibatch 20 --strategy data_parallel") for option, value in {
        "pretrain-epochs": "2", "pretrain-learning-rate": "0.01", "pretrain-momentum": "0.5", "pretrain-l2": "0.1", "pretrain-minibatch": "10",
        "pretrain-weight-deviation": "0.1", "cd-steps": "2", "persistent-chains": "true",
        "sample-reconstructions": "false", "sparsity-cost": "0.1"}.items()},
    "pretrain-activations": ("mean", "--pretrain-epochs 1 --visible-units gaussian --model 8-12-10-6:sigmoid"),
    "sparsity-target": ("0.5", "--pretrain-epochs 1 --visible-units gaussian --sparsity-cost 0.1"),
    "visible-units": ("gaussian", "--pretrain-epochs 1 --data {bits}"),
    # The simulation.
    "device": ("reference", ""), "platform": ("ethernet-1g", ""), "workers": ("3", ""), "io": ("blocking", ""), "sample-bytes": ("1000000", "--io blocking"),
    "devices-per-node": ("1", ""), "network": ("segmented", "--platform {segments}"), "device-rate": ("1000", "--device meta"),
    "train-samples": ("300", "--device meta"), "valid-samples": ("300", "--device meta"), "max-steps": ("1", "--device meta"),
}


def paired(words: list[str]) -> dict[str, str]:
    """Options and their values; the last value of an option counts."""
    return dict(zip(words[::2], words[1::2]))


def flat(options: dict[str, str]) -> list[str]:
    return [word for pair in options.items() for word in pair]


class OptionValues(CliTest):
    """With the files that the values name."""

    def training(self, options: dict[str, str]) -> dict[str, str]:
        """The small task with these options."""
        given = paired(self.task[:-1]) | options
        for option, other in (("--lr-per-sample", "--learning-rate"), ("--sync-period", "--blocks")):
            if option in given:
                del given[other]
        return given

    def given(self, option: str) -> list[str]:
        return [f"--{option}", self.filled(VALUES[option][0])]

    def needed(self, option: str) -> list[str]:
        """Options and values without which the option has nothing to change."""
        words = VALUES[option][1].split()
        values = [self.filled(after) if after and not after.startswith("--") else "true" for after in [*words[1:], ""]]
        return [one for word, value in zip(words, values) if word.startswith("--") for one in (word, value)]

    def filled(self, word: str) -> str:
        return word.format(**self.files)

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.files = {"other": cls.folder / "other.h5", "checkpoint": cls.folder / "trained/checkpoint.h5", "recurrent": "8-2xblstm6-6",
                     "uneven": cls.folder / "uneven.toml", "segments": cls.folder / "segments.toml",
                     "normalised": f"file:{cls.folder}/normalised", "image_net": f"file:{cls.folder}/images"}
        run("data", "generate", "--out", cls.files["other"], "--samples", 500, "--valid", 60, "--test", 60, "--dim", 8, "--classes", 6,
            "--sequence-length", 20, "--seed", 2).check_returncode()
        run("train", "--data", cls.data, "--model", "8-12-6:sigmoid", "--learning-rate", 0.1, "--epochs", 1, "--out",
            cls.folder / "trained").check_returncode()
        (cls.folder / "normalised").write_text("input 8\na = affine input outputs=12\nn = batch_norm a\nr = relu n\ny = affine r outputs=6\n")
        (cls.folder / "images").write_text("input 2x4x1\nc = convolution input outputs=4\nr = relu c\ny = affine r outputs=6\n")
        cls.files["bits"], table = cls.folder / "bits.h5", cls.folder / "bits.csv"
        table.write_text("a,b,c,d,e,f,g,h,class\n" + "".join(",".join([*f"{37 * i % 256:08b}", str(i % 6)]) + "\n" for i in range(200)))
        run("data", "import-csv", "--from", table, "--out", cls.files["bits"], "--name", "bits", "--valid", 40).check_returncode()
        cls.files["text"], prose = cls.folder / "text.h5", cls.folder / "prose.txt"
        prose.write_text("the cat sat on the mat. " * 10)
        run("data", "import-text", "--from", prose, "--out", cls.files["text"], "--name", "prose", "--valid", 0.2).check_returncode()
        platform = Path(PLATFORM).read_text()
        cls.files["segments"].write_text(platform.replace("[message]\n", "[message]\nsegment = \"64B\"\n"))
        cls.files["uneven"].write_text(platform + "\n[[fault]]\nat = \"0s\"\nkind = \"worker\"\nid = 1\nfactor = 0.25\n")

    def chosen(self, kind: str, entry: dict) -> list[str]:
        words = [f"--{kind}", entry["example"]]
        if kind != "strategy":
            words += ["--strategy", "data_parallel" if kind == "compression" else "bmuf"]
        return words + {"bmuf_adam": ["--optimiser", "adam"], "table": ["--schedule-rates", "0.1,0.05"], "newbob": ["--newbob-improvement", "10"],
                        "multi_step": ["--schedule-milestones", "1"]}.get(entry["name"], [])

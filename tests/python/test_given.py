"""The strategy that runs is the one that is given, and a resumed run has the one that began it."""

import importlib
import json
import os
import pickle
import subprocess
import sys
import textwrap
from dataclasses import InitVar, dataclass, field

import numpy as np
import paragrad as pg
import pytest
import strategies


@dataclass
class FromInitVar(strategies.Gossip):
    start_weight: InitVar[float] = 0.5

    def __post_init__(self, start_weight):
        self.weight = start_weight


@dataclass
class Halves(strategies.Gossip):
    def __post_init__(self):
        self.weight /= 2


@dataclass
class WithoutInit(strategies.Gossip):
    extra: float = field(default=0.5, init=False)


@dataclass(kw_only=True)
class NeedsInitVar(strategies.Gossip):
    needed: InitVar[float]

    def __post_init__(self, needed):
        self.used = needed


@dataclass
class Draws(strategies.Gossip):
    def __post_init__(self):
        self.noise = np.random.default_rng().normal(size=3)


@dataclass(slots=True)
class Slots(strategies.Averaging):
    value: float = 0.5
    late: float = field(default=1.0, init=False)


@dataclass
class Disguised(strategies.Gossip):
    def __new__(cls, *arguments, **options):
        return super().__new__(strategies.Gossip if disguises else cls)


disguises = False


def changed(strategy, **attributes):
    for name, value in attributes.items():
        setattr(strategy, name, value)
    return strategy


def without(strategy, name):
    delattr(strategy, name)
    return strategy


@pytest.mark.parametrize("given, sentence", [
    (lambda: FromInitVar(start_weight=0.25), "FromInitVar.weight is 0.25 in the object that is given, but 0.5"),
    (lambda: Halves(weight=0.5), "Halves.weight is 0.25 in the object that is given, but 0.125"),
    (lambda: changed(WithoutInit(), extra=0.25), "WithoutInit.extra is 0.25 in the object that is given, but 0.5"),
    (lambda: changed(Slots(), late=2.0), "Slots.late is 2.0 in the object that is given, but 1.0"),
    (lambda: changed(strategies.Gossip(), bias=0.25), "Gossip.bias was set on the object"),
    (lambda: changed(strategies.Gossip(), synchronise=lambda worker, replica, samples: None), "Gossip.synchronise was set on the object"),
    (lambda: changed(strategies.Gossip(), step=lambda worker, replica: None), "Gossip.step was set on the object"),
    (lambda: changed(WithoutInit(), extra=[np.zeros(2)]), r"WithoutInit.extra is \[array\(\[0., 0.\]\)\] in the object"),
    (lambda: changed(WithoutInit(), extra=np.random.default_rng(3)), "WithoutInit.extra is Generator"),
    (lambda: without(Slots(), "late"), "Slots.late was deleted"),
    (lambda: NeedsInitVar(needed=0.25), "NeedsInitVar.__init__: TypeError: .*needed"),
    (lambda: Draws(), "Draws.noise is array"),
])
def test_an_object_that_cannot_be_made_again_is_refused(four, given, sentence):
    with pytest.raises(pg.Error, match=sentence):
        pg.simulate(**four | {"strategy": given()})


def test_a_class_that_makes_other_objects_is_refused(four, monkeypatch):
    given = Disguised()
    monkeypatch.setattr(sys.modules[__name__], "disguises", True)
    with pytest.raises(pg.Error, match="Disguised makes an object of the class Gossip"):
        pg.simulate(**four | {"strategy": given})


def test_the_class_of_the_object_runs_even_if_its_name_means_another_one(four, tmp_path, monkeypatch):
    """As after a cell of a notebook was run twice, or a module was reloaded."""
    source = "import numpy as np, paragrad as pg\nclass Mine(pg.Strategy):\n    def synchronise(self, worker, replica, samples):\n        "
    file = tmp_path / "redefined.py"
    file.write_text(source + "worker.allreduce(replica.parameters); replica.parameters *= np.float32(1 / worker.size); replica.reset_momentum()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("redefined")
    first = module.Mine
    file.write_text(source + "pass\n")
    importlib.invalidate_caches()
    second = importlib.reload(module).Mine
    assert pg.simulate(**four | {"strategy": first}).weights_sha256 == pg.simulate(**four).weights_sha256
    assert pg.simulate(**four | {"strategy": second}).weights_sha256 != pg.simulate(**four).weights_sha256


@dataclass
class Counts(strategies.Averaging):
    value: float = 0.5

    def __post_init__(self):
        made.append(self)

    def start(self, worker, replica):
        started.append(self)


made: list = []
started: list = []


@pytest.mark.parametrize("run, world", [(pg.simulate, {"platform": "k40m-fdr", "workers": 4}), (pg.train, {"workers": 3}), (pg.train, {})])
@pytest.mark.parametrize("strategy", [Counts, Counts(0.25)])
def test_each_worker_has_one_object_that_is_made_once(task, run, world, strategy):
    made.clear(), started.clear()
    run(strategy=strategy, **world, **task)
    assert len(made) == len(started) == world.get("workers", 1) and set(map(id, made)) == set(map(id, started))
    assert {each.value for each in made} == {0.5 if strategy is Counts else 0.25}


@dataclass
class Appends(strategies.Averaging):
    values: list = field(default_factory=list)

    def __len__(self):
        return 0

    def start(self, worker, replica):
        self.values.append(worker.rank)
        started.append(self.values)


def test_each_worker_has_lists_of_its_own(four):
    started.clear()
    given = Appends([7])
    pg.simulate(**four | {"strategy": given})
    assert sorted(started) == [[7, rank] for rank in range(4)] and given.values == [7]


BASE = """
    import paragrad as pg, helpers
    from dataclasses import dataclass, field
    DECAY = 0.5
    TABLE = {"weights": [0.5, 0.25]}

    class Base(pg.Strategy):
        share = 1.0

        def mixed(self, own):
            \"\"\"What is kept.\"\"\"
            return own * self.share * DECAY + TABLE["weights"][0]

    def scaled(value, factor=1.0):
        return value * factor

    @dataclass
    class Mine(Base):
        weight: float = 0.5
        parts: list = field(default_factory=lambda: [1.0])

        def start(self, worker, replica):
            self.sums = replica.parameters * 0
            self.more = replica.parameters * 0

        def state(self):
            return {"sums": self.sums, "more": self.more}

        @property
        def rate(self):
            return 0.5 * self.weight

        def synchronise(self, worker, replica, samples):
            self.sums += scaled(self.mixed(replica.parameters)) * self.rate * helpers.factor()
            if len(self.parts) == 1 and samples > 0 and worker.sum(1) and fails():
                raise RuntimeError("stopped for the test")

    def fails():
        import os
        os.environ["BLOCKS"] = str(int(os.environ.get("BLOCKS", "0")) + 1)
        return int(os.environ["BLOCKS"]) == int(os.environ.get("FAILS_AT", "0"))
"""
HELPERS = "SIZE = 3\ndef factor():\n    return 0.01 * SIZE\n"


def run_of(folder, source, helpers, more="", **environment) -> str:
    """What a new process says that starts or resumes the run."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(textwrap.dedent(source))
    (folder / "helpers.py").write_text(helpers)
    script = f"""
        import sys, mine, paragrad as pg
        sys.dont_write_bytecode = True
        {more}
        try:
            print(pg.train(strategy=mine.Mine, out={str(folder / "run")!r}, resume=True, checkpoint_every=1, **OPTIONS).weights_sha256)
        except pg.Error as error:
            print(error)
        """
    done = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(script).replace("OPTIONS", repr(OPTIONS))], cwd=folder, capture_output=True, text=True,
                          env=os.environ | environment, timeout=60)
    return done.stdout.strip() or done.stderr


OPTIONS: dict = {}


@pytest.fixture
def interrupted(task, tmp_path):
    OPTIONS.update({name: str(value) for name, value in task.items()} | {"workers": "2"})
    assert "stopped for the test" in run_of(tmp_path, BASE, HELPERS, FAILS_AT="7")
    return tmp_path


@pytest.mark.parametrize("old, new, named", [
    ("DECAY + TABLE", "DECAY - TABLE", "Base.mixed"),
    ("DECAY = 0.5", "DECAY = 0.25", "DECAY"),
    ('[0.5, 0.25]', '[0.75, 0.25]', "TABLE"),
    ("share = 1.0", "share = 0.5", "Base.share"),
    ("factor=1.0", "factor=2.0", "scaled"),
    ("weight: float = 0.5", "weight: float = 0.25", "python-arguments"),
    ("lambda: [1.0]", "lambda: [2.0]", "python-arguments"),
    ("return 0.5 * self.weight", "return 0.4 * self.weight", "Mine.rate"),
    ('{"sums": self.sums, "more": self.more}', '{"sums": self.sums}', "Mine.state"),
    ("class Mine(Base)", "class Mine(Base, Other)", "Mine"),
    ("        def start", "        def begin_epoch(self, worker, replica, epoch):\n            pass\n\n        def start", "Mine.begin_epoch"),
])
def test_a_run_does_not_resume_with_other_code_and_says_what_changed(interrupted, old, new, named):
    source = BASE.replace(old, new)
    if "Other" in new:
        source = source.replace("    class Base", "    class Other:\n        pass\n\n    class Base")
    said = run_of(interrupted, source, HELPERS)
    assert "cannot resume" in said and f"{named}" in said, said
    assert len(run_of(interrupted, BASE, HELPERS)) == 64  # the right code goes on


def test_a_run_does_not_resume_with_other_helpers(interrupted):
    assert "differs in helpers.SIZE;" in run_of(interrupted, BASE, HELPERS.replace("SIZE = 3", "SIZE = 4"))
    assert "differs in helpers.factor;" in run_of(interrupted, BASE, HELPERS.replace("0.01", "0.02"))
    assert "differs in Base.share;" in run_of(interrupted, BASE, HELPERS, more="mine.Base.share = 2.0")


def test_comments_and_what_a_strategy_does_not_use_may_change(interrupted):
    source = BASE.replace("What is kept.", "What remains.").replace("    DECAY", "    # a constant\n    UNUSED = 3\n    DECAY")
    source = source.replace("0.5 * self.weight", "0.5 * self.weight  # half")
    assert len(run_of(interrupted, source, HELPERS + "\ndef unused():\n    pass\n")) == 64


def test_state_that_nobody_takes_is_refused(four, tmp_path, monkeypatch):
    def state(self):
        self.arrays = getattr(self, "arrays", {name: np.zeros(3, np.float32) for name in ("a", "b")})
        return dict(list(self.arrays.items())[:int(os.environ["ARRAYS"])])

    def synchronise(self, worker, replica, samples):
        self.blocks = getattr(self, "blocks", 0) + 1
        if self.blocks == strategies.fails_at():
            raise RuntimeError("stopped for the test")

    monkeypatch.setattr(strategies.InvalidState, "returned", state)
    monkeypatch.setattr(strategies.InvalidState, "synchronise", synchronise)
    monkeypatch.setenv("ARRAYS", "2")
    options = four | {"strategy": strategies.InvalidState, "checkpoint_every": 1, "out": tmp_path / "run"}
    with monkeypatch.context() as disturbed, pytest.raises(pg.Error, match="stopped for the test"):
        disturbed.setenv("PARAGRAD_TEST_FAILS_AT", "3")
        pg.simulate(**options)
    monkeypatch.setenv("ARRAYS", "1")
    with pytest.raises(pg.Error, match="the saved state has an array 'strategy/b', which this run does not have"):
        pg.simulate(resume=True, **options)


def test_the_manifest_records_source_and_hash(four):
    run = pg.simulate(**four | {"strategy": strategies.Gossip(weight=0.25)})
    source = run.manifest["strategy_source"]
    assert source["class"] == "strategies:Gossip" and "worker.exchange(replica.parameters" in source["source"]
    assert source["sha256"] == run.config["python-source-sha256"] == run.manifest["run"]["strategy_options"]["python-source-sha256"]
    assert {"Python", "Gossip.synchronise", "Gossip.weight"} <= source["parts"].keys() and source["numpy"] == np.__version__
    assert json.dumps(source["parts"]) == json.dumps(pg.simulate(**four | {"strategy": strategies.Gossip}).manifest["strategy_source"]["parts"])
    assert "strategy_source" not in pg.simulate(**four).manifest
    momentum = pg.simulate(**four | {"strategy": strategies.Momentum}).manifest["strategy_source"]
    assert "fails_at" in momentum["parts"]


def test_source_that_is_no_longer_what_runs_is_not_recorded(four, tmp_path, monkeypatch):
    file = tmp_path / "edited.py"
    text = "import paragrad as pg\nclass Mine(pg.Strategy):\n    def synchronise(self, worker, replica, samples):\n        worker.sum(1)\n"
    file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module("edited").Mine
    before = pg.simulate(**four | {"strategy": mine}).manifest["strategy_source"]
    file.write_text(text.replace("sum(1)", "sum(2)"))
    after = pg.simulate(**four | {"strategy": mine}).manifest["strategy_source"]
    assert "worker.sum(1)" in before["source"] and after["source"] is None and after["sha256"] == before["sha256"]


def test_the_source_of_a_notebooks_class_is_recorded(task, tmp_path):
    """IPython compiles each statement of a cell by itself, under a file name that no file has."""
    pytest.importorskip("IPython")
    cell = """
import numpy as np, paragrad as pg
from dataclasses import dataclass
@dataclass
class Mine(pg.Strategy):
    weight: float = 0.5
    def synchronise(self, worker, replica, samples):
        replica.parameters *= np.float32(self.weight)
print(pg.train(strategy=Mine, **task).manifest["strategy_source"]["source"])
"""
    script = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("task = " + {repr({name: str(value) for name, value in task.items()})!r})
shell.run_cell({cell!r})
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert "@dataclass\nclass Mine(pg.Strategy):\n    weight: float = 0.5\n" in done.stdout and done.stdout.rstrip().endswith("np.float32(self.weight)"), done.stderr


class Scale:
    def __init__(self, factor):
        self.factor = factor


SCALE = Scale(0.5)


class Scales(strategies.Averaging):
    def start(self, worker, replica):
        replica.parameters *= np.float32(SCALE.factor)


def test_a_hash_is_the_same_each_time_and_changes_with_the_objects_that_are_used(four, monkeypatch):
    pickle.dumps(SCALE)  # which leaves something in the class
    hashes = [pg.simulate(**four | {"strategy": Scales}).config["python-source-sha256"] for _ in range(2)]
    monkeypatch.setattr(SCALE, "factor", 0.25)
    assert hashes[0] == hashes[1] != pg.simulate(**four | {"strategy": Scales}).config["python-source-sha256"]


@pytest.mark.parametrize("first", [0, 1])
def test_a_hash_does_not_depend_on_the_process(first, tmp_path):
    """Sets are in another order in each, and saving an object leaves something in its class."""
    (tmp_path / "varied.py").write_text(textwrap.dedent("""
        import enum, functools, collections, random, paragrad as pg
        class Mode(enum.Enum):
            A = 1
        class Helper:
            def __call__(self, x):
                return x
        HELPER, PAIR, RNG = Helper(), collections.namedtuple("Pair", "a b")(1, {"x", "y", "z"}), random.Random(3)
        @functools.lru_cache
        def cached(n):
            return n in {"a", "b", "c"}
        class Mine(pg.Strategy):
            mode = Mode.A
            def synchronise(self, worker, replica, samples):
                return Helper, HELPER, PAIR, RNG, cached, self.mode, {"a", "b", "c"}
        """))
    script = "import pickle, varied; from paragrad.source import parts_of; pickle.dumps(varied.HELPER); print(parts_of(varied.Mine))"
    if first:
        script = "import varied; from paragrad.source import parts_of; print(parts_of(varied.Mine))"
    said = {subprocess.run([sys.executable, "-B", "-c", text], capture_output=True, text=True, cwd=tmp_path,
                           env=os.environ | {"PYTHONHASHSEED": str(seed)}).stdout
            for seed, text in ((1, script), (2, script), (3, script.replace("print", "parts_of(varied.Mine); print")))}
    assert len(said) == 1 and "Mine.synchronise" in said.pop()

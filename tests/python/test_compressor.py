"""Compressors written in Python: bytes that are counted, the same weights in all worlds, and sentences for what goes wrong."""

import models
import numpy as np
import paragrad as pg
import pytest
from test_strategy import launch

RUNS = {"gradients": {"strategy": "data_parallel"}, "gathered": {"strategy": "data_parallel", "gather_codes": True, "error_decay": 0.9},
        "without feedback": {"strategy": "data_parallel", "error_feedback": False, "bucket_bytes": 300}}
MEETINGS = {"displacements": {"strategy": "diloco"}, "fragments": {"strategy": "streaming_diloco", "fragments": 2, "fragment_cut": "packed"}}


def options_of(task, case, compressor):
    name = "compression" if case in RUNS else "outer_compression"
    return task | (RUNS | MEETINGS)[case] | {name: compressor}


@pytest.mark.parametrize("case", [*RUNS, *MEETINGS])
@pytest.mark.parametrize("kind", [models.Sign, models.LowRank])
def test_all_worlds_end_in_the_same_weights(task, case, kind, mpiexec, tmp_path):
    options = options_of(task, case, kind())
    emulated = pg.simulate(workers=3, platform="k40m-fdr", **options)
    assert pg.train(workers=3, **options).weights_sha256 == emulated.weights_sha256
    assert emulated.result["valid_error"] < 0.75
    done = launch(mpiexec, tmp_path, f"""
        import paragrad as pg, models, test_compressor
        run = pg.train(**test_compressor.options_of({dict(task, data=str(task["data"]))}, {case!r}, models.{kind.__name__}()))
        if run:
            print(run.weights_sha256)
        """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [emulated.weights_sha256]


@pytest.mark.parametrize("case", ["gradients", "gathered", "displacements"])
def test_a_code_that_loses_nothing_changes_little(four, case):
    exact = pg.simulate(**four | options_of({}, case, models.Exact()))
    name = "compression" if case in RUNS else "outer_compression"
    plain = {key: value for key, value in options_of({}, case, None).items() if key not in ("gather_codes", "error_decay")}
    wanted = pg.simulate(**four | plain)
    np.testing.assert_allclose(exact.weights, wanted.weights, atol=1e-5)
    assert exact.config[name.replace("_", "-")].startswith("python:Exact@")


def test_bytes_and_time_follow_from_the_code(four):
    sign, exact = (pg.simulate(**four | {"strategy": "diloco", "outer_compression": kind(), "gather_codes": True, "platform": "ethernet-1g"})
                   for kind in (models.Sign, models.Exact))
    sizes = [20 * 32, 32, 32 * 5, 5]
    code = sum(-(-(-(-size // 8) + 4) // 4) * 4 for size in sizes)
    meetings, others, samples = 6, 3, 4  # a number of 8 bytes is summed over the workers at each meeting
    assert sign.result["sent_bytes"] - meetings * others * code == pytest.approx(exact.result["sent_bytes"] - meetings * others * 4 * sum(sizes))
    assert sign.result["training_s"] < exact.result["training_s"]


@pytest.mark.parametrize("kind, message", [
    (models.Varies, r"Varies.encode must return as many bytes for every array of the shape \(\d+"),
    (models.Texts, "Texts.encode must return bytes or an array, not str"),
    (models.Shortens, r"Shortens.decode must return an array of numbers of the shape \("),
    (models.DrawsCode, "DrawsCode.encode draws from a global generator of random numbers, .*: draw from one of a fixed seed"),
    (models.Breaks, "Breaks.decode: KeyError: 'code' .*models.py, line")])
@pytest.mark.parametrize("case", ["gradients", "displacements"])
def test_what_goes_wrong_is_said_in_a_sentence(four, kind, message, case):
    with pytest.raises(pg.Error, match=message) as raised:
        pg.simulate(**four | options_of({}, case, kind()))
    assert "\n" not in str(raised.value)


def test_what_is_no_compressor_is_refused(four):
    with pytest.raises(pg.Error, match="compression must be a text or an object of a class derived from paragrad.Compressor, not type"):
        pg.simulate(**four | {"strategy": "data_parallel", "compression": models.Sign})
    with pytest.raises(pg.Error, match="compression and outer_compression must be the same object"):
        pg.simulate(**four | {"strategy": "diloco", "compression": models.Sign(), "outer_compression": models.Exact()})
    with pytest.raises(pg.Error, match="'Sign@0' is a compressor in Python: give the object itself"):
        pg.simulate(**four | {"strategy": "data_parallel", "compression": "python:Sign@0"})


def test_its_source_is_recorded_and_its_attributes_count(four):
    runs = [pg.simulate(**four | {"strategy": "diloco", "outer_compression": models.Slotted(scale)}) for scale in (1.0, 2.0)]
    assert runs[0].config["outer-compression"] != runs[1].config["outer-compression"]
    source = runs[0].manifest["compressor_source"]
    assert source["class"] == "models:Slotted" and "class Slotted(Exact)" in source["source"]
    assert runs[0].config["outer-compression"] == f"python:Slotted@{source['sha256'][:16]}"


def test_a_run_goes_on_with_the_same_compressor_only(four, tmp_path):
    options = four | {"strategy": "diloco", "outer_compression": models.Sign(), "checkpoint_every": 1}
    pg.simulate(**options, out=tmp_path / "run")
    with pytest.raises(pg.Error, match="cannot resume: .*'outer-compression'"):
        pg.simulate(**options | {"outer_compression": models.Exact()}, out=tmp_path / "run", resume=True)

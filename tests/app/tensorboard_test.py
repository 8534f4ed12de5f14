#!/usr/bin/env python3
"""--tensorboard: an event file says what metrics.jsonl and config.toml say, to a reader of the published formats."""

import json
import os
import signal
import struct
import subprocess
import time
import tomllib
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, PROGRAM, CliTest, run, weights

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata as hparams_metadata
except ImportError:
    EventAccumulator = None

NAME = "events.out.tfevents.paragrad"
NO_HYPERPARAMETERS = {"checkpoint-every", "config", "host-threads", "out", "quiet", "record", "sync-stats", "tensorboard",
                      "timeline", "timeline-events"}
PLACES = {"epoch", "samples", "blocks", "layer"}


def masked_crc(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def records(path: Path) -> list[bytes]:
    """The data of a TFRecord file, every checksum of which is right."""
    content, found = path.read_bytes(), []
    while content:
        length, check = content[:8], content[8:12]
        assert check == masked_crc(length)
        end = 12 + struct.unpack("<Q", length)[0]
        data = content[12:end]
        assert content[end:end + 4] == masked_crc(data)
        found.append(data)
        content = content[end + 4:]
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(message: bytes) -> dict[int, list]:
    """Field number -> values, in the wire format of protocol buffers."""
    found: dict[int, list] = {}
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        else:
            size, at = varint(message, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = message[at:at + size], at + size
            assert len(value) == size
            if kind != 2:
                value, = struct.unpack("<d" if kind == 1 else "<f", value)
        found.setdefault(key >> 3, []).append(value)
    return found


class Events:
    """What an event file says."""

    def __init__(self, out: Path):
        self.scalars: list[tuple[float, int, dict[str, float]]] = []  # wall time, step, by tag
        self.hparams: dict[str, object] = {}
        self.ends: list[tuple[int, float]] = []  # status, time
        first, *others = map(fields, records(out / NAME))
        assert first[3] == [b"brain.Event:2"]
        self.began = first[1][0]
        for event in others:
            scalars = {}
            for value in map(fields, fields(event[5][0])[1]):
                tag = value[1][0].decode()
                if 2 in value:
                    scalars[tag] = value[2][0]
                else:
                    self.take_plugin_data(tag, fields(fields(value[9][0])[1][0]))
            if scalars:
                self.scalars.append((event[1][0], event[2][0], scalars))

    def take_plugin_data(self, tag: str, plugin: dict[int, list]) -> None:
        assert plugin[1] == [b"hparams"]
        content = fields(plugin[2][0])
        if tag == "_hparams_/session_start_info":
            assert not self.hparams
            for entry in map(fields, fields(content[3][0])[1]):
                (kind, [value]), = fields(entry[2][0]).items()  # google.protobuf.Value
                self.hparams[entry[1][0].decode()] = value.decode() if kind == 3 else value
        else:
            assert tag == "_hparams_/session_end_info"
            info = fields(content[4][0])
            self.ends.append((info[1][0], info[2][0]))


def metrics(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def scope(record: dict) -> str:
    return "result" if "end" in record else f"pretrain_{record['layer']}" if "layer" in record else "epoch"


def single(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


class TensorBoard(CliTest):
    def assert_tells_the_metrics(self, out: Path) -> Events:
        events, told = Events(out), metrics(out)
        self.assertEqual(len(events.scalars), len(told))
        before, clock = {}, 0.0
        for (wall_time, step, scalars), record in zip(events.scalars, told):
            names = {name for name, value in record.items() if type(value) in (int, float) and name not in PLACES}
            expected = {f"{scope(record)}/{name}": single(record[name]) for name in names}
            if "end" in record:
                rate = record["samples"] / record["training_s"] if record["training_s"] else None
            else:
                if not before or scope(record) != scope(before):
                    before = {"samples": 0, "time_s": 0}
                passed = record["time_s"] - before["time_s"]
                clock += passed
                rate = (record["samples"] - before["samples"]) / passed if passed else None
                before = record
            if rate is not None:
                expected[f"{scope(record)}/samples_per_second"] = single(rate)
            self.assertEqual(scalars, expected)
            self.assertEqual(step, record["samples"])
            self.assertAlmostEqual(wall_time - events.began, clock, delta=1e-6)
        self.assertEqual([status for status, _ in events.ends], [1] if "end" in told[-1] else [])
        return events

    def assert_tells_the_options(self, out: Path, events: Events) -> None:
        config = tomllib.loads((out / "config.toml").read_text())
        self.assertEqual(events.hparams, {key: value for key, value in config.items() if key not in NO_HYPERPARAMETERS})

    def task_with(self, **changes: str) -> list[str]:
        task = self.task
        for option, value in changes.items():
            task[task.index(f"--{option}") + 1] = value
        return task

    def simulated(self, name: str, *arguments: str, task: list[str] | None = None) -> Path:
        out = self.folder / name
        weights(run("simulate", "--workers", 2, "--platform", PLATFORM, *(task or self.task), "--strategy", "bmuf",
                    "--tensorboard", "--out", out, *arguments))
        return out

    def test_scalars_are_those_of_the_metrics(self):
        events = self.assert_tells_the_metrics(self.simulated("run", "--validations", "2"))
        self.assertEqual(len(events.scalars), 2 * 2 + 1)
        self.assertIn("epoch/valid_error", events.scalars[0][2])
        told = metrics(self.folder / "run")
        for name in ("sent_bytes", "messages", "exposed"):
            in_epochs = [scalars[f"epoch/{name}"] for _, _, scalars in events.scalars[:-1]]
            self.assertEqual(in_epochs, [single(record[name]) for record in told[:-1]])
            self.assertEqual(events.scalars[-1][2][f"result/{name}"], single(told[-1][name]))
            self.assertGreater(min(in_epochs), 0)
        self.assertAlmostEqual(sum(record["sent_bytes"] for record in told[:-1]), told[-1]["sent_bytes"], places=6)
        self.assertIn("result/test_error", events.scalars[-1][2])
        self.assertEqual(events.began, 0)

    def test_hyperparameters_are_the_options(self):
        out = self.simulated("options", "--block-momentum", "0.5", "--balance", "true")
        events = Events(out)
        self.assert_tells_the_options(out, events)
        self.assertEqual((events.hparams["strategy"], events.hparams["block-momentum"]), ("bmuf", 0.5))

    def test_an_event_file_changes_nothing_and_repeats_itself(self):
        files = {(self.simulated(f"repeated-{threads}", "--host-threads", threads) / NAME).read_bytes() for threads in "123"}
        self.assertEqual(len(files), 1)
        self.assertEqual(weights(self.simulate(2, "--strategy", "bmuf")),
                         metrics(self.folder / "repeated-1")[-1]["parameters_sha256"])

    def test_ranks_write_one_event_file_with_times_of_the_wall_clock(self):
        out = self.folder / "ranks"
        before = time.time()
        weights(run("train", *self.task, "--strategy", "bmuf", "--tensorboard", "--out", str(out), ranks=2))
        events = self.assert_tells_the_metrics(out)
        self.assert_tells_the_options(out, events)
        self.assertTrue(before < events.began < events.ends[0][1] < time.time())
        self.assertEqual([file.name for file in out.iterdir() if "tfevents" in file.name], [NAME])

    def test_pretraining_has_scalars_of_its_own_for_each_layer(self):
        out = self.simulated("pretrained", "--pretrain-epochs", "2", "--visible-units", "gaussian",
                             task=self.task_with(model="8-12-10-6"))
        events = self.assert_tells_the_metrics(out)
        self.assertEqual(len(events.scalars), 2 + 2 + 2 + 1)
        self.assertIn("pretrain_2/free_energy_gap", events.scalars[2][2])

    def test_a_timing_run_tells_its_times(self):
        out = self.folder / "timed"
        result = run("simulate", "--workers", 2, "--platform", PLATFORM, *self.task, "--device", "meta", "--strategy", "bmuf",
                     "--tensorboard", "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        scalars = self.assert_tells_the_metrics(out).scalars[0][2]
        self.assertIn("epoch/optimise_s", scalars)
        self.assertNotIn("epoch/train_loss", scalars)

    def test_a_killed_run_that_is_taken_up_tells_nothing_twice(self):
        for world in ("simulate", "train"):
            with self.subTest(world=world):
                out = self.folder / f"killed-{world}"
                emulated = ["--workers", "2", "--platform", PLATFORM, "--strategy", "bmuf"] if world == "simulate" else []
                command = [PROGRAM, world, *self.task_with(epochs="60"), *emulated, "--validations", "4", "--checkpoint-every",
                           "4", "--tensorboard", "--out", str(out), "--resume"]
                self.assertTrue(self.kill_behind_a_state(command, out))
                weights(subprocess.run(command, capture_output=True, text=True, timeout=60))
                events = self.assert_tells_the_metrics(out)
                self.assertEqual(len(events.scalars), 60 * 4 + 1)
                steps = [step for _, step, _ in events.scalars[:-1]]
                self.assertEqual(steps, sorted(set(steps)))

    def kill_behind_a_state(self, command: list[str], out: Path) -> bool:
        """Kills the run once its event file has more than the state that it will be taken up from; False if it ended before."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        size = None  # of the event file, when there is a state
        try:
            while process.poll() is None:
                self.assertLess(time.monotonic(), deadline)
                if (out / "state/latest.json").exists():
                    now = os.path.getsize(out / NAME)
                    if size is not None and now > size:
                        return True
                    size = now if size is None else size
            return False
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()

    def test_an_event_file_needs_a_folder(self):
        self.assert_refused(self.simulate(2, "--tensorboard"), "--tensorboard", "--out")

    @unittest.skipIf(EventAccumulator is None, "the package tensorboard is not installed")
    def test_tensorboard_reads_the_same(self):
        out = self.simulated("read")
        accumulator = EventAccumulator(str(out)).Reload()
        found = {(tag, event.wall_time, event.step): event.value
                 for tag in accumulator.Tags()["scalars"] for event in accumulator.Scalars(tag)}
        events = Events(out)
        self.assertEqual(found, {(tag, wall_time, step): value for wall_time, step, scalars in events.scalars
                                 for tag, value in scalars.items()})
        tag = hparams_metadata.SESSION_START_INFO_TAG
        content = accumulator.SummaryMetadata(tag).plugin_data.content
        info = hparams_metadata.parse_session_start_info_plugin_data(content)
        read = {name: getattr(value, value.WhichOneof("kind")) for name, value in info.hparams.items()}
        self.assertEqual(read, events.hparams)


if __name__ == "__main__":
    unittest.main()

"""Published measurements as rows that `paragrad fit` reads, and the platforms they were made on. See sim/README.md."""

import csv
import re
import statistics
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FACTS = tomllib.loads((HERE / "facts.toml").read_text())
OPERATIONS = {"all_reduce": "allreduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter", "alltoall": "all_to_all",
              "broadcast": "broadcast"}
STAND_IN_LAYERS = 20


class CannotExpress(Exception):
    """Why a measurement has no counterpart here."""


@dataclass
class Series:
    """Measurements that differ in the workers, or in the bytes, alone."""

    name: str
    cluster: str
    facts: dict
    rows: list[dict] = field(default_factory=list)  # of a training by workers; of a collective by bytes
    nodes: int = 0
    options: dict = field(default_factory=dict)  # of the exchange, where it is not NCCL's


def records(path: Path) -> Iterator[dict]:
    """The rows of a table, in which ~ stands for what is above."""
    above: dict = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            above = {name: above[name] if value == "~" else value for name, value in row.items()}
            yield above


def first(kind: str, text: str) -> dict | None:
    return next((one for one in FACTS[kind] if one["name"] in text), None)


def network_of(label: str) -> dict:
    """Adapters of a node and GB/s of each, from a label such as "NDR IB 8x400Gbps"."""
    found = re.search(r"(\d+)\s?x\s?(\d+)\s?Gbps", label) or re.search(r"(\d+) NICs x (\d+)Gbps", label)
    nics, gigabits = (int(found[1]), int(found[2])) if found else (1, 0)
    if not found and (single := re.search(r"(\d+)\s?Gbps", label)):
        gigabits = int(single[1])
        if gigabits > 800:  # of all adapters of a node together
            nics = 8
            gigabits //= nics
    if gigabits == 0:
        raise CannotExpress("the network is not stated")
    infiniband = {100: 12, 200: 24, 400: 48}
    return {"nics": nics, "nic": infiniband.get(gigabits, gigabits / 8) if "IB" in label or "CX-7" in label else gigabits / 8}


def facts_of(cluster: str, gpu: str, per_node: int, label: str, nodes: int) -> dict:
    of_gpu = first("gpu", gpu)
    if of_gpu is None:
        raise CannotExpress("NCCL's constants are not known for its GPU")
    named = max((one for one in FACTS["cluster"] if cluster.startswith(one["name"])), key=lambda one: len(one["name"]), default={})
    known = {**of_gpu, "per_node": per_node, **({} if "nics" in named or nodes == 1 else network_of(label)), **named}
    known.setdefault("nics", 1)
    known.setdefault("nic", 12)
    return known


def platform_text(facts: dict, factor: float = 1) -> str:
    """factor: of the network's nominal bandwidth that programs reach, by NCCL."""
    if "platform" in facts:
        text = (ROOT / facts["platform"]).read_text()
        replaced, count = re.subn(r"\[leaf\].*\n(?:\w+ .*\n)*", "\n".join(["[leaf]", *facts.get("leaf", []), ""]), text)
        if "leaf" in facts and count != 1:
            raise ValueError(f"{facts['platform']} has no section [leaf] to replace")
        return replaced if "leaf" in facts else text
    nics = min(facts["nics"], facts["per_node"])
    each = facts["nic"] * facts["nics"] / nics
    lines = [
        "# Made by sim/validation from facts.toml.",
        "[cluster]", "nodes = 256", f"devices_per_node = {facts['per_node']}",
        "[device]", 'peak = "15TFLOPs"', 'memory_bandwidth = "900GBps"', "gemm_efficiency = 0.8", "memory_efficiency = 0.8",
        'launch = "5us"',
        "[peer]", 'latency = "3.4us"', f'bandwidth = "{facts["inside"]}GBps"',
        "[leaf]", 'latency = "14us"', f'bandwidth = "{each}GBps"', f"nics_per_node = {nics}",
        "[nccl]", f'generation = "{facts["generation"]}"', f"channels = {facts['channels']}",
        f"nvlink = {str(facts.get('nvlink', True)).lower()}", f"adds_in_switch = {str(facts.get('switch', False)).lower()}",
        f'network_latency = "{facts.get("latency", 5)}us"', f"network_bandwidth_factor = {factor}",
        "[message]", 'eager = "65536B"',
    ]
    return "\n".join(lines) + "\n"


def collectives(path: Path) -> tuple[list[Series], dict[str, int]]:
    """Measurements over sizes on healthy clusters, and how many rows cannot be expressed, by reason."""
    groups: dict[tuple, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    left_out: dict[str, int] = defaultdict(int)
    for row in records(path):
        if re.search("slow|emulated", row["health"]):
            left_out["not healthy, as its source says"] += 1
            continue
        if row["collective"] not in OPERATIONS:
            left_out["the operation is not stated"] += 1
            continue
        key = (row["cluster"], row["gpu"], int(row["gpus_per_node"]), row["interconnect_inter"], int(row["nodes"]), int(row["ranks"]),
               OPERATIONS[row["collective"]])
        size = int(float(row["bytes"])) // 4 * 4
        if size > 0 and float(row["time_us"]) > 0:
            groups[key][size].append(float(row["time_us"]) * 1e-6)
    series = []
    for (cluster, gpu, per_node, label, nodes, ranks, operation), sizes in groups.items():
        try:
            facts = facts_of(cluster, gpu, per_node, label, nodes)
        except CannotExpress as reason:
            left_out[str(reason)] += len(sizes)
            continue
        rows = [{"operation": operation, "collective": "nccl", "workers": ranks, "bytes": size, "time": statistics.median(times)}
                for size, times in sorted(sizes.items())]
        series.append(Series(f"{cluster}, {operation} on {ranks} GPUs of {nodes} nodes", cluster, facts, rows, nodes))
    return series, left_out


@dataclass
class Pair:
    """The same measurements twice on the same hardware; slow because of another transport, or twice without a fault."""

    name: str
    facts: dict
    rows: list[dict]
    healthy: list[dict]
    is_slow: bool


def by_size(operation: str, ranks: int, times: dict[int, list[float]]) -> list[dict]:
    return [{"operation": operation, "collective": "nccl", "workers": ranks, "bytes": size, "time": statistics.median(some)}
            for size, some in sorted(times.items())]


def pairs(path: Path) -> list[Pair]:
    """Measurements that their sources call slow because they ran over TCP, next to healthy ones; and healthy ones of two dates."""
    groups: dict[tuple, dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in records(path):
        health, size = row["health"], int(float(row["bytes"])) // 4 * 4
        if row["collective"] not in OPERATIONS or size == 0 or not float(row["time_us"]) > 0:
            continue
        kind = "slow" if re.search("slow.*(TCP|Socket)", health) else row["source"] if health.startswith("healthy") else ""
        key = (row["cluster"], row["gpu"], int(row["gpus_per_node"]), row["nodes"], int(row["ranks"]), OPERATIONS[row["collective"]])
        if kind:
            groups[key][kind][size].append(float(row["time_us"]) * 1e-6)
    found = []
    for (cluster, gpu, per_node, nodes, ranks, operation), kinds in groups.items():
        of_gpu = first("gpu", gpu) or FACTS["gpu"][0]  # links do not count where both are measured
        facts = {**of_gpu, "per_node": per_node, "nics": 2 if "ALCF" in cluster else 1, "nic": 25 if "ALCF" in cluster else 12.5}
        healthy = [by_size(operation, ranks, times) for kind, times in kinds.items() if kind != "slow"]
        name = f"{cluster}, {operation} on {ranks} GPUs of {nodes} nodes"
        if "slow" in kinds and healthy:
            found.append(Pair(name, facts, by_size(operation, ranks, kinds["slow"]), healthy[0], True))
        if len(healthy) > 1 and all(len(one) > 10 for one in healthy[:2]):
            found.append(Pair(name, facts, healthy[1], healthy[0], False))
    return found


def batch_of(row: dict) -> int:
    """Samples per GPU and step, with what is accumulated."""
    half = row["precision"].lower() not in ("fp32", "tf32")
    sizes = [int(one) for one in re.findall(r"\d+", row["batch_per_gpu"])]
    if not sizes:
        raise CannotExpress("the minibatch is not stated")
    notes = row["notes"]
    if len(sizes) == 1:
        batch = sizes[0]
    else:  # "126 and 256": TF32 and FP16; "16 , 8": mixed precision and FP32
        batch = sizes[1 if half else 0] if "and" in row["batch_per_gpu"] else sizes[0 if half else 1]
    if found := re.search(r"Accumulated Batch size / GPU \(\w+ and FP16\)=(\d+) and (\d+)", notes):
        return int(found[2 if half else 1])
    if found := re.search(r"Accumulation steps \(\w+ and FP16\)=(\d+) and (\d+)", notes):
        return batch * int(found[2 if half else 1])
    if found := re.search(r"Gradient Accumulation: mixed precision, \w+=(\d+)\s?, (\d+)", notes):
        return batch * int(found[1 if half else 2])
    if found := re.search(r"Grad accumulation=(\d+)", notes):
        return batch * int(found[1])
    return batch


def model_of(name: str) -> str:
    found = next((one for one in FACTS["model"] if re.search(one["words"], name)), None)
    if found is None:
        raise CannotExpress("the size of the model is not known")
    if "unlike" in found:
        raise CannotExpress(found["unlike"])
    if "model" in found:
        return found["model"]
    width = round((found["parameters"] * 1e6 / STAND_IN_LAYERS) ** 0.5)
    return "-".join([str(width)] * (STAND_IN_LAYERS + 1))


def training_cluster(row: dict) -> str:
    if "DeepLearningExamples" in row["source"]:
        gpu = "A100" if "A100" in row["gpu"] else "V100" if "V100" in row["gpu"] else row["gpu"]
        return f"DLE {gpu}{' NVSwitch' if gpu == 'V100' and 'NVSwitch' in row['interconnect'] else ''}"
    if "DLPerf" in row["source"]:
        return "DLPerf"
    if "horovod/issues/779" in row["source"]:
        return "horovod 779"
    return row["source"]


def training_facts(row: dict, cluster: str) -> dict:
    if re.search("FSDP|ZeRO|PowerSGD|pipeline|tensor parallel", row["method"]):
        raise CannotExpress("it is not data parallel")
    if not re.search(r"/s|sec", row["unit"]):
        raise CannotExpress("it is no throughput")
    if re.search("bug report|asks", row["notes"]) and "779" not in row["source"]:
        raise CannotExpress("its source reports it as a fault")
    per_node = int(row["gpus_per_node"] or 8)
    known = any(cluster.startswith(one["name"]) for one in FACTS["cluster"])
    if not known and int(row["nodes"] or 1) > 1:
        raise CannotExpress("the network is not stated")
    return facts_of(cluster, row["gpu"], per_node, row["interconnect"], 1 if not known else 2)


def trainings(path: Path) -> tuple[list[Series], dict[str, int]]:
    """Series of three or more numbers of GPUs, by rising number, and the rows that cannot be expressed, by reason."""
    groups: dict[tuple, list[dict]] = defaultdict(list)
    left_out: dict[str, int] = defaultdict(int)
    for row in records(path):
        if not row["gpus"].isdigit() or not row["throughput"]:
            left_out["the number of GPUs or the throughput is not stated"] += 1
            continue
        note = re.sub(r"(Accum|Grad)[^;]*;?", "", row["notes"])
        note = note if re.search("XLA|Model|Sequence", note) else ""
        groups[(row["source"], row["model"], row["precision"], row["gpu"], row["batch_per_gpu"], row["method"], row["unit"],
                row["interconnect"], note)].append(row)
    series = []
    for key, rows in groups.items():
        counts: dict[int, list[dict]] = defaultdict(list)
        for row in rows:
            counts[int(row["gpus"])].append(row)
        if len(counts) < 3:
            left_out["fewer than three numbers of GPUs"] += len(rows)
            continue
        try:
            cluster = training_cluster(rows[0])
            facts = training_facts(rows[0], cluster)
            model = model_of(key[1])
            made = [{"model": model, "workers": workers, "minibatch-per-worker": batch_of(some[0]),
                     "samples_per_s": statistics.median(float(one["throughput"]) for one in some)}
                    for workers, some in sorted(counts.items())]
        except CannotExpress as reason:
            left_out[str(reason)] += len(rows)
            continue
        name = f"{cluster}: {key[1].split('|')[0].strip()}, {key[2]}, {key[4]} per GPU, {key[5]} {key[8]}".strip()
        series.append(Series(name, cluster, facts, made, max(1, -(-made[-1]["workers"] // facts["per_node"]))))
    return series, left_out


def older(path: Path) -> tuple[list[Series], dict[str, int]]:
    """The same of exchanges other than NCCL's, and of other strategies, on platforms that are files."""
    groups: dict[tuple, list[dict]] = defaultdict(list)
    left_out: dict[str, int] = defaultdict(int)
    for row in records(path):
        groups[tuple(row[name] for name in ("source", "cluster", "model", "options", "minibatch-per-worker", "minibatch"))].append(row)
    series = []
    for (source, cluster, name, words, each, together), rows in groups.items():
        facts = next(one for one in FACTS["system"] if one["name"] == cluster)
        options = dict(word.split("=") for word in words.split())
        rows.sort(key=lambda row: int(row["workers"]))
        if "tensor-parallel" in options or len({row["workers"] for row in rows}) < 3:
            left_out["it is not data parallel" if "tensor-parallel" in options else "fewer than three numbers of GPUs"] += len(rows)
            continue
        size = {"minibatch-per-worker": int(each)} if each else {"minibatch": int(together)}
        made = [{"model": model_of(name), "workers": int(row["workers"]), **size, **dict(word.split("=") for word in row["own"].split()),
                 "samples_per_s": float(row["samples_per_s"])} for row in rows]
        series.append(Series(f"{cluster}: {name}, {each or together}, {source}", cluster, facts, made,
                             -(-made[-1]["workers"] // facts["per_node"]), options))
    return series, left_out

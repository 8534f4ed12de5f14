"""Makes foreign.h5 and foreign_checkpoint.h5, a data file and a checkpoint as another tool may write them (no checksums of
metadata, text of variable length): python3 make_foreign.py (needs python3-h5py)."""
import hashlib

import h5py
import numpy as np

DIM, CLASSES, SCALE, OFFSET = 4, 3, 2.0, 1.0


def data_file() -> str:
    """Returns the content's digest."""
    subsets = {"train": 6, "valid": 2, "test": 0}
    text = f"paragrad-data 1\nfeatures float32 dim {DIM} scale {SCALE:g} offset {OFFSET:g} classes {CLASSES}\n"
    with h5py.File("foreign.h5", "w") as file:
        for name, n in subsets.items():
            features = (10 * np.arange(n)[:, None] + np.arange(DIM)[None, :]).astype("<f4") / np.float32(8)
            labels = (np.arange(n) % CLASSES).astype("<i4")
            packed = dict(chunks=(2, DIM), compression="gzip") if n else {}
            file.create_dataset(f"{name}/features", data=features, dtype=">f4", **packed)
            file.create_dataset(f"{name}/labels", data=labels, dtype=">i4")
            digest = [hashlib.sha256(a.tobytes()).hexdigest() for a in (features, labels)]
            text += f"{name} samples {n} features {digest[0]} labels {digest[1]}\n"
        file.attrs["format"] = np.bytes_("paragrad-data")
        file.attrs["version"] = np.int16(1)
        file.attrs["name"] = "foreign"
        file.attrs["source"] = np.bytes_("make_foreign.py")
        file.attrs["licence"] = ""
        file.attrs["source_sha256"] = np.array([b"nothing: 0"])
        file.attrs["content_sha256"] = hashlib.sha256(text.encode()).hexdigest()
        file.attrs["classes"] = CLASSES
        file.attrs["feature_scale"] = np.float32(SCALE)
        file.attrs["feature_offset"] = np.float64(OFFSET)
    return hashlib.sha256(text.encode()).hexdigest()


def checkpoint(dataset_sha256: str) -> None:
    parameters = (np.arange(DIM * CLASSES + CLASSES) / 16).astype("<f4")
    with h5py.File("foreign_checkpoint.h5", "w") as file:
        file.attrs["format"] = "paragrad-checkpoint"
        file.attrs["version"] = 2
        file.attrs["model"] = f"{DIM}-{CLASSES}"
        file.attrs["dataset_sha256"] = dataset_sha256
        file.attrs["epoch"] = 1
        file.attrs["parameters_sha256"] = hashlib.sha256(parameters.tobytes()).hexdigest()
        file.create_dataset("parameters", data=parameters, chunks=(4,), compression="gzip")


checkpoint(data_file())

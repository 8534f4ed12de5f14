#!/usr/bin/env python3
"""No process-wide mutable state, which would forbid several workers in one process: lists the writable symbols of the libraries.

Usage: globals.py LIBRARY.a …"""

import re
import subprocess
import sys

# Constants that need code to be made: const, but in writable sections.
CONSTANTS = {
    r"paragrad::core::\(anonymous namespace\)::table\(paragrad::core::Unit\)::\w+",  # names of units
    r"paragrad::backend::cpu::\(anonymous namespace\)::blas\(\)::loaded",            # functions of the loaded OpenBLAS
    r"paragrad(::\w+)+::(\(anonymous namespace\)::)?\w+\(\)::entries",                  # catalogues
    r"paragrad::backend::cuda::(\(anonymous namespace\)::)?(cublas|cublas_lt|cudnn|load|nccl)\(\)::(library|loaded)",       # and of NVIDIA's libraries
}
# What belongs to the process by its nature and changes no result.
OF_THE_PROCESS = {
    r"paragrad::backend::cuda::\(anonymous namespace\)::gpu_memory\(\)::of_process",  # who has what of the GPU's memory
    r"paragrad::system::\(anonymous namespace\)::named_program",                       # the program that commands start
    r"paragrad::system::\(anonymous namespace\)::(action_before|end_of_rank|one_speaks|exit_code)",  # of the signal handler
}
HARMLESS = re.compile(r"guard variable|vtable|typeinfo|DW\.ref|std::__ioinit|__device_stub__|__cudaFatCubinHandle|__fatDeviceText")


# A local or global symbol in .data or .bss, but not in .data.rel.ro: constants that contain addresses, which nobody can write
# once the program is loaded.
WRITABLE = re.compile(r"[0-9a-f]+ [lg].{4}[^d][O ] \.(?:data|bss|tdata|tbss)(?!\.rel\.ro)\S*\t[0-9a-f]+ +(?:\.hidden )?(.+)")


def writable(library: str) -> list[str]:
    lines = subprocess.run(["objdump", "-tC", library], capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [m.group(1) for m in map(WRITABLE.match, lines) if m]
    return [s for s in symbols if not HARMLESS.search(s) and not any(re.fullmatch(c, s) for c in CONSTANTS | OF_THE_PROCESS)]


def main() -> int:
    found = [f"{library}: {symbol}" for library in sys.argv[1:] for symbol in writable(library)]
    print("\n".join(found) or f"{len(sys.argv) - 1} libraries hold no writable globals")
    return 1 if found or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())

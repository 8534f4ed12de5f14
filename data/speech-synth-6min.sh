#!/bin/sh
# data/speech-synth-6min.h5: generated speech for small runs: six minutes for training, one for validation, one for testing.
# An argument names another output file.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=${1:-data/speech-synth-6min.h5}
[ -n "${1:-}" ] || ! have $out || exit 0
HOURS=0.1 VALID=1min TEST=1min CLASSES=300 data/speech-synth.sh "$out"

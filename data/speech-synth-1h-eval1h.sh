#!/bin/sh
# data/speech-synth-1h-eval1h.h5: one hour of generated training speech, one hour for validation and one for testing.
# An argument names another output file.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=${1:-data/speech-synth-1h-eval1h.h5}
[ -n "${1:-}" ] || ! have $out || exit 0
HOURS=1 VALID=60min TEST=60min NAME=speech-synth-1h-eval1h data/speech-synth.sh "$out"

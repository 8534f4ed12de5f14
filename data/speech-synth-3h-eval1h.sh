#!/bin/sh
# data/speech-synth-3h-eval1h.h5: three hours of generated training speech, one hour for validation and one for testing.
# An argument names another output file.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=${1:-data/speech-synth-3h-eval1h.h5}
[ -n "${1:-}" ] || ! have $out || exit 0
HOURS=3 VALID=60min TEST=60min NAME=speech-synth-3h-eval1h data/speech-synth.sh "$out"

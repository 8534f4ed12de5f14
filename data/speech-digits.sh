#!/bin/sh
# data/speech-digits.h5: digits spoken by people (FSDD), with our own alignment. It starts with evenly spaced labels; then, three
# times, a network is trained on the labels and its posteriors give the next ones. FSDD_DIR is the data set's folder recordings.
# An argument names another output file.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=${1:-data/speech-digits.h5}
[ -n "${1:-}" ] || ! have $out || exit 0
from=${FSDD_DIR:-}
[ -n "$from" ] || [ ! -d ../shared/data/fsdd/recordings ] || from=../shared/data/fsdd/recordings
[ -n "$from" ] || fail "set FSDD_DIR to the folder recordings of github.com/Jakobovski/free-spoken-digit-dataset"
[ ! -d "$from/recordings" ] || from=$from/recordings

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
labels=$work/0.h5
"$paragrad" data import-fsdd --recordings "$from" --test 5 --valid 5 --context 5+5 --out "$labels"
for pass in 1 2 3; do
  aligned=$work/$pass.h5
  [ $pass -lt 3 ] || aligned=$out
  "$paragrad" train --data "$labels" --model 1320-256-256-60:relu --learning-rate 0.02 --minibatch 128 --epochs 6 --l2 0.0001 \
    --quiet --out "$work/$pass" > /dev/null
  "$paragrad" align "$work/$pass/checkpoint.h5" --data "$labels" --out "$aligned"
  labels=$aligned
done

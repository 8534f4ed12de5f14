#!/bin/sh
# data/frames-18002.h5: 4.2 million generated frames (11.7 hours) with 18,002 states, as in Chen and Huo; the same bytes on every
# machine.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=data/frames-18002.h5
have $out && exit 0
"$paragrad" data generate --out $out --samples 4194304 --valid 65536 --test 65536 --classes 18002

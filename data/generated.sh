#!/bin/sh
# data/generated.h5: a frame classification task that needs no input data; the same bytes on every machine.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=data/generated.h5
have $out && exit 0
"$paragrad" data generate --out $out --samples 50000 --valid 5000 --test 5000

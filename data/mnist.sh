#!/bin/sh
# data/mnist.h5 from the four files in MNIST_DIR, otherwise from ../shared/data/mnist, otherwise downloaded from a mirror.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=data/mnist.h5
mirrors="https://storage.googleapis.com/cvdf-datasets/mnist https://ossci-datasets.s3.amazonaws.com/mnist"
files="train-images-idx3-ubyte train-labels-idx1-ubyte t10k-images-idx3-ubyte t10k-labels-idx1-ubyte"

fetch() { # URL FILE
  if command -v curl > /dev/null; then
    curl -fsSL --connect-timeout 20 -o "$2" "$1"
  elif command -v wget > /dev/null; then
    wget -q --timeout=20 --tries=2 -O "$2" "$1"
  else
    fail "downloading MNIST needs curl or wget: install one, or set MNIST_DIR to a folder with its four files"
  fi
}

fetch_any() { # FILE
  for mirror in $mirrors; do
    if fetch "$mirror/$1.gz" "$from/$1.gz"; then return 0; fi
  done
  fail "no mirror delivered $1.gz; set MNIST_DIR to a folder with MNIST's four files"
}

have $out && exit 0
from=${MNIST_DIR:-}
[ -n "$from" ] || [ ! -d ../shared/data/mnist ] || from=../shared/data/mnist
if [ -z "$from" ]; then
  from=$(mktemp -d)
  trap 'rm -rf "$from"' EXIT
  for file in $files; do fetch_any "$file"; done
fi
check "$from" train-images-idx3-ubyte ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db
check "$from" train-labels-idx1-ubyte 65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5
check "$from" t10k-images-idx3-ubyte 0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7
check "$from" t10k-labels-idx1-ubyte ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2
"$paragrad" data import-idx --from "$from" --out $out --name mnist --valid 5000 --source "the four files of LeCun, Cortes and Burges"

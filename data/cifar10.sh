#!/bin/sh
# data/cifar10.h5 from CIFAR10_DIR, the folder of CIFAR-10's binary version (www.cs.toronto.edu/~kriz/cifar.html).
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=data/cifar10.h5
have $out && exit 0
[ -n "${CIFAR10_DIR:-}" ] || fail "set CIFAR10_DIR to the folder of CIFAR-10's binary version, cifar-10-batches-bin"
"$paragrad" data import-cifar --from "$CIFAR10_DIR" --out $out --name cifar10 --valid 5000 --normalise --source "Krizhevsky, 2009"

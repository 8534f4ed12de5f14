#!/bin/sh
# data/fashion-mnist.h5 from Debian's package dataset-fashion-mnist (Xiao, Rasul, Vollgraf 2017; MIT licence).
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

from=${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}
out=data/fashion-mnist.h5
have $out && exit 0
[ -d "$from" ] || fail "no folder $from: install the package dataset-fashion-mnist (make setup) or set FASHION_MNIST_DIR"
check "$from" train-images-idx3-ubyte c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888
check "$from" train-labels-idx1-ubyte bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9
check "$from" t10k-images-idx3-ubyte 5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b
check "$from" t10k-labels-idx1-ubyte 0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34
"$paragrad" data import-idx --from "$from" --out $out --name fashion-mnist --valid 5000 --source "Debian dataset-fashion-mnist" \
  --licence MIT

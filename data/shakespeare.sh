#!/bin/sh
# data/shakespeare.h5: the text "tiny Shakespeare" (Karpathy, char-rnn) as characters, its last tenth for validation as in nanoGPT.
# SHAKESPEARE is the file, input.txt there.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=data/shakespeare.h5
have $out && exit 0
from=${SHAKESPEARE:-}
[ -f "$from" ] || fail "set SHAKESPEARE to the file of tiny Shakespeare, input.txt of karpathy/char-rnn"
check "$(dirname "$from")" "$(basename "$from")" 86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed
"$paragrad" data import-text --from "$from" --tokens characters --valid 0.1 --name shakespeare --out $out

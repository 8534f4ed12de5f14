#!/bin/sh
# data/kjv.h5: the King James Bible as characters, a verse per line, from Debian's package bible-kjv-text.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

out=data/kjv.h5
have $out && exit 0
command -v bible > /dev/null || fail "install the packages bible-kjv and bible-kjv-text (make setup)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bible -f gen1:1-rev22:21 > "$work/kjv.txt"
"$paragrad" data import-text --from "$work/kjv.txt" --tokens characters --valid 0.05 --name kjv --source "Debian bible-kjv-text" \
  --licence "public domain" --out $out

#!/bin/sh
# data/speech-synth.h5: generated speech, labelled with the state of a phone for each frame; HOURS (default 1) for training.
# Three synthetic voices read the King James Bible and three quarters of the sentences of fortune's cookies for training, the
# fourth quarter for validation and test. Needs the packages bible-kjv, bible-kjv-text, fortunes and fortunes-min.
# Further variables: SEED (1), JOBS (all processors), VALID and TEST (6min), CLASSES (1200), NAME (in the file).
# An argument names another output file.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

hours=${HOURS:-1}
seed=${SEED:-1}
out=${1:-data/speech-synth.h5}
name=${NAME:-speech-synth-${hours}h-s$seed}
[ -n "${1:-}" ] || ! have $out || ! "$paragrad" data info $out | grep -q "\"$name\"" || exit 0
command -v bible > /dev/null || fail "install the packages bible-kjv and bible-kjv-text, the text for training"
cookies=/usr/share/games/fortunes
[ -d $cookies ] || fail "install the packages fortunes and fortunes-min, the text for validation and test"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Verses without their names, split into sentences and parts between colons, one per line.
bible -f gen1:1-rev22:21 | sed 's/^[^ ]* //; s/[.;:?!] */&\n/g' > "$work/seen.txt"
# Cookies end with a line of %. The author follows tabs and is removed; cookies with other tabs are not plain text and are left out.
find $cookies -type f ! -name '*.dat' | LC_ALL=C sort | xargs cat |
  awk 'BEGIN { RS = "\n%\n" } { sub(/\n\t+-- .*/, "") } !/\t/ { gsub(/\n/, " "); print }' |
  sed -E "s/[.?!][\"')]* +/&\n/g" > "$work/cookies.txt"
awk -v seen="$work/seen.txt" -v unseen="$work/unseen.txt" '{ print >> (NR % 4 ? seen : unseen) }' "$work/cookies.txt"
"$paragrad" data generate-speech --text "$work/seen.txt" --unseen-text "$work/unseen.txt" --train "${hours}h" \
  --valid "${VALID:-6min}" --test "${TEST:-6min}" --classes "${CLASSES:-1200}" --name "$name" --seed "$seed" \
  --jobs "${JOBS:-$(nproc)}" --out "$out"

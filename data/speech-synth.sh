#!/bin/sh
# data/speech-synth.h5: generated speech, HOURS (default 1) of it for training, with the state of a phone for each frame.
# Three synthetic voices say the King James Bible and three quarters of the sentences in fortune's cookies for training, the
# fourth quarter for validation and test. Needs the packages bible-kjv, bible-kjv-text, fortunes and fortunes-min. SEED, JOBS (default: all processors), and
# VALID, TEST (6min), CLASSES (1200) are more of it.
# An argument: another file to write.
set -eu
cd "$(dirname "$0")/.."
. data/idx.sh

hours=${HOURS:-1}
seed=${SEED:-1}
out=${1:-data/speech-synth.h5}
name=speech-synth-${hours}h-s$seed
[ -n "${1:-}" ] || ! have $out || ! "$paragrad" data info $out | grep -q "\"$name\"" || exit 0
command -v bible > /dev/null || fail "install the packages bible-kjv and bible-kjv-text, the text that is said"
cookies=/usr/share/games/fortunes
[ -d $cookies ] || fail "install the packages fortunes and fortunes-min, the text that is said in the test"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Verses without their names, then a line for each sentence or what stands between colons.
bible -f gen1:1-rev22:21 | sed 's/^[^ ]* //; s/[.;:?!] */&\n/g' > "$work/seen.txt"
# Cookies end with a line of %. Who said it stands behind tabulators; with others, it is no plain text.
find $cookies -type f ! -name '*.dat' | LC_ALL=C sort | xargs cat |
  awk 'BEGIN { RS = "\n%\n" } { sub(/\n\t+-- .*/, "") } !/\t/ { gsub(/\n/, " "); print }' |
  sed -E "s/[.?!][\"')]* +/&\n/g" > "$work/cookies.txt"
awk -v seen="$work/seen.txt" -v unseen="$work/unseen.txt" '{ print >> (NR % 4 ? seen : unseen) }' "$work/cookies.txt"
"$paragrad" data generate-speech --text "$work/seen.txt" --unseen-text "$work/unseen.txt" --train "${hours}h" \
  --valid "${VALID:-6min}" --test "${TEST:-6min}" --classes "${CLASSES:-1200}" --name "$name" --seed "$seed" \
  --jobs "${JOBS:-$(nproc)}" --out "$out"

#!/bin/sh
# build.sh BUILD JOBS [TARGET…]: builds and reports progress: on a terminal ninja's own line, elsewhere one line after the compiler's
# messages.
set -eu

build=$1 jobs=$2
shift 2
[ $# -eq 0 ] || set -- --target "$@"
if [ ! -f "$build/build.ninja" ] || [ -t 1 ]; then
  exec cmake --build "$build" -j "$jobs" "$@"
fi
log=$build/build.log status=0
cmake --build "$build" -j "$jobs" "$@" > "$log" 2>&1 || status=$?
grep -v -e '^\[[0-9]*/[0-9]*\] ' -e '^-- ' -e '^ninja: no work' "$log" || true
sed -n '$s/^\[\([0-9]*\)\/\1\] .*/Compiled and linked in \1 steps/p' "$log"
exit $status

#!/bin/sh
# build.sh BUILD JOBS [TARGET…]: compiles, in one line that counts. On a terminal that is ninja's; elsewhere it comes at the end, after
# what the compiler had to say.
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

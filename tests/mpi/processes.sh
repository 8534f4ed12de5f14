# For scripts that start programs under mpiexec and look at what they leave behind. Sourced, not run.
out=$(mktemp) err=$(mktemp) # what the program last run has said
trap 'rm -f "$out" "$err"' EXIT
failed=0

# complain WHAT...: with all that was said.
complain() {
  failed=1
  echo "FAILED: $*"
  sed 's/^/  stdout: /' "$out"
  sed 's/^/  stderr: /' "$err"
}

alive() { grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; } # dead and not yet collected is dead

# expect_three_and_none_left NAME: three workers have told their "pid N", and none of them lives on.
expect_three_and_none_left() {
  local pids pid try
  pids=$(grep -o 'pid [0-9]\+' "$out" | cut -d ' ' -f 2)
  [ "$(wc -w <<<"$pids")" -eq 3 ] || complain "$1: not all of the three workers had started"
  for pid in $pids; do
    for try in 1 2 3 4 5 6 7 8 9 10; do
      alive "$pid" && sleep 0.3
    done
    if alive "$pid"; then
      complain "$1: process $pid was left behind"
      kill -9 "$pid"
    fi
  done
}

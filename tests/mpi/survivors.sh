#!/bin/bash
# survivors.sh <mpiexec> <mpi_survivors>: where the others can go on without a worker, its death leaves them alone; where they
# cannot, they end. Nobody stays behind.
set -u
mpiexec=$1 survivors=$2
out=$(mktemp) err=$(mktemp)
trap 'rm -f "$out" "$err"' EXIT
failed=0

complain() {
  failed=1
  echo "FAILED: $story: $*"
  sed 's/^/  stdout: /' "$out"
  sed 's/^/  stderr: /' "$err"
}

expect() { grep -q "$2" "$1" || complain "nothing like '$2'"; }
alive() { grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }  # dead and not yet collected is dead

for story in worker unexpected server late nobody; do
  begin=$(date +%s%N)
  timeout -k 1 25 "$mpiexec" -n 3 "$survivors" $story >"$out" 2>"$err" </dev/null
  status=$?
  milliseconds=$((($(date +%s%N) - begin) / 1000000))
  echo "$story: status $status after $milliseconds ms"
  [ $milliseconds -lt 20000 ] || complain "it took $milliseconds ms"
  done=$(grep -o 'has done its work' "$out" | wc -l)  # the launcher may put two into one line
  case $story in
    worker)
      [ $status -eq 137 ] || complain "the launcher returned $status"
      [ "$done" -eq 2 ] || complain "$done workers have done their work"
      expect "$err" "worker 1 was killed (Killed)"
      expect "$out" "the server misses worker 1" ;;
    unexpected)
      [ $status -ne 0 ] || complain "the launcher returned 0"
      [ "$done" -eq 0 ] || complain "somebody has gone on" ;;
    server)
      [ $status -ne 0 ] || complain "the launcher returned 0"
      expect "$err" "worker 0: .* worker 1 .*: that worker's process has ended"
      expect "$err" "worker 2: .* worker 1 .*: that worker's process has ended" ;;
    late)
      [ $status -eq 137 ] || complain "the launcher returned $status"
      [ "$done" -eq 2 ] || complain "$done workers have done their work" ;;
    nobody)
      [ $status -eq 0 ] || complain "the launcher returned $status"
      [ "$done" -eq 3 ] || complain "$done workers have done their work"
      [ -s "$err" ] && complain "something was said" ;;
  esac
  [ "$(grep -o 'pid [0-9]\+' "$out" | wc -l)" -eq 3 ] || complain "not all of the three workers had started"
  for pid in $(grep -o 'pid [0-9]\+' "$out" | cut -d ' ' -f 2); do
    for try in 1 2 3 4 5 6 7 8 9 10; do
      alive "$pid" && sleep 0.3
    done
    if alive "$pid"; then
      complain "process $pid was left behind"
      kill -9 "$pid"
    fi
  done
done
exit $failed

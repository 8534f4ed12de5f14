#!/bin/bash
# survivors.sh <mpiexec> <mpi_survivors>: where the others can go on without a worker, its death leaves them alone; where they
# cannot, they end. Nobody stays behind.
set -u
mpiexec=$1 survivors=$2
source "$(dirname "$0")/processes.sh"

expect() { grep -q "$2" "$1" || complain "$story: nothing like '$2'"; }

for story in worker unexpected server late stopped hangs nobody; do
  begin=$(date +%s%N)
  timeout -k 1 25 "$mpiexec" -n 3 "$survivors" $story >"$out" 2>"$err" </dev/null
  status=$?
  milliseconds=$((($(date +%s%N) - begin) / 1000000))
  echo "$story: status $status after $milliseconds ms"
  [ $milliseconds -lt 20000 ] || complain "$story: it took $milliseconds ms"
  done=$(grep -o 'has done its work' "$out" | wc -l)  # the launcher may put two into one line
  case $story in
    worker)
      [ $status -eq 0 ] || complain "$story: the launcher returned $status"
      [ "$done" -eq 2 ] || complain "$story: $done workers have done their work"
      expect "$err" "^rank 1 was killed (SIGKILL)$"
      expect "$out" "the server misses worker 1" ;;
    unexpected)
      [ $status -eq 4 ] || complain "$story: the launcher returned $status"
      expect "$err" "^rank 1 was killed (SIGKILL); better luck next time$"
      [ "$done" -eq 0 ] || complain "$story: somebody has gone on" ;;
    server)
      [ $status -ne 0 ] || complain "$story: the launcher returned 0"
      expect "$err" "worker 0: .* worker 1 .*: that worker's process has ended"
      expect "$err" "worker 2: .* worker 1 .*: that worker's process has ended" ;;
    late)
      [ $status -eq 0 ] || complain "$story: the launcher returned $status"
      expect "$err" "^rank 1 was killed (SIGKILL)$"
      [ "$done" -eq 2 ] || complain "$story: $done workers have done their work" ;;
    stopped)
      [ $status -eq 0 ] || complain "$story: the launcher returned $status"
      [ "$done" -eq 2 ] || complain "$story: $done workers have done their work"
      expect "$err" "^rank 1 was killed (SIGKILL) after it had been stopped for 1 s$" ;;
    hangs)
      [ $status -eq 0 ] || complain "$story: the launcher returned $status"
      [ "$done" -eq 2 ] || complain "$story: $done workers have done their work"
      expect "$err" "^rank 1 was killed (SIGKILL)$" ;;
    nobody)
      [ $status -eq 0 ] || complain "$story: the launcher returned $status"
      [ "$done" -eq 3 ] || complain "$story: $done workers have done their work"
      [ -s "$err" ] && complain "$story: something was said" ;;
  esac
  expect_three_and_none_left "$story"
done
exit $failed

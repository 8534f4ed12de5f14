#!/bin/bash
# death.sh <mpiexec> <mpi_casualty>: whatever way one worker of three dies, the launcher returns a failure within a few
# seconds, something is said about it, and no worker stays behind.
set -u
mpiexec=$1 casualty=$2
source "$(dirname "$0")/processes.sh"

words_of() {
  case $1 in
    kill) echo "^rank 1 was killed (SIGKILL)$" ;;
    crash) echo "^rank 1 was killed (SIGSEGV)$" ;;
    exit | exit_zero) echo "worker 1 exits in the middle of the run" ;;
    throw) echo "the disk is on fire" ;;
    unwind) echo "worker 1 ends early" ;;
    abort) echo "enough" ;;
    hang) echo "has waited 1 s for" ;;
  esac
}

for way in kill crash exit exit_zero throw unwind abort hang launcher; do
  begin=$(date +%s%N)
  if [ $way = launcher ]; then
    "$mpiexec" -n 3 "$casualty" "$way" >"$out" 2>"$err" </dev/null &
    launcher=$!
    sleep 1
    kill -KILL $launcher
    wait $launcher 2>/dev/null
  else
    timeout -k 1 20 "$mpiexec" -n 3 "$casualty" "$way" >"$out" 2>"$err" </dev/null
  fi
  status=$?
  milliseconds=$((($(date +%s%N) - begin) / 1000000))
  echo "$way: status $status after $milliseconds ms"
  [ $status -ne 0 ] || complain "$way: the launcher returned 0"
  [ $milliseconds -lt 8000 ] || complain "$way: the others lived on for $milliseconds ms"
  if [ $way != launcher ]; then
    grep -q "$(words_of $way)" "$err" || complain "$way: nothing of the kind on stderr"
  fi
  expect_three_and_none_left "$way"
done
exit $failed

#!/bin/sh
# Installs missing packages (Debian 12, Ubuntu 24.04); on other systems, lists the packages and exits with status 1.
# Does and asks nothing if all are installed. PARAGRAD_SETUP=skip skips the check.
# The argument `pages` adds the packages for the Python package, the report, the notebooks, the headers' documentation and their
# tests, and Open MPI, with which the tests build the program a second time.
set -eu

packages="cmake ninja-build g++ ccache git python3 python3-matplotlib
  mpich libmpich-dev libhdf5-dev libopenblas-pthread-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev
  libfmt-dev libboost-context-dev zlib1g-dev libpng-dev libjpeg-dev libzip-dev libxxhash-dev libssl-dev libpcre2-dev libeigen3-dev
  catch2 clang-format dataset-fashion-mnist flite1-dev bible-kjv bible-kjv-text fortunes fortunes-min"

# Not needed to build, run and draw; the browser alone is a download of 100 MB.
[ "${1:-}" != pages ] || packages="$packages python3-dev python3-venv python3-pandas jupyter-nbconvert python3-ipykernel doxygen
  openmpi-bin libopenmpi-dev"

# For testing the report. Ubuntu's apt has none; the test is then skipped.
browser() {
  [ "${1:-}" = pages ] || return 0
  for program in chromium-headless-shell chromium google-chrome; do
    ! command -v $program > /dev/null || return 0
  done
  ! apt-cache show chromium-headless-shell > /dev/null 2>&1 || echo chromium-headless-shell
}

[ "${PARAGRAD_SETUP:-}" != skip ] || exit 0

if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
  echo "This system has no apt-get. Install the equivalents of these Debian packages, then set PARAGRAD_SETUP=skip:"
  echo "$packages" | tr -s ' \n' '\n\n' | sed 's/^/  /'
  exit 1
fi

missing=""
for package in $packages; do
  state=$(dpkg-query -W -f='${Status}' "$package" 2> /dev/null || true)
  [ "$state" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing$(browser "${1:-}")" ] || exit 0

sudo=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo > /dev/null; then
    [ -n "$missing" ] || exit 0
    echo "Missing packages:$missing"
    echo "This user is not root and sudo is missing: ask an administrator to run apt-get install$missing"
    exit 1
  fi
  sudo=sudo
fi
mpi=$(readlink /etc/alternatives/mpi || echo /usr/bin/mpicc.mpich)
mpirun=$(readlink /etc/alternatives/mpirun || echo /usr/bin/mpirun.mpich)
echo "Installing with $sudo apt-get:$missing $(browser "${1:-}")"
log=$(mktemp)
# shellcheck disable=SC2046,SC2086 # words on purpose
if ! { $sudo apt-get update -q -o DPkg::Lock::Timeout=600 && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y -o DPkg::Lock::Timeout=600 --no-install-recommends \
         $missing $(browser "${1:-}"); } > "$log" 2>&1; then
  tail -n 30 "$log"
  echo "apt-get failed; the full output is in $log"
  exit 1
fi
rm "$log"

# Debian's Open MPI takes the names mpicc and mpiexec: they stay what they were.
for name in mpi mpirun; do
  eval "before=\$$name"
  [ "$(readlink "/etc/alternatives/$name")" = "$before" ] || $sudo update-alternatives --set "$name" "$before" > /dev/null || true
done

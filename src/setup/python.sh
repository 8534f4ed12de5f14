#!/bin/sh
# python.sh MODULE… -- ARGUMENT…: runs the first Python that has the modules with these arguments: the one in the PATH, or the
# system's own, which alone sees the system's packages. Without any, exits with status 2 and a message.
set -eu

modules=""
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  modules="$modules${modules:+, }$1"
  shift
done
shift

for python in python3 /usr/bin/python3; do
  if "$python" -c "import $modules" 2> /dev/null; then
    exec "$python" "$@"
  fi
done
echo "no Python here has $modules: install the missing packages with src/setup/packages.sh pages" >&2
exit 2

#!/bin/sh
# python.sh MODULE… -- ARGUMENT…: Python with these arguments, the first one that has the modules: that of the PATH, or the
# system's own, which alone sees the system's packages. Ends with 2 and one sentence where there is none.
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
echo "no Python here has $modules: src/setup/packages.sh pages installs what is missing" >&2
exit 2

#!/bin/sh
# All C++ sources are as clang-format would leave them.
cd "$(dirname "$0")/../.." || exit 1
files=$(find src sim tests experiments -name '*.hpp' -o -name '*.cpp' -o -name '*.cu')
clang-format --version | grep -q ' 14\.' || { echo "LEFT OUT: the format is that of clang-format 14"; exit 0; }
# shellcheck disable=SC2086
exec clang-format --dry-run --Werror $files

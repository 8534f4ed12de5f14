#!/bin/sh
# All C++ sources are as clang-format would leave them.
cd "$(dirname "$0")/../.." || exit 1
files=$(find src sim tests experiments -name '*.hpp' -o -name '*.cpp' -o -name '*.cu')
# shellcheck disable=SC2086
exec clang-format --dry-run --Werror $files

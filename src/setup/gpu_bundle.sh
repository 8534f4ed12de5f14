#!/bin/sh
# gpu-bundle.tar.gz: the programs of `make gpu-check` and their libraries, for a machine that has a GPU and the CUDA toolkit
# (cuBLAS) but none of the other packages. Without MPI and speech synthesis, for any x86-64 processor.
set -eu
cd "$(dirname "$0")/../.."

build=build-gpu bundle=gpu-bundle most_megabytes=60
command -v nvcc >/dev/null || {
  echo "gpu-bundle: nvcc is missing, which compiles the device cuda: install the CUDA toolkit" >&2
  exit 2
}
cmake --preset cuda >/dev/null
cmake --build --preset cuda

rm -rf $bundle
mkdir -p $bundle/lib
cp $build/paragrad $build/tests/test_backend $build/tests/test_train $build/tests/bench/bench_training $bundle/
strip $bundle/paragrad $bundle/test_* $bundle/bench_training
# Leaves out libraries that the target machine has (libc, CUDA toolkit); adds OpenBLAS, which the program opens at run time.
blas=$(ldconfig -p | sed -n 's/.*libopenblas\.so\.0 .*=> //p' | head -1)
{
  ldd $bundle/paragrad $bundle/test_* $bundle/bench_training "$blas" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'
  echo "$blas"
} | sort -u | grep -vE '/(libc|libm|libdl|librt|libpthread|libcublas|libcublasLt|libcudart)\.so' | while read -r library; do
  cp -L "$library" $bundle/lib/
done
strip --strip-unneeded $bundle/lib/*

tar -czf $bundle.tar.gz $bundle
rm -r $bundle
megabytes=$(du -m $bundle.tar.gz | cut -f1)
echo "$bundle.tar.gz: $megabytes MB"
[ "$megabytes" -le $most_megabytes ] || {
  echo "gpu-bundle: $bundle.tar.gz is larger than $most_megabytes MB" >&2
  exit 1
}

# What Paragrad is built from, besides the libraries that its programs link with.
include(${CMAKE_CURRENT_LIST_DIR}/libraries.cmake)
find_path(PARAGRAD_XXHASH_INCLUDE xxhash.h REQUIRED)  # a header suffices

# OpenBLAS is opened at run time, not linked: its kernels are chosen while it loads, and the choice must be made before
# (src/backend/cpu/blas.cpp).
find_library(PARAGRAD_OPENBLAS_FILE NAMES openblas
             PATH_SUFFIXES openblas-pthread openblas-openmp openblas-serial REQUIRED)
set(PARAGRAD_OPENBLAS ${PARAGRAD_OPENBLAS_FILE})  # where the soname libopenblas.so.0 is not found

# The device cuda. GPUs of other generations: -D CMAKE_CUDA_ARCHITECTURES=…
set(PARAGRAD_HAS_CUDA OFF)
if(PARAGRAD_CUDA AND NOT PARAGRAD_SANITIZE)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it of nvcc
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    # As for the host's compiler, multiplications and additions are rounded apart.
    string(APPEND CMAKE_CUDA_FLAGS " --expt-relaxed-constexpr --fmad=false -Xcompiler=-Wall,-Wextra")
    set(PARAGRAD_HAS_CUDA ON)
  else()
    message(NOTICE "CUDA toolkit not found: paragrad is built without the device cuda")
  endif()
endif()

# NVIDIA's libraries that may be missing: with the header a build leaves out no_<name>.cpp, without it <name>*.cpp.
find_package(CUDAToolkit QUIET)
macro(paragrad_optional name upper)
  find_path(PARAGRAD_${upper}_INCLUDE ${name}.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(PARAGRAD_${upper}_INCLUDE)
    set(PARAGRAD_NOT_OF_${upper} "/no_${name}\\.cpp$")
  else()
    set(PARAGRAD_NOT_OF_${upper} "/${name}[^/]*\\.cpp$")
  endif()
endmacro()
paragrad_optional(nccl NCCL)    # sums between GPUs of ranks; without it the collective says so
paragrad_optional(cudnn CUDNN)  # convolutions; without it they are matrix products

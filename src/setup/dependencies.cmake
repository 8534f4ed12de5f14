# Libraries from the system; nothing is downloaded. One block per library whose CMake support needs help.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
find_path(PARAGRAD_XXHASH_INCLUDE xxhash.h REQUIRED)  # a header suffices
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)

# HDF5's own module asks for the compiler wrappers; the C library of the serial build is all that is needed.
find_path(PARAGRAD_HDF5_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial REQUIRED)
find_library(PARAGRAD_HDF5_LIBRARY NAMES hdf5_serial hdf5 REQUIRED)
add_library(paragrad_hdf5 INTERFACE)
target_include_directories(paragrad_hdf5 SYSTEM INTERFACE ${PARAGRAD_HDF5_INCLUDE})
target_link_libraries(paragrad_hdf5 INTERFACE ${PARAGRAD_HDF5_LIBRARY})
add_library(paragrad::hdf5 ALIAS paragrad_hdf5)

# OpenBLAS is opened at run time, not linked: its kernels are chosen while it loads, and the choice must be made before
# (src/backend/cpu/blas.cpp).
find_library(PARAGRAD_OPENBLAS_FILE NAMES openblas
             PATH_SUFFIXES openblas-pthread openblas-openmp openblas-serial REQUIRED)
set(PARAGRAD_OPENBLAS ${PARAGRAD_OPENBLAS_FILE})  # where the soname libopenblas.so.0 is not found

set(PARAGRAD_HAS_MPI OFF)
if(PARAGRAD_MPI)
  find_package(MPI COMPONENTS C)
  if(MPI_C_FOUND)
    set(PARAGRAD_HAS_MPI ON)
  else()
    message(STATUS "MPI not found: paragrad is built without its MPI transport")
  endif()
endif()

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
    message(STATUS "CUDA toolkit not found: paragrad is built without the device cuda")
  endif()
endif()

# NCCL between GPUs of ranks; without it the collective says so.
find_path(PARAGRAD_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(PARAGRAD_NCCL_INCLUDE)
  set(PARAGRAD_NOT_OF_NCCL "/no_nccl\\.cpp$")
else()
  set(PARAGRAD_NOT_OF_NCCL "/nccl[^/]*\\.cpp$")
endif()

# Voices that generate speech; without them the command says what to install.
set(PARAGRAD_HAS_FLITE ON)
find_path(PARAGRAD_FLITE_INCLUDE flite/flite.h)
add_library(paragrad_flite INTERFACE)
foreach(library flite_cmu_us_slt flite_cmu_us_rms flite_cmu_us_awb flite_usenglish flite_cmulex flite)
  find_library(PARAGRAD_${library} ${library})
  if(PARAGRAD_FLITE_INCLUDE AND PARAGRAD_${library})
    target_link_libraries(paragrad_flite INTERFACE ${PARAGRAD_${library}})
  else()
    set(PARAGRAD_HAS_FLITE OFF)
  endif()
endforeach()
if(NOT PARAGRAD_HAS_FLITE)
  message(STATUS "flite not found: paragrad is built without voices")
endif()

# Libraries from the system that a program of Paragrad links with; nothing is downloaded. One block per library whose CMake
# support needs help. The installed package includes this file again (package.cmake.in).
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)

# HDF5's own module asks for the compiler wrappers; the C library of the serial build is all that is needed.
find_path(PARAGRAD_HDF5_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial REQUIRED)
find_library(PARAGRAD_HDF5_LIBRARY NAMES hdf5_serial hdf5 REQUIRED)
add_library(paragrad::hdf5 INTERFACE IMPORTED)
target_include_directories(paragrad::hdf5 SYSTEM INTERFACE ${PARAGRAD_HDF5_INCLUDE})
target_link_libraries(paragrad::hdf5 INTERFACE ${PARAGRAD_HDF5_LIBRARY})

# Decoders of images, and the archives of NumPy's .npz files.
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_path(PARAGRAD_ZIP_INCLUDE zip.h REQUIRED)
find_library(PARAGRAD_ZIP_LIBRARY zip REQUIRED)
add_library(paragrad::zip INTERFACE IMPORTED)
target_include_directories(paragrad::zip SYSTEM INTERFACE ${PARAGRAD_ZIP_INCLUDE})
target_link_libraries(paragrad::zip INTERFACE ${PARAGRAD_ZIP_LIBRARY})

# The pattern that splits texts into words for byte pair encoding.
find_path(PARAGRAD_PCRE2_INCLUDE pcre2.h REQUIRED)
find_library(PARAGRAD_PCRE2_LIBRARY pcre2-8 REQUIRED)
add_library(paragrad::pcre2 INTERFACE IMPORTED)
target_include_directories(paragrad::pcre2 SYSTEM INTERFACE ${PARAGRAD_PCRE2_INCLUDE})
target_link_libraries(paragrad::pcre2 INTERFACE ${PARAGRAD_PCRE2_LIBRARY})

set(PARAGRAD_HAS_MPI OFF)
if(PARAGRAD_MPI)
  find_package(MPI COMPONENTS C)
  if(MPI_C_FOUND)
    set(PARAGRAD_HAS_MPI ON)
  else()
    message(NOTICE "MPI not found: paragrad is built without its MPI transport")
  endif()
endif()

# Speech synthesis; without it, the command says what to install. The voices are not linked but loaded when needed
# (src/speech/synthesis): linked, the three would add 7 ms to every start.
set(PARAGRAD_HAS_FLITE OFF)
find_path(PARAGRAD_FLITE_INCLUDE flite/flite.h)
find_library(PARAGRAD_FLITE_LIBRARY flite)
find_library(PARAGRAD_FLITE_VOICE flite_cmu_us_slt)
if(PARAGRAD_FLITE_INCLUDE AND PARAGRAD_FLITE_LIBRARY AND PARAGRAD_FLITE_VOICE)
  set(PARAGRAD_HAS_FLITE ON)
  add_library(paragrad::flite INTERFACE IMPORTED)
  target_link_libraries(paragrad::flite INTERFACE ${PARAGRAD_FLITE_LIBRARY} ${CMAKE_DL_LIBS})
else()
  message(NOTICE "flite not found: paragrad is built without voices")
endif()

# How everything is compiled, by everyone: make, the presets, pip and CI. `make build-times` measures it.
#
# * Files are compiled in batches of PARAGRAD_BATCH, which read each header once. Changing one file recompiles its batch.
# * Standard and third-party headers are precompiled once for all targets with the same options (precompiled.h).
# * ccache is used where it is found.
#
# The linker is ld: mold would save less than half a second for a program, and may take a library's member where a stub that comes
# first replaces it.
#
# A file may then lack an include that another one of its batch has, or the precompiled header. tests/lint/alone.py detects this.
set(PARAGRAD_BATCH 10 CACHE STRING "How many files are compiled as one; 1: each by itself")
if(PARAGRAD_BATCH GREATER 1)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE ${PARAGRAD_BATCH})
  # In a batch, GCC treats a .cpp's internal types as a header's; GCC 12 gives false warnings in intrinsics and std::string.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage;-Wno-maybe-uninitialized;-Wno-uninitialized;\
-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>")
endif()

find_program(PARAGRAD_CCACHE ccache)
if(PARAGRAD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PARAGRAD_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${PARAGRAD_CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)  # lets ccache see the precompiled header
endif()

# GCC collects garbage from 128 MB on; from half a gigabyte on, it compiles in about 5 % less time (two batches, compared by hand).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=500000>")
endif()

# paragrad_compile(TARGET [OPTIONS option…] [HEADERS header…] [LIBRARIES library…]): compiles a target with these options, and
# with precompiled.h and these headers, of these libraries, precompiled once for all targets with the same options and headers.
file(CONFIGURE OUTPUT precompiled/empty.cpp CONTENT "")
function(paragrad_compile target)
  cmake_parse_arguments(PARSE_ARGV 1 with "" "" "OPTIONS;HEADERS;LIBRARIES")
  get_target_property(type ${target} TYPE)
  string(MD5 key "${type};${with_OPTIONS};${with_HEADERS}")
  string(SUBSTRING ${key} 0 8 key)
  set(precompiled paragrad_precompiled_${key})
  if(NOT TARGET ${precompiled})
    add_library(${precompiled} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled/empty.cpp)
    target_compile_options(${precompiled} PRIVATE ${with_OPTIONS})
    target_link_libraries(${precompiled} PRIVATE fmt::fmt ${with_LIBRARIES})
    if(type STREQUAL EXECUTABLE)  # these are compiled with -fPIE, libraries with -fPIC
      set_target_properties(${precompiled} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${precompiled} PRIVATE -fPIE)
    endif()
    target_precompile_headers(${precompiled} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/precompiled.h ${with_HEADERS})
  endif()
  target_compile_options(${target} PRIVATE ${with_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

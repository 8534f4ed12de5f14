# Which source and which compiler made this program. The commit is looked up at every build, and the file changes only when
# the answer does, so that an unchanged tree rebuilds nothing. Run as a script: -D OUT=… -D SOURCE=… -D FLAGS=… .
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE no_git ERROR_QUIET)
  set(dirty "")
  if(no_git)
    set(commit "unknown")
  else()
    execute_process(COMMAND git -C ${SOURCE} diff HEAD OUTPUT_VARIABLE difference ERROR_QUIET)
    if(difference)
      string(SHA256 dirty "${difference}")
    endif()
  endif()
  file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
#include "core/build_info.hpp"

namespace paragrad::core {

BuildInfo build_info() {
  return {"@VERSION@", "@commit@", "@dirty@", "@COMPILER@", "@FLAGS@", "@BUILD_TYPE@", "@SOURCE@/src/python"};
}

}  // namespace paragrad::core
]])
  return()
endif()

set(build_info ${CMAKE_BINARY_DIR}/build_info.cpp)
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
set(sanitizers)
if(PARAGRAD_SANITIZE)
  set(sanitizers -fsanitize=${PARAGRAD_SANITIZE})
endif()
string(REPLACE ";" " " options "${CMAKE_CXX_FLAGS_${build_type}} ${PARAGRAD_OPTIONS} ${sanitizers}")
add_custom_target(paragrad_build_info BYPRODUCTS ${build_info}
  COMMAND ${CMAKE_COMMAND} -D OUT=${build_info} -D SOURCE=${CMAKE_SOURCE_DIR} -D VERSION=${PROJECT_VERSION}
          "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" "-DFLAGS=${options}"
          -D BUILD_TYPE=${CMAKE_BUILD_TYPE} -P ${CMAKE_CURRENT_LIST_FILE}
  COMMENT "Looking up the commit" VERBATIM)
add_dependencies(paragrad_runs paragrad_build_info)
target_sources(paragrad_runs PRIVATE ${build_info})

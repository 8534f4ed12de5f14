# paragrad_program(NAME [STRATEGIES name…] [OPTIMISERS name…] [NETWORKS name…]): the program paragrad with entries of your own.
# Each name stands for <name>.cpp in the current folder, which defines <name>_entry() just as Paragrad's own files do
# (src/strategies, src/optim, src/nn/zoo). Files that they need besides: target_sources.
#
# A catalogue's source is compiled again, with a longer list. As its object comes first, the linker takes none from the library.
function(paragrad_program program)
  cmake_parse_arguments(PARSE_ARGV 1 added "" "" "STRATEGIES;OPTIMISERS;NETWORKS")
  if(added_UNPARSED_ARGUMENTS)
    list(JOIN added_UNPARSED_ARGUMENTS " " words)
    message(FATAL_ERROR "paragrad_program(${program}): write STRATEGIES, OPTIMISERS or NETWORKS before '${words}'")
  endif()
  add_executable(${program})
  set_target_properties(${program} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${program} PRIVATE paragrad::app)
  paragrad_record(${program} ${added_STRATEGIES} ${added_OPTIMISERS} ${added_NETWORKS})
  paragrad_extend(${program} strategies STRATEGY ${added_STRATEGIES})
  paragrad_extend(${program} optim OPTIMISER ${added_OPTIMISERS})
  paragrad_extend(${program} nn/zoo ZOO ${added_NETWORKS})
endfunction()

# Adds entries to the catalogue of `folder`, whose lines are ENTRY(name).
function(paragrad_extend program folder ENTRY)
  if(NOT ARGN)
    return()
  endif()
  list(TRANSFORM ARGN REPLACE "(.+)" "${ENTRY}(\\1)" OUTPUT_VARIABLE lines)
  file(STRINGS ${PARAGRAD_SOURCES}/${folder}/catalogue.def known)
  foreach(line IN LISTS lines)
    if(line IN_LIST known)
      message(FATAL_ERROR "paragrad_program(${program}): Paragrad has ${line} already; give yours another name")
    endif()
  endforeach()
  list(JOIN lines "\n" lines)
  file(CONFIGURE OUTPUT ${program}_added/${folder}/catalogue.def
       CONTENT "#include \"${PARAGRAD_SOURCES}/${folder}/catalogue.def\"\n${lines}\n")
  target_include_directories(${program} BEFORE PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${program}_added)
  list(TRANSFORM ARGN APPEND .cpp OUTPUT_VARIABLE files)
  target_sources(${program} PRIVATE ${files} ${PARAGRAD_SOURCES}/${folder}/catalogue.cpp)
endfunction()

# Lets the program's --version and the manifests of its runs name the added files, with their contents' hashes.
function(paragrad_record program)
  set(lines)
  foreach(name IN LISTS ARGN)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cpp)
    if(NOT EXISTS ${source})
      message(FATAL_ERROR "paragrad_program(${program}): there is no ${source}, where '${name}' is to be defined")
    endif()
    file(SHA256 ${source} sha256)
    string(APPEND lines "      {\"${name}.cpp\", \"${sha256}\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  endforeach()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${program}_added/added_sources.cpp)
  file(CONFIGURE OUTPUT ${file} CONTENT [[
#include "core/build_info.hpp"

namespace paragrad::core {

std::vector<AddedSource> added_sources() {
  return {
@lines@  };
}

}  // namespace paragrad::core
]])
  target_sources(${program} PRIVATE ${file})
endfunction()

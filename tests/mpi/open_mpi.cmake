# The program and the programs of this folder over Debian's Open MPI, next to MPICH. The transport's objects, compiled against
# Open MPI, come first, so the linker takes none of MPICH's from the library.
find_program(PARAGRAD_OPEN_MPI mpicc.openmpi)
find_program(PARAGRAD_OPEN_MPIEXEC mpiexec.openmpi)
mark_as_advanced(PARAGRAD_OPEN_MPI PARAGRAD_OPEN_MPIEXEC)
execute_process(COMMAND ${MPI_C_COMPILER} -show OUTPUT_VARIABLE mpich ERROR_QUIET)
if(NOT PARAGRAD_OPEN_MPI OR NOT PARAGRAD_OPEN_MPIEXEC OR NOT mpich MATCHES "mpich")
  message(NOTICE "Open MPI is not installed next to MPICH (Debian: libopenmpi-dev, openmpi-bin): its tests are left out")
  return()
endif()
foreach(what incdirs libdirs libs)
  execute_process(COMMAND ${PARAGRAD_OPEN_MPI} --showme:${what} OUTPUT_VARIABLE ${what} OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(${what})
endforeach()
list(TRANSFORM libdirs PREPEND -L)
list(TRANSFORM libs PREPEND -l)

file(GLOB transport CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/comm/mpi/mpi_*.cpp)
add_library(paragrad_open_mpi_transport OBJECT ${transport})
target_include_directories(paragrad_open_mpi_transport SYSTEM BEFORE PRIVATE ${incdirs})
target_compile_definitions(paragrad_open_mpi_transport PRIVATE OMPI_SKIP_MPICXX)
target_link_libraries(paragrad_open_mpi_transport PRIVATE paragrad_backend)

function(paragrad_over_open_mpi program)
  add_executable(${program}_over_open_mpi $<TARGET_OBJECTS:${program}> $<TARGET_OBJECTS:paragrad_open_mpi_transport>)
  get_target_property(libraries ${program} LINK_LIBRARIES)
  target_link_libraries(${program}_over_open_mpi PRIVATE -Wl,--as-needed ${libdirs} ${libs} ${libraries})
endfunction()

set(open_mpi_tests)
foreach(program collectives tasks windows)
  paragrad_over_open_mpi(mpi_${program})
  foreach(ranks 2 3 4)
    add_test(NAME open_mpi_${program}_${ranks}
             COMMAND ${PARAGRAD_OPEN_MPIEXEC} -n ${ranks} $<TARGET_FILE:mpi_${program}_over_open_mpi>)
    list(APPEND open_mpi_tests open_mpi_${program}_${ranks})
    if(program STREQUAL windows)  # ends without MPI_Finalize, which Open MPI's mpiexec takes for a failure
      set_tests_properties(open_mpi_windows_${ranks} PROPERTIES PASS_REGULAR_EXPRESSION "all of it holds over ${ranks} ranks"
                           FAIL_REGULAR_EXPRESSION "worker [0-9]:")
    endif()
  endforeach()
endforeach()
paragrad_over_open_mpi(paragrad)
# Open MPI starts no ranks for root, and not more than there are cores, unless it is told to.
set_property(TARGET paragrad_over_open_mpi PROPERTY PARAGRAD_ENVIRONMENT
             OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1)
set_tests_properties(${open_mpi_tests} PROPERTIES LABELS mpi TIMEOUT 60 RUN_SERIAL ON
                     ENVIRONMENT "$<TARGET_PROPERTY:paragrad_over_open_mpi,PARAGRAD_ENVIRONMENT>")

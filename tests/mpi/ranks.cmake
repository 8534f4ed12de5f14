# PARAGRAD_RANKS: whether mpiexec starts ranks that find each other. Those of MPICH 4.2.0 as Ubuntu 24.04 packages it do not
# (https://bugs.launchpad.net/ubuntu/+source/mpich/+bug/2072338); tests of ranks are then left out.
set(PARAGRAD_RANKS OFF)
if(PARAGRAD_HAS_MPI)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/together.c [[
#include <mpi.h>
int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Finalize();
  return size == 2 ? 0 : 1;
}
]])
  try_compile(made ${CMAKE_CURRENT_BINARY_DIR}/together ${CMAKE_CURRENT_BINARY_DIR}/together.c
              LINK_LIBRARIES MPI::MPI_C COPY_FILE ${CMAKE_CURRENT_BINARY_DIR}/mpi_together)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 ${CMAKE_CURRENT_BINARY_DIR}/mpi_together
                  RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET TIMEOUT 60)
  if(made AND result EQUAL 0)
    set(PARAGRAD_RANKS ON)
  else()
    message(WARNING "${MPIEXEC_EXECUTABLE} starts no ranks that find each other: tests of real ranks are left out (README)")
  endif()
endif()

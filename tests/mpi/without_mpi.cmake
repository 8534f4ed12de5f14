# The program as it is built where there is no MPI: the sources of comm again, with the stub in place of the transport. Their objects
# come first, so the linker takes none from the library.
get_target_property(sources paragrad_comm SOURCES)
list(FILTER sources EXCLUDE REGEX "/comm/mpi/mpi_[^/]*\\.cpp$")
add_library(paragrad_comm_without_mpi OBJECT ${sources} ${CMAKE_SOURCE_DIR}/src/comm/mpi/no_mpi.cpp)
target_link_libraries(paragrad_comm_without_mpi PUBLIC paragrad_backend)
get_target_property(libraries paragrad LINK_LIBRARIES)
add_executable(paragrad_without_mpi $<TARGET_OBJECTS:paragrad>)
target_link_libraries(paragrad_without_mpi PRIVATE paragrad_comm_without_mpi ${libraries})

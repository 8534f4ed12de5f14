# The program as it is built where there is no MPI: the stub in place of the transport. It comes first, so the linker takes no
# object of the transport from the library.
add_executable(paragrad_without_mpi $<TARGET_OBJECTS:paragrad> ${CMAKE_SOURCE_DIR}/src/comm/mpi/no_mpi.cpp)
get_target_property(libraries paragrad LINK_LIBRARIES)
target_link_libraries(paragrad_without_mpi PRIVATE -Wl,--as-needed ${libraries})

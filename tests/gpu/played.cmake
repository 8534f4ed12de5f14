# The device cuda on GPUs that the host plays: the same programs, but for that. Needs CUDA's headers alone.
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND)
  message(STATUS "CUDA toolkit not found: tests do not play a GPU")
  return()
endif()

file(GLOB played CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/played/*.cpp ${CMAKE_SOURCE_DIR}/src/backend/cuda/*.cpp)
list(FILTER played EXCLUDE REGEX "/cuda/(cuda_stub|cublas|nccl|shared_library)\\.cpp$")
list(FILTER played EXCLUDE REGEX "${PARAGRAD_NOT_OF_NCCL}")
add_library(paragrad_played_gpu OBJECT ${played})
target_include_directories(paragrad_played_gpu SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(paragrad_played_gpu PUBLIC paragrad_backend)

# `program` once more, with played GPUs. What is defined here is not taken from the library of the backend.
function(paragrad_played program)
  get_target_property(libraries ${program} LINK_LIBRARIES)
  add_executable(${program}_played $<TARGET_OBJECTS:${program}>)
  target_link_libraries(${program}_played PRIVATE paragrad_played_gpu ${libraries})
  set_target_properties(${program}_played PROPERTIES OUTPUT_NAME ${program}
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/played)
endfunction()

paragrad_test(gpu paragrad_played_gpu)
# What the others claim of a GPU.
set(orders late early any)
if(PARAGRAD_SANITIZE)  # which takes its time
  set(orders any)
endif()
foreach(module backend train)
  paragrad_played(test_${module})
  add_dependencies(unit-tests test_${module}_played)
  foreach(order ${orders})
    add_test(NAME played_${module}_${order} COMMAND test_${module}_played [gpu])
    set_tests_properties(played_${module}_${order} PROPERTIES LABELS unit TIMEOUT 300
                         ENVIRONMENT PARAGRAD_PLAYED_GPU=order=${order})
  endforeach()
endforeach()
foreach(program paragrad bench_training)
  paragrad_played(${program})
endforeach()
find_package(Python3 3.11 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT PARAGRAD_SANITIZE)
  add_test(NAME app_played_gpu COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/played_test.py)
  set_tests_properties(app_played_gpu PROPERTIES TIMEOUT 300 COST 300 LABELS app ENVIRONMENT
    "PARAGRAD=$<TARGET_FILE:paragrad_played>;PARAGRAD_MPIEXEC=$<$<BOOL:${PARAGRAD_RANKS}>:${MPIEXEC_EXECUTABLE}>")
endif()

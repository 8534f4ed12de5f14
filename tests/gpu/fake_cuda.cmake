# The device cuda on fake GPUs on the host; otherwise the same programs. Needs only CUDA's headers.
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND)
  message(NOTICE "CUDA toolkit not found: there are no fake GPUs for tests")
  return()
endif()

file(GLOB fake_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/fake_cuda/*.cpp ${CMAKE_SOURCE_DIR}/src/backend/cuda/*.cpp)
list(FILTER fake_sources EXCLUDE REGEX "/cuda/(cuda_stub|cublas|cudnn|nccl|shared_library)\\.cpp$")
list(FILTER fake_sources EXCLUDE REGEX "${PARAGRAD_NOT_OF_NCCL}|${PARAGRAD_NOT_OF_CUDNN}")
add_library(paragrad_fake_cuda OBJECT ${fake_sources})
target_include_directories(paragrad_fake_cuda SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS} $<$<BOOL:${PARAGRAD_CUDNN_INCLUDE}>:${PARAGRAD_CUDNN_INCLUDE}>)
target_compile_definitions(paragrad_fake_cuda PUBLIC PARAGRAD_HAS_CUDNN=$<BOOL:${PARAGRAD_CUDNN_INCLUDE}>)
target_link_libraries(paragrad_fake_cuda PUBLIC paragrad_backend)
target_compile_options(paragrad_fake_cuda PRIVATE ${PARAGRAD_LEFT_OUT})  # the formulas of the kernels are checked on the cpu

# `program` linked with fake GPUs. Symbols defined here take precedence over the backend library.
function(paragrad_fake_gpu program)
  get_target_property(libraries ${program} LINK_LIBRARIES)
  add_executable(${program}_fake_gpu $<TARGET_OBJECTS:${program}>)
  target_link_libraries(${program}_fake_gpu PRIVATE paragrad_fake_cuda ${libraries})
  set_target_properties(${program}_fake_gpu PROPERTIES OUTPUT_NAME ${program}
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake_gpu)
endfunction()

paragrad_test(gpu paragrad_fake_cuda)
# The GPU test cases of the other test programs.
set(orders late early any)
if(PARAGRAD_SANITIZE)  # sanitizers are slow
  set(orders any)
endif()
foreach(module backend train)
  paragrad_fake_gpu(test_${module})
  add_dependencies(unit-tests test_${module}_fake_gpu)
  foreach(order ${orders})
    add_test(NAME fake_gpu_${module}_${order} COMMAND test_${module}_fake_gpu [gpu])
    set_tests_properties(fake_gpu_${module}_${order} PROPERTIES LABELS unit TIMEOUT 300
                         ENVIRONMENT PARAGRAD_FAKE_GPU=order=${order})
    if(PARAGRAD_SANITIZE MATCHES address)
      set_property(TEST fake_gpu_${module}_${order} APPEND PROPERTY LABELS program:test_${module}_fake_gpu)
    endif()
  endforeach()
endforeach()
if(NOT PARAGRAD_SANITIZE)
  add_test(NAME fake_gpu_backend_without_cudnn COMMAND test_backend_fake_gpu [gpu])
  set_tests_properties(fake_gpu_backend_without_cudnn PROPERTIES LABELS unit TIMEOUT 300
                       ENVIRONMENT "PARAGRAD_FAKE_GPU=order=any cudnn=no")
endif()
foreach(program paragrad bench_training)
  paragrad_fake_gpu(${program})
endforeach()
if(PARAGRAD_RANKS)
  paragrad_mpi_program(mpi_given_up_sum ${CMAKE_SOURCE_DIR}/tests/mpi/given_up_sum.cpp)
  target_link_libraries(mpi_given_up_sum PRIVATE paragrad_fake_cuda)
  add_test(NAME mpi_given_up_sum
           COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 ${MPIEXEC_PREFLAGS} $<TARGET_FILE:mpi_given_up_sum>)
  set_tests_properties(mpi_given_up_sum PROPERTIES LABELS mpi TIMEOUT 60 RUN_SERIAL ON
                       ENVIRONMENT "PARAGRAD_FAKE_GPU=gpus=3 order=late")
endif()
find_package(Python3 3.11 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT PARAGRAD_SANITIZE)
  add_test(NAME app_fake_gpu COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/fake_gpu_test.py)
  set_tests_properties(app_fake_gpu PROPERTIES TIMEOUT 300 COST 300 LABELS app ENVIRONMENT
    "PARAGRAD=$<TARGET_FILE:paragrad_fake_gpu>;PARAGRAD_MPIEXEC=$<$<BOOL:${PARAGRAD_RANKS}>:${MPIEXEC_EXECUTABLE}>")
endif()

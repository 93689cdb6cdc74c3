# libtorch out of a PyTorch wheel, as imported targets of our own: find_package(Torch) of a CUDA wheel demands
# a CUDA toolkit, which CPU work does not need.
#   joulescale::torch       libtorch_cpu, libc10 and the c10d headers (Gloo)
#   joulescale::torch_cuda  the same with libtorch_cuda and NCCL's headers; only where CUDA headers are
# A file that includes torch takes 30-40 s and 1 GB to compile, 12 of them for templates of torch's own even with a
# precompiled header: joulescale_use_torch(TARGET) gives a target the shared precompiled header, compiles its files
# as one, and puts them into a Ninja pool of two at a time.
set(JOULESCALE_TRAIN_ENABLED OFF)
set(JOULESCALE_CUDA_ENABLED OFF)

set(torch_dir "${JOULESCALE_TORCH}")
if(NOT torch_dir)
  file(GLOB torch_candidates "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
  if(torch_candidates)
    list(GET torch_candidates 0 torch_dir)
  endif()
endif()

if(JOULESCALE_WITH_TRAIN STREQUAL "OFF")
  joulescale_feature("trainer" OFF "JOULESCALE_WITH_TRAIN=OFF")
elseif(NOT EXISTS "${torch_dir}/lib/libtorch_cpu.so")
  joulescale_missing(JOULESCALE_WITH_TRAIN "there is no libtorch at '${torch_dir}': run scripts/bootstrap.sh or set JOULESCALE_TORCH")
  joulescale_feature("trainer" OFF "no libtorch found: run scripts/bootstrap.sh or set JOULESCALE_TORCH")
else()
  find_path(GLOO_INCLUDE_DIR gloo/algorithm.h)
  if(NOT GLOO_INCLUDE_DIR)
    joulescale_missing(JOULESCALE_WITH_TRAIN "Gloo's headers are missing (Debian: libgloo-dev)")
    joulescale_feature("trainer" OFF "Gloo's headers are missing (Debian: libgloo-dev)")
  else()
    set(JOULESCALE_TRAIN_ENABLED ON)
    set(JOULESCALE_TORCH_DIR "${torch_dir}")
    joulescale_feature("trainer" ON "${torch_dir}")

    add_library(joulescale_torch INTERFACE)
    add_library(joulescale::torch ALIAS joulescale_torch)
    target_include_directories(joulescale_torch SYSTEM INTERFACE
      "${torch_dir}/include" "${torch_dir}/include/torch/csrc/api/include" "${GLOO_INCLUDE_DIR}")
    # The wheel's include/ holds an fmt of its own, without its library, which comes before Debian's.
    target_compile_definitions(joulescale_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO FMT_HEADER_ONLY)
    file(GLOB cuda_runtime_dirs "${torch_dir}/../nvidia/*/lib")
    target_link_options(joulescale_torch INTERFACE
      "LINKER:--allow-shlib-undefined" "LINKER:-rpath,${torch_dir}/lib"
      "$<$<BOOL:${cuda_runtime_dirs}>:LINKER:-rpath,$<JOIN:${cuda_runtime_dirs},:>>")
    target_link_libraries(joulescale_torch INTERFACE
      "${torch_dir}/lib/libtorch_cpu.so" "${torch_dir}/lib/libc10.so" Threads::Threads)
  endif()
endif()

if(NOT JOULESCALE_TRAIN_ENABLED OR JOULESCALE_WITH_CUDA STREQUAL "OFF")
  joulescale_feature("trainer on GPUs" OFF "needs the trainer and JOULESCALE_WITH_CUDA")
else()
  find_path(CUDA_INCLUDE_DIR cuda_runtime_api.h PATHS /usr/local/cuda/include)
  find_path(NCCL_INCLUDE_DIR nccl.h PATHS /usr/local/cuda/include)
  file(GLOB cuda_runtime_libraries "${torch_dir}/../nvidia/*/lib/libcudart.so.*")
  find_library(CUDA_RUNTIME_LIBRARY cudart PATHS /usr/local/cuda/lib64)
  if(cuda_runtime_libraries)  # the one that libtorch_cuda.so uses
    list(GET cuda_runtime_libraries 0 CUDA_RUNTIME_LIBRARY)
  endif()
  if(NOT CUDA_INCLUDE_DIR OR NOT NCCL_INCLUDE_DIR OR NOT CUDA_RUNTIME_LIBRARY
      OR NOT EXISTS "${torch_dir}/lib/libtorch_cuda.so")
    set(cuda_missing "cuda_runtime_api.h, nccl.h, libcudart.so or libtorch_cuda.so was not found")
    joulescale_missing(JOULESCALE_WITH_CUDA "${cuda_missing}")
    joulescale_feature("trainer on GPUs" OFF "${cuda_missing}")
  else()
    set(JOULESCALE_CUDA_ENABLED ON)
    joulescale_feature("trainer on GPUs" ON "${CUDA_INCLUDE_DIR}")
    add_library(joulescale_torch_cuda INTERFACE)
    add_library(joulescale::torch_cuda ALIAS joulescale_torch_cuda)
    target_include_directories(joulescale_torch_cuda SYSTEM INTERFACE "${CUDA_INCLUDE_DIR}" "${NCCL_INCLUDE_DIR}")
    target_compile_definitions(joulescale_torch_cuda INTERFACE USE_C10D_NCCL)
    target_link_libraries(joulescale_torch_cuda INTERFACE
      joulescale::torch "${torch_dir}/lib/libtorch_cuda.so" "${torch_dir}/lib/libc10_cuda.so" "${CUDA_RUNTIME_LIBRARY}")
  endif()
endif()

set_property(GLOBAL APPEND PROPERTY JOB_POOLS torch_compile=2)
function(joulescale_use_torch target)
  target_link_libraries(${target} PRIVATE joulescale::torch)
  target_precompile_headers(${target} REUSE_FROM joulescale_torch_pch)
  # The header serves files with the same code model only; CMake would compile programs with -fPIE.
  set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE torch_compile UNITY_BUILD ON POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
endfunction()

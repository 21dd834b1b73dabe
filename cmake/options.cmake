option(PERAXIS_TESTS "build the tests" ON)
option(PERAXIS_FUZZ "build the fuzz targets (clang only)" OFF)
option(PERAXIS_UNITY "compile several files as one where a folder says so (docs/decisions/0006)" ON)
option(PERAXIS_CAPTURE_CLIENT_ONLY "build libperaxis_capture.so and nothing else" OFF)
option(PERAXIS_WERROR "warnings are errors" ON)
set(PERAXIS_SANITIZE "" CACHE STRING "sanitizers, comma separated: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_library(peraxis_options INTERFACE)
target_compile_options(peraxis_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Wimplicit-fallthrough
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>  # clang 19 on libstdc++ 12's stable_sort
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>                    # false alarms of GCC 12 in std::string (GCC bug 105651)
  -ffp-contract=off                  # float results must not depend on the machine
  $<$<BOOL:${PERAXIS_WERROR}>:-Werror>)
target_compile_definitions(peraxis_options INTERFACE
  $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
target_include_directories(peraxis_options INTERFACE
  ${CMAKE_CURRENT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)
if(PERAXIS_SANITIZE)
  target_compile_options(peraxis_options INTERFACE -fsanitize=${PERAXIS_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(peraxis_options INTERFACE -fsanitize=${PERAXIS_SANITIZE})
  # GCC 12 says of instrumented containers that they may be filled beyond all memory.
  target_compile_options(peraxis_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds;-Wno-stringop-overread>)
endif()
if(PERAXIS_FUZZ)
  target_compile_options(peraxis_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=all)
  target_link_options(peraxis_options INTERFACE -fsanitize=address,undefined)
endif()

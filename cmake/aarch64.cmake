# Cross build for the boards. Of the other architecture it needs three libraries and their headers (the other
# dependencies are headers): installed,
#   dpkg --add-architecture arm64 && apt update && apt install g++-aarch64-linux-gnu zlib1g-dev:arm64 libpng-dev:arm64 \
#     libjpeg62-turbo-dev:arm64
# or unpacked into a folder that PERAXIS_ARM64_ROOT names (environment). qemu-user-static runs the result on a PC.
# The preset aarch64-capture, which builds libperaxis_capture.so alone, needs the compiler only.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
if(DEFINED ENV{PERAXIS_ARM64_ROOT})
  include_directories(SYSTEM $ENV{PERAXIS_ARM64_ROOT}/usr/include/aarch64-linux-gnu)
endif()
foreach(library ZLIB:z PNG:png JPEG:jpeg)
  string(REPLACE ":" ";" library ${library})
  list(GET library 0 name)
  list(GET library 1 file)
  set(${name}_LIBRARY $ENV{PERAXIS_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/lib${file}.a)
endforeach()

# Cross build for the boards:
#   dpkg --add-architecture arm64 && apt update && apt install g++-aarch64-linux-gnu zlib1g-dev:arm64 libfmt-dev:arm64 \
#     libpng-dev:arm64 libjpeg62-turbo-dev:arm64
# and qemu-user-static to run the result on a PC. The other dependencies are header-only.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ZLIB_LIBRARY /usr/lib/aarch64-linux-gnu/libz.a)
set(PNG_LIBRARY /usr/lib/aarch64-linux-gnu/libpng.a)
set(JPEG_LIBRARY /usr/lib/aarch64-linux-gnu/libjpeg.a)

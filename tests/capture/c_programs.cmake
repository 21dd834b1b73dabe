# C programs over the kernels' interfaces; also built for other processors, where nothing else is.
foreach(program rocket_program rknpu_program)
  add_executable(capture_${program} ${CMAKE_CURRENT_LIST_DIR}/${program}.c)
  target_compile_options(capture_${program} PRIVATE -Wall -Wextra -Werror -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -O2)
  target_link_libraries(capture_${program} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
endforeach()

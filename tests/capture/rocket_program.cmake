# A C program over the rocket kernel's interface; also built for other processors, where nothing else is.
add_executable(capture_rocket_program ${CMAKE_CURRENT_LIST_DIR}/rocket_program.c)
target_compile_options(capture_rocket_program PRIVATE -Wall -Wextra -Werror -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -O2)
target_link_libraries(capture_rocket_program PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

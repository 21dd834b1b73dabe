# peraxis_join_sources(TARGET COUNT): compiles COUNT files as one (docs/decisions/0006). Only for files whose unnamed
# namespaces do not collide.
function(peraxis_join_sources target count)
  if(PERAXIS_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()

# peraxis_add_library(NAME folder-library DEPENDS other folders... JOIN count): all .cpp below the folder;
# JOIN: that many files are compiled as one.
function(peraxis_add_library)
  cmake_parse_arguments(ARG "INTERFACE" "NAME;JOIN" "DEPENDS;LINK" ${ARGN})
  if(ARG_INTERFACE)
    add_library(peraxis_${ARG_NAME} INTERFACE)
    set(scope INTERFACE)
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
    add_library(peraxis_${ARG_NAME} STATIC ${sources})
    set(scope PUBLIC)
    if(ARG_JOIN)
      peraxis_join_sources(peraxis_${ARG_NAME} ${ARG_JOIN})
    endif()
  endif()
  target_link_libraries(peraxis_${ARG_NAME} ${scope} peraxis_options
    tl::expected ${ARG_LINK})
  foreach(dependency ${ARG_DEPENDS})
    target_link_libraries(peraxis_${ARG_NAME} ${scope} peraxis_${dependency})
  endforeach()
endfunction()

# peraxis_flatbuffers(TARGET SCHEMA): generates <build>/generated/<name>_generated.h for TARGET.
function(peraxis_flatbuffers target schema)
  get_filename_component(name ${schema} NAME_WE)
  set(out ${CMAKE_BINARY_DIR}/generated/${name}_generated.h)
  add_custom_command(OUTPUT ${out}
    COMMAND ${PERAXIS_FLATC} --cpp --scoped-enums -o ${CMAKE_BINARY_DIR}/generated ${schema}
    DEPENDS ${schema} VERBATIM)
  add_custom_target(peraxis_${name}_schema DEPENDS ${out})
  add_dependencies(${target} peraxis_${name}_schema)
  target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/generated
    ${PERAXIS_FLATBUFFERS_INCLUDE})
endfunction()

# peraxis_add_test(NAME SOURCES... DEPENDS folders... LABELS labels...): one GoogleTest program.
# Label `threads`: also run under the thread sanitizer. JOIN: that many files are compiled as one.
function(peraxis_add_test)
  cmake_parse_arguments(ARG "" "NAME;JOIN" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  if(ARG_JOIN)
    peraxis_join_sources(${ARG_NAME} ${ARG_JOIN})
  endif()
  # What runs without the command-line program and Python: the sanitizer builds need no more.
  if(NOT TARGET native_tests)
    add_custom_target(native_tests)
  endif()
  add_dependencies(native_tests ${ARG_NAME})
  if("threads" IN_LIST ARG_LABELS)
    if(NOT TARGET threads_tests)
      add_custom_target(threads_tests)
    endif()
    add_dependencies(threads_tests ${ARG_NAME})
  endif()
  # What the tests wait for is in the libraries; optimising the tests themselves took a third of their build.
  target_compile_options(${ARG_NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(${ARG_NAME} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main peraxis_options)
  foreach(dependency ${ARG_DEPENDS})
    target_link_libraries(${ARG_NAME} PRIVATE peraxis_${dependency})
  endforeach()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT 900 LABELS "${ARG_LABELS}"
    ENVIRONMENT "PERAXIS_BINARY=$<$<TARGET_EXISTS:peraxis>:$<TARGET_FILE:peraxis>>")
endfunction()

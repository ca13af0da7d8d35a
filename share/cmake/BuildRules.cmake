# The layering is said once, in DEPS: `bycc_add_library(Partition DEPS Analysis Target
# SOURCES ...)`. What is no library of that kind, programs among them, says it by
# bycc_layer(name DEPS Lib... SOURCES a.cpp...) [FOLDER folder]. The test `layers` holds every
# #include to it.
set(BYCC_LAYERS_FILE ${CMAKE_BINARY_DIR}/layers.txt)
file(WRITE ${BYCC_LAYERS_FILE} "")
function(bycc_layer name)
  cmake_parse_arguments(arg "" "FOLDER" "DEPS;SOURCES" ${ARGN})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_FOLDER})
  list(JOIN arg_DEPS " " deps)
  list(JOIN arg_SOURCES " " sources)
  file(APPEND ${BYCC_LAYERS_FILE} "${name} | ${folder} | ${deps} | ${sources}\n")
endfunction()
set_property(GLOBAL PROPERTY BYCC_COMPILER_LIBRARIES "")

# bycc_calls_loaded_code(target): it calls code that ObjectLoader or a JIT has loaded. clang's
# check of their types reads what stands before their code, where nothing may be mapped.
function(bycc_calls_loaded_code target)
  if(BYCC_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  endif()
endfunction()

# Headers are most of what a file takes to compile: those of the standard library are
# compiled once, and files of one library together (a third of the time). A compiler cache
# does without, and builds with warnings as errors do, to show what nobody included.
set(together OFF)
if(BYCC_SANITIZE OR NOT (BYCC_WERROR OR BYCC_CCACHE))
  set(together ON)
endif()
set(BYCC_PRECOMPILED_HEADERS ${together} CACHE BOOL "Compile the headers of the standard library once")
set(BYCC_UNITY_BUILD ${together} CACHE BOOL "Compile the files of a library together")
if(BYCC_PRECOMPILED_HEADERS)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/standard_headers.cpp CONTENT "")
  add_library(byccStandardHeaders OBJECT ${CMAKE_BINARY_DIR}/standard_headers.cpp)
  target_precompile_headers(byccStandardHeaders PRIVATE <algorithm> <array> <charconv> <cmath> <cstdint> <cstring>
    <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <tuple>
    <unordered_map> <utility> <variant> <vector>)
endif()

# bycc_add_library(Name SOURCES a.cpp... [DEPS Lib...] [PRIVATE_LIBS lib...] [RUNTIME])
# makes the static library byccName. RUNTIME: not part of libbycc.
function(bycc_add_library name)
  cmake_parse_arguments(arg "RUNTIME" "" "SOURCES;DEPS;PRIVATE_LIBS" ${ARGN})
  add_library(bycc${name} STATIC ${arg_SOURCES})
  target_include_directories(bycc${name} PUBLIC ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(bycc${name} PRIVATE ${arg_PRIVATE_LIBS})
  foreach(dep IN LISTS arg_DEPS)
    target_link_libraries(bycc${name} PUBLIC bycc${dep})
  endforeach()
  if(BYCC_PRECOMPILED_HEADERS)
    target_precompile_headers(bycc${name} REUSE_FROM byccStandardHeaders)
  endif()
  if(NOT arg_RUNTIME)
    set_property(GLOBAL APPEND PROPERTY BYCC_COMPILER_LIBRARIES bycc${name})
  endif()
  bycc_layer(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS})
endfunction()

# bycc_add_unit_test(Lib a.cpp...) in test/unit/Lib: one Catch2 program that
# links byccLib and nothing above it.
function(bycc_add_unit_test lib)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  add_executable(unit-${lib} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(unit-${lib} PRIVATE byccTestMain bycc${lib} ${arg_LIBS})
  target_precompile_headers(unit-${lib} REUSE_FROM byccTestHeader)
  # g++ 12 warns in <string>; tests need no more than -O1.
  target_compile_options(unit-${lib} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow -Wno-array-bounds>
                         $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(unit-${lib} PRIVATE
    BYCC_SOURCE_DIR="${CMAKE_SOURCE_DIR}" BYCC_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(unit-${lib} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  if(BYCC_SANITIZE) # without those that compute for many seconds as it is, and the hidden ones
    add_test(NAME unit-${lib} COMMAND unit-${lib} "~[long]~[.]")
    # Libraries that meet what users hand in come first; the others see what these let through.
    set(first Compiler Frontend IR Parser Pattern Runtime Support Target)
    if(lib IN_LIST first)
      bycc_sanitized_tests(TESTS unit-${lib})
      add_dependencies(sanitized-tests unit-${lib})
    else()
      bycc_sanitized_tests(LABEL sanitize-more TESTS unit-${lib})
      add_dependencies(sanitized-more-tests unit-${lib})
    endif()
  else()
    add_test(NAME unit-${lib} COMMAND unit-${lib})
  endif()
endfunction()

# bycc_sanitized_tests(TESTS name... [LABEL label] [OPTIONS option=value...]): tests that a
# build with sanitizers is for, `ctest -L sanitize`. OPTIONS: more of ASAN_OPTIONS.
set(BYCC_SANITIZER_REPORTS ${CMAKE_BINARY_DIR}/test/sanitizer-reports)
function(bycc_sanitized_tests)
  cmake_parse_arguments(arg "" "LABEL" "OPTIONS;TESTS" ${ARGN})
  if(NOT BYCC_SANITIZE)
    return()
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL sanitize)
  endif()
  foreach(test IN LISTS arg_TESTS)
    # 99 is no exit code of ours; a handler of ours for SIGSEGV would hide the report.
    string(JOIN ":" options log_path=${BYCC_SANITIZER_REPORTS}/${test} exitcode=99 handle_segv=2
           detect_stack_use_after_return=1 strict_string_checks=1 ${arg_OPTIONS})
    set_property(TEST ${test} APPEND PROPERTY LABELS ${arg_LABEL})
    set_property(TEST ${test} APPEND PROPERTY FIXTURES_REQUIRED sanitizer-reports)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=${options}"
                 "UBSAN_OPTIONS=print_stacktrace=1")
  endforeach()
endfunction()

# bycc_embed_text(target file variable): compiles `file` into `target` as
# `extern "C" const char variable[]`, NUL-terminated.
function(bycc_embed_text target file variable)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${variable}.c)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${out} -DVARIABLE=${variable}
            -P ${CMAKE_SOURCE_DIR}/share/cmake/EmbedText.cmake
    DEPENDS ${file} ${CMAKE_SOURCE_DIR}/share/cmake/EmbedText.cmake)
  target_sources(${target} PRIVATE ${out})
  set_source_files_properties(${out} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# bycc_add_model(target MODEL [ANNOTATE vendors] [OPTIONS option...])
#
# Compiles MODEL (.onnx, .relay, .json) when it has changed, or a file that it is made of:
# rules, patterns, weights beside it, plans. `target` is a library to link: the model's code,
# the runtime, and the folder of its header target.h. Its weights, if there are any, are
# target.params, whose path the target property BYCC_PARAMS has.
#
#   bycc_add_model(net net.onnx ANNOTATE dnnl OPTIONS --dim batch=1)
#   target_link_libraries(app PRIVATE net)
function(bycc_add_model target model)
  cmake_parse_arguments(arg "" "ANNOTATE" "OPTIONS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "bycc_add_model(${target}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT EXISTS "${bycc_PROGRAM}")
    message(FATAL_ERROR "bycc_add_model(${target}): there is no ${bycc_PROGRAM}")
  endif()
  get_filename_component(model "${model}" ABSOLUTE)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.model")
  file(MAKE_DIRECTORY "${folder}")
  # Dependency files are read from another folder than the command runs in: files by full paths.
  set(options)
  foreach(option IN LISTS arg_OPTIONS)
    string(REGEX REPLACE "^--?[a-z-]+=" "" value "${option}")
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${value}" AND NOT value STREQUAL "")
      string(REPLACE "${value}" "${CMAKE_CURRENT_SOURCE_DIR}/${value}" option "${option}")
    endif()
    list(APPEND options "${option}")
  endforeach()
  if(arg_ANNOTATE)
    list(APPEND options "--annotate=${arg_ANNOTATE}")
  endif()
  set(object "${folder}/${target}.o")
  if(POLICY CMP0116)
    cmake_policy(SET CMP0116 NEW)
  endif()
  add_custom_command(OUTPUT "${object}"
    COMMAND "${bycc_PROGRAM}" "${model}" ${options} -q -MD -MF "${folder}/${target}.d" -MT "${object}" -o "${object}"
    DEPENDS "${model}" "${bycc_PROGRAM}"
    DEPFILE "${folder}/${target}.d"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Compiling model ${target}"
    VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_library(${target} STATIC "${object}")
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C BYCC_PARAMS "${folder}/${target}.params")
  target_include_directories(${target} PUBLIC "${folder}")
  target_link_libraries(${target} PUBLIC bycc::runtime m)
endfunction()

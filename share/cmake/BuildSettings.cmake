# Warnings, sanitizers and the compiler cache, for all targets.
# -O2: a full build on two cores has to stay short, and models run generated code.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
# g++ 12 warns about std::string's own code (GCC bug 105651).
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
# clang warns about the code of libstdc++ 12: its stable_sort calls what C++17 deprecates.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
# What is installed names no folder of the machine that it was built on.
add_compile_options(-ffile-prefix-map=${CMAKE_BINARY_DIR}/= -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(BYCC_WERROR)
  add_compile_options(-Werror)
endif()
if(BYCC_SANITIZE)
  list(JOIN BYCC_SANITIZE "," sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
  if("address" IN_LIST BYCC_SANITIZE)
    # What it would find, addresses show; it is a fifth of the time that files take.
    add_compile_options(-fno-sanitize=object-size)
    add_compile_definitions(BYCC_ADDRESS_SANITIZER) # each compiler has a way of its own to say so
  endif()
endif()
find_program(BYCC_CCACHE ccache)
if(BYCC_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${BYCC_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BYCC_CCACHE})
endif()

# Warnings, sanitizers and the compiler cache, for all targets.
# -O2: a full build on two cores has to stay short, and models run generated code.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
# g++ 12 warns about std::string's own code (GCC bug 105651).
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
if(BYCC_WERROR)
  add_compile_options(-Werror)
endif()
foreach(sanitizer IN LISTS BYCC_SANITIZE)
  add_compile_options(-fsanitize=${sanitizer} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizer})
endforeach()
find_program(BYCC_CCACHE ccache)
if(BYCC_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${BYCC_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BYCC_CCACHE})
endif()

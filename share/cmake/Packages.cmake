# `cpack` in a build folder in which everything is built makes three Debian packages of what is installed:
#   bycc             the compiler: programs, libbycc, patterns, manual pages, documents
#   libbycc-runtime  what runs compiled models: the library, vendors' run halves, bycc-run
#   libbycc-dev      headers, the static runtime, CMake and pkg-config files, examples, the kit for vendors
# A rule of install() says with COMPONENT which one it is for; `bycc` without it.
set(components bycc libbycc-runtime libbycc-dev)
foreach(component IN LISTS components)
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} RENAME copyright
          COMPONENT ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${component})
  set(CPACK_DEBIAN_${upper}_FILE_NAME DEB-DEFAULT)
endforeach()
set(same "(= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_BYCC_PACKAGE_DEPENDS "libbycc-runtime ${same}")
set(CPACK_DEBIAN_BYCC_PACKAGE_SUGGESTS "gcc")
set(CPACK_DEBIAN_LIBBYCC-DEV_PACKAGE_DEPENDS "bycc ${same}, libbycc-runtime ${same}")
set(CPACK_DEBIAN_BYCC_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_LIBBYCC-RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBBYCC-DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_BYCC_DESCRIPTION "graph-partitioning compiler for neural networks")
set(CPACK_COMPONENT_LIBBYCC-RUNTIME_DESCRIPTION "runs neural networks that bycc compiled")
set(CPACK_COMPONENT_LIBBYCC-DEV_DESCRIPTION "headers and libraries for programs with bycc")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "bycc developers")
set(CPACK_PACKAGE_CONTACT "bycc developers")
set(CPACK_PACKAGE_VENDOR "bycc")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "graph-partitioning compiler for neural networks")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)

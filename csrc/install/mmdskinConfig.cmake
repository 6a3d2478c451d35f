# SPDX-License-Identifier: MIT
# find_package(mmdskin) defines mmdskin::mmdskin, the shared library, and mmdskin::static.
get_filename_component(_mmdskin_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET mmdskin::mmdskin)
  add_library(mmdskin::mmdskin SHARED IMPORTED)
  set_target_properties(mmdskin::mmdskin PROPERTIES
    IMPORTED_LOCATION "${_mmdskin_prefix}/lib/libmmdskin.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_mmdskin_prefix}/include")

  add_library(mmdskin::static STATIC IMPORTED)
  set_target_properties(mmdskin::static PROPERTIES
    IMPORTED_LOCATION "${_mmdskin_prefix}/lib/libmmdskin.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_mmdskin_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m")
endif()

unset(_mmdskin_prefix)

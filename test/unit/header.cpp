// Nothing but the precompiled header of the unit tests, see ../CMakeLists.txt.

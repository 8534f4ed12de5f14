# cmake --install: the program, and what it prints for man and for shells.
include(GNUInstallDirs)
install(TARGETS paragrad)
function(paragrad_install_printed arguments folder name)
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${folder}\")
    message(STATUS \"Installing: \${folder}/${name}\")
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:paragrad>\" ${arguments} OUTPUT_FILE \"\${folder}/${name}\"
                    COMMAND_ERROR_IS_FATAL ANY)")
endfunction()
paragrad_install_printed("manual" man/man1 paragrad.1)
paragrad_install_printed("completion bash" bash-completion/completions paragrad)
paragrad_install_printed("completion zsh" zsh/site-functions _paragrad)

# The Python package, where the program finds it (app/plot_command.cpp).
install(DIRECTORY src/python/ DESTINATION ${CMAKE_INSTALL_DATADIR}/paragrad/python FILES_MATCHING PATTERN *.py
        PATTERN __pycache__ EXCLUDE)

# And a package for code outside this tree: headers, libraries and the sources that paragrad_program compiles again.
include(CMakePackageConfigHelpers)
set(PARAGRAD_HEADERS ${CMAKE_INSTALL_INCLUDEDIR}/paragrad)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/paragrad)
target_compile_features(paragrad_core INTERFACE cxx_std_20)
target_compile_options(paragrad_core INTERFACE $<INSTALL_INTERFACE:${PARAGRAD_ARITHMETIC}>)
install(TARGETS ${PARAGRAD_MODULES} EXPORT paragrad ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${PARAGRAD_HEADERS})
install(EXPORT paragrad NAMESPACE paragrad:: DESTINATION ${package} FILE targets.cmake)
install(DIRECTORY src/ ${CMAKE_BINARY_DIR}/include/ DESTINATION ${PARAGRAD_HEADERS}
        FILES_MATCHING PATTERN *.hpp PATTERN *.def PATTERN app EXCLUDE PATTERN cli EXCLUDE PATTERN runs EXCLUDE
        PATTERN search EXCLUDE PATTERN setup EXCLUDE PATTERN python EXCLUDE PATTERN worlds EXCLUDE)
install(DIRECTORY sim DESTINATION ${PARAGRAD_HEADERS} FILES_MATCHING PATTERN *.hpp PATTERN *.def PATTERN platforms EXCLUDE)
foreach(folder strategies optim nn/zoo nn/losses comm/compression)  # each an object of its own, which such a program, or the Python module, replaces
  install(FILES src/${folder}/catalogue.cpp DESTINATION ${PARAGRAD_HEADERS}/${folder})
  set_source_files_properties(src/${folder}/catalogue.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()
configure_package_config_file(src/setup/package.cmake.in ${CMAKE_BINARY_DIR}/package/paragradConfig.cmake
                              INSTALL_DESTINATION ${package} PATH_VARS PARAGRAD_HEADERS)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/paragradConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(DIRECTORY ${CMAKE_BINARY_DIR}/package/ DESTINATION ${package})
install(FILES src/setup/libraries.cmake src/setup/program.cmake DESTINATION ${package})

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

#pragma once

#include <string>

#include "app/command.hpp"

namespace paragrad::app {

/// Options shared by several commands. The caller chooses the group.
CLI::Option* add_loss_option(CLI::App& parser, std::string& loss);
CLI::Option* add_device_option(CLI::App& parser, std::string& device);
CLI::Option* add_network_option(CLI::App& parser, std::string& network);

}  // namespace paragrad::app

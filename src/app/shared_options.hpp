#pragma once

#include <string>

#include "app/command.hpp"

namespace paragrad::app {

/// Options shared by several commands. The caller chooses the group.
CLI::Option* add_loss_option(CLI::App& parser, std::string& loss);
CLI::Option* add_device_option(CLI::App& parser, std::string& device);
/// Refuses activation functions by the names of other programs, with the name here.
void check_activations(CLI::Option& model);
CLI::Option* add_network_option(CLI::App& parser, std::string& network);

}  // namespace paragrad::app

#pragma once

#include <string>

#include "app/command.hpp"

namespace paragrad::app {

/// Options shared by several commands. The caller chooses the group.
CLI::Option* add_loss_option(CLI::App& parser, std::string& loss);
CLI::Option* add_device_option(CLI::App& parser, std::string& device);
/// The model in the place of which file:PATH names a text of nodes; then the model is that text, also in config.toml.
CLI::Option* add_model_option(CLI::App& parser, const char* flag, std::string& model, const std::string& help);
CLI::Option* add_network_option(CLI::App& parser, std::string& network);

}  // namespace paragrad::app

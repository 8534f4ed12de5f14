#pragma once

#include <string>
#include <vector>

#include "app/command.hpp"

namespace paragrad::app {

/// Options shared by several commands. The caller chooses the group.
CLI::Option* add_loss_option(CLI::App& parser, std::string& loss);
CLI::Option* add_device_option(CLI::App& parser, std::string& device);
CLI::Option* add_network_option(CLI::App& parser, std::string& network);

/// The names of a catalogue's entries.
template <class Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  return names;
}

/// "name:PARAMETER, …" for the entries that take a parameter.
template <class Entry>
std::string with_parameters(const std::vector<Entry>& entries, std::string Entry::*parameter, const char* separator = "") {
  std::string text;
  for (const Entry& entry : entries)
    if (!(entry.*parameter).empty()) text += (text.empty() ? "" : ", ") + entry.name + separator + entry.*parameter;
  return text;
}

}  // namespace paragrad::app

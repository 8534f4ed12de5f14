#pragma once

#include "app/command.hpp"
#include "core/options.hpp"

namespace paragrad::app {

/// Adds the option that chooses an entry of a catalogue. It rejects nothing, as known_names().
CLI::Option* add_choice(CLI::App& parser, const core::CatalogueInfo& catalogue, std::string& chosen,
                        const std::string& description);

/// The values that an option takes, as in --help: "FLOAT:0 to below 1", "TEXT:{cbm,nbm}".
std::string type_of(const core::OptionInfo& info);

/// Adds the options of all entries of a catalogue, and of the entries that these choose from other catalogues. Given values
/// go to `settings`, which must outlive the parser. An option of several entries is added once.
void add_entry_options(CLI::App& parser, const core::CatalogueInfo& catalogue, core::Settings& settings);

}  // namespace paragrad::app

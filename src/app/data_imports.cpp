#include "app/data_imports.hpp"

#include "cli/described_options.hpp"
#include "cli/option_use.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "data/importer.hpp"
#include "speech/importers.hpp"

namespace paragrad::app {
namespace {

/// What was written, what was read as what, and what is probably not meant, a line each.
void print_imported(const data::Imported& imported, const std::string& path) {
  print_written(imported, path);
  for (const std::string& line : imported.taken) fmt::print("{}\n", cli::with_flags(core::printable_message(line)));
  for (const std::string& line : imported.warnings)
    fmt::print("warning: {}\n", cli::with_flags(core::printable_message(line)));
}

void add_importer(CLI::App& data, const data::Importer& importer) {
  const std::string name = "import-" + importer.name;
  CLI::App* command = data.add_subcommand(name, importer.summary);
  const std::shared_ptr<data::Import> import = importer.make();
  cli::add_options(*command, *import);
  cli::set_examples(*command, core::format("paragrad data {} {}", name, cli::with_flags(importer.example)));
  command->callback([command, import] {
    cli::use_of(*command, *import).check();
    print_imported(import->run(), import->out());
  });
}

}  // namespace

void print_written(const data::DatasetInfo& info, const std::string& path) {
  if (info.vocabulary) {
    fmt::print("{}: {} training, {} validation, {} test tokens of a vocabulary of {}\n", core::printable(path),
               info.samples[0], info.samples[1], info.samples[2], info.classes);
    return fmt::print("content sha256 {}\n", info.content_sha256);
  }
  const std::string answers = info.widths.targets > 0
                                  ? core::format("{} target{}", info.widths.targets, info.widths.targets > 1 ? "s" : "")
                                  : core::format("{} classes", info.classes);
  fmt::print("{}: {} training, {} validation, {} test samples of {} features, {}\n", core::printable(path), info.samples[0],
             info.samples[1], info.samples[2], info.dim, answers);
  fmt::print("content sha256 {}\n", info.content_sha256);
}

void add_import_commands(CLI::App& data) {
  for (const auto* importers : {&data::importers(), &speech::importers()})
    for (const data::Importer& importer : *importers) add_importer(data, importer);
}

}  // namespace paragrad::app

#include <fstream>
#include <optional>

#include "app/cntk/cntk_import.hpp"
#include "app/commands.hpp"
#include "cli/described_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "system/file_replacement.hpp"

namespace paragrad::app {
namespace {

constexpr const char* what_import_does =
    "Convert the SGD block of a CNTK configuration file (BrainScript, NDL) into a file for --config.\n"
    "The input may also consist of the contents of such a block only. Keys that are unknown or cannot be expressed are "
    "reported on stderr and in comments; keys that only concern files and messages are dropped. The result does not contain "
    "model and data: give --model and --data in addition to --config.";

struct Arguments {
  std::string file;
  std::string out;
  int workers = 0;
  bool strict = false;

  void describe(core::OptionList& list) {
    list.argument("file", file, "CNTK configuration file").path().required();
    list.text("out", out, "file to write (default: print the configuration)").path();
    list.number(
        "workers", workers, {.least = 0, .most = 100000000},
        "number of workers that will train, by which counts that CNTK gives for all workers are divided (0: unknown)");
    list.flag("strict", strict, "fail on keys that are unknown or cannot be expressed");
  }
};

/// Under --strict, throws one sentence that lists everything that would be lost.
void refuse_losses(const CntkImport& import) {
  std::vector<std::string> lost;
  for (const auto& remark : import.remarks)
    if (remark.lost) lost.push_back(core::format("line {}: {}", remark.line, remark.text));
  if (!lost.empty())
    throw core::ConfigError(
        core::format("'{}' cannot be converted without losses (--strict): {}", import.file, core::join(lost, "; ")));
}

int run(const Arguments& arguments) {
  const CntkImport import = import_cntk(BrainScript::read(arguments.file), arguments.workers);
  if (arguments.strict) refuse_losses(import);
  if (arguments.out.empty())
    fmt::print("{}", import.toml());
  else
    system::replace_file(arguments.out, [&](std::ostream& out) { out << import.toml(); });
  for (const auto& remark : import.remarks)
    cli::print_error(core::format("{}:{}: {}", arguments.file, remark.line, remark.text));
  return cli::success;
}

}  // namespace

cli::Command import_cntk_command() {
  return cli::command_of<Arguments>(
      {.name = "import-cntk",
       .description = what_import_does,
       .examples = "paragrad import-cntk speech.cntk --workers 4 --out speech.toml\n"
                   "paragrad simulate --config speech.toml --workers 4 --platform sim/platforms/k40m-fdr.toml \\\n"
                   "    --data frames.h5 --model 40-64-120:relu --out runs/speech"},
      [](Arguments& arguments, const CLI::App&) { return run(arguments); });
}

}  // namespace paragrad::app

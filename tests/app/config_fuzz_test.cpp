// Damaged configurations, the program's own and CNTK's (tests/fuzz.hpp).
#include "app/cntk/cntk_import.hpp"
#include "catch.hpp"
#include "cli/command.hpp"
#include "cli/described_options.hpp"
#include "cli/flat_toml.hpp"
#include "core/limits.hpp"
#include "fuzz.hpp"
#include "mutations.hpp"
#include "search/space.hpp"
#include "system/files.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::app;

namespace {

const std::string config_text =
    "# A training\nmodel = \"40-64-120:relu\"\ndata='frames.h5' # here\nlearning-rate = 0.05\nepochs = 2\nworkers = 4\n"
    "strategy = \"bmuf\"\nmomentum = 0.9\nschedule = \"halve\"\nhost-threads = 1\nquiet = true\n";

constexpr std::array<std::string_view, 18> config_words{"=",
                                                        "\n",
                                                        "\"",
                                                        "'",
                                                        "[",
                                                        "]",
                                                        ",",
                                                        "#",
                                                        "-1",
                                                        "1e999",
                                                        "nan",
                                                        "true",
                                                        "\nminibatch = ",
                                                        "\nseed = 3\n",
                                                        "99999999999999999999",
                                                        "..",
                                                        " log",
                                                        std::string_view("\0", 1)};

}  // namespace

TEST_CASE("damaged configurations and spaces of a search", "[app][fuzz]") {
  const std::string space =
      "epochs = 2\nstrategy = [\"bmuf\", \"model_averaging\"]\nlearning-rate = \"0.01..0.3 log\"\nminibatch = [\n 16,  # "
      "small\n 32\n]\n";
  const auto read = [](const std::string& text) {
    search::Space space;
    for (const cli::ConfigEntry& entry : cli::read_flat_toml(text, "input")) {
      CHECK(entry.line >= 1);
      CHECK((entry.is_list || entry.values.size() == 1));
      space.add(entry.key, entry.values);
    }
    if (space.varied().size() > 4) return;
    const auto configurations = space.configurations(2, 1);
    CHECK(!configurations.empty());
  };
  test::survive(
      test::fuzz_inputs(),
      [&](std::size_t input) { return test::mutated(input % 2 == 0 ? space : config_text, input, config_words); }, read,
      8 * test::as_objects);  // a value may become a configuration
  CHECK_NOTHROW(read(space));
  CHECK_NOTHROW(read(config_text));
}

TEST_CASE("damaged configurations of a command", "[app][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("config.toml");
  struct Options {
    std::string model, strategy;
    double rate = 0;
    int epochs = 0;
    std::vector<std::uint64_t> seeds;
    bool quiet = false;

    void describe(core::OptionList& list) {
      list.text("model", model, "network");
      list.choice("strategy", strategy, {"sgd", "bmuf"}, "strategy");
      list.number("learning-rate", rate, core::above_zero, "learning rate");
      list.number("epochs", epochs, {.least = 1, .most = 1000}, "epochs");
      list.numbers("seeds", seeds, core::any_seed, "seeds");
      list.flag("quiet", quiet, "print nothing");
    }
  };
  const auto read = [&](const std::string& text) {
    test::write_text(path, text);
    Options options;
    const auto parser = cli::make_parser("command", "Does nothing.");
    cli::accept_config_file(*parser);
    cli::add_options(*parser, options);
    std::string option = "--config", file = path;
    std::array<char*, 2> arguments{option.data(), file.data()};
    const auto ended = cli::parse(*parser, arguments);
    CHECK(!ended);
    CHECK(options.rate >= 0);
    CHECK((options.epochs >= 0 && options.epochs <= 1000));
  };
  const std::string config =
      "model = \"40-10:relu\"\nlearning-rate = 0.05\nepochs = 20 # all\nstrategy = \"bmuf\"\nseeds = [1, 2]\nquiet = true\n";
  test::survive(
      test::fuzz_inputs(2), [&](std::size_t input) { return test::mutated(config, input, config_words); }, read,
      test::as_objects);
  CHECK_NOTHROW(read(config));
}

TEST_CASE("damaged configurations of CNTK", "[app][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("train.cntk");
  std::vector<std::string> files;
  for (const char* name : {"speech", "wiki_block_momentum", "wiki_data_parallel", "wiki_model_averaging"})
    files.push_back(system::read_text(std::string(PARAGRAD_SOURCE "/tests/app/cntk/") + name + ".cntk"));
  constexpr std::array<std::string_view, 18> words{"[",     "]",        "{",
                                                   "}",     "\"",       "(",
                                                   ")",     "=",        "\n",
                                                   ";",     "#",        "$",
                                                   "$SGD$", "SGD = [",  "0.1*99999:0.2",
                                                   "-1",    "infinity", "ParallelTrain = "};
  const auto read = [&](const std::string& text) {
    test::write_text(path, text);
    for (const int workers : {0, 4}) {
      const CntkImport import = import_cntk(BrainScript::read(path), workers);
      const auto entries = cli::read_flat_toml(import.toml(), "output");
      CHECK(entries.size() == import.settings.size());
    }
  };
  test::survive(
      test::fuzz_inputs(), [&](std::size_t input) { return test::mutated(files[input % files.size()], input, words); }, read,
      test::as_objects);
  for (const std::string& file : files) CHECK_NOTHROW(read(file));
}

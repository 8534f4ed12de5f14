// Damaged text tables: each is read or refused (tests/fuzz.hpp).
#include <array>

#include "catch.hpp"
#include "checksummed.hpp"
#include "data/csv_import.hpp"
#include "fuzz.hpp"
#include "mutations.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

constexpr std::array<std::string_view, 16> table_words{",",     ";", "\t",   "\"",  "\"\"",         "\r\n", "\n\n",  "nan",
                                                       "1e999", "-", "0x10", "1,5", "\xef\xbb\xbf", "",     "class", "\0"};

std::vector<std::string> tables() {
  std::string commas = "width,height,species\n", semicolons, tabs = "\xef\xbb\xbf\"a\tb\"\tlabel\r\n",
              blanks = "# made by savetxt\n";
  for (int i = 0; i < 12; ++i) {
    commas += core::format("{}.5,-{}e1,\"class \"\"{}\"\"\"\n", i, i, i % 3);
    semicolons += core::format("{};{};{}\r", i % 2, i, 2 * i);
    blanks += core::format(" {:.3e}  {}   {} \n", i / 3., -i, i % 3);
    tabs += core::format("{}\t{}\r\n\r\n", i, i % 2 == 0 ? "even" : "odd");
  }
  return {commas, semicolons, tabs, blanks};
}

}  // namespace

TEST_CASE("damaged text tables", "[data][fuzz]") {
  const test::TemporaryFolder folder;
  ImportCsvOptions options;
  options.file = folder.file("table.csv");
  options.out = folder.file("out.h5");
  options.name = "fuzz";
  options.valid = options.test = 2;
  options.normalise = true;
  const auto damaged = [&, files = tables()](std::size_t input) {
    std::string file = test::mutated(files[input % files.size()], input, table_words);
    return input % 5 == 0 ? test::mutated(gzip(file), input) : file;
  };
  const auto read = [&](const std::string& file) {
    write_text(options.file, file);
    const DatasetInfo info = import_csv(options);
    CHECK(info.samples[0] + info.samples[1] + info.samples[2] > 4);
    CHECK(info.classes > 0);
  };
  test::survive(test::fuzz_inputs(5), damaged, read, 8);
  for (const std::string& file : tables()) CHECK_NOTHROW(read(file));
}

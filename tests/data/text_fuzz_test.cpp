// Damaged texts: each is imported and comes back, or is refused (tests/fuzz.hpp).
#include <array>

#include "catch.hpp"
#include "checksummed.hpp"
#include "data/text_import.hpp"
#include "data/text_windows.hpp"
#include "fuzz.hpp"
#include "mutations.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

constexpr std::array<std::string_view, 9> words{
    "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\xA0\x80", "\xFF", "\r\n", "\0", "", "\xEF\xBB\xBF"};

}  // namespace

TEST_CASE("damaged texts", "[data][fuzz]") {
  const test::TemporaryFolder folder;
  ImportTextOptions options;
  options.from = folder.file("text.txt");
  options.out = folder.file("out.h5");
  options.name = "fuzz";
  options.valid = 0.25;
  const std::string text = "Caf\xC3\xA9, 5 \xE2\x82\xAC,\nand the rest of the text.\n";
  const auto damaged = [&](std::size_t input) {
    const std::string file = test::mutated(text, input, words);
    return input % 5 == 0 ? test::mutated(gzip(file), input) : file;
  };
  const auto read = [&](const std::string& file) {
    write_text(options.from, file);
    options.tokens = file.size() % 2 == 0 ? "bytes" : "characters";
    import_text(options);
    const auto dataset = Dataset::open(options.out);
    const DatasetInfo& info = dataset->info();
    const Windows windows = Windows::once(info.samples[0], 8);
    CHECK((windows.count() > 0) == (info.samples[0] > 1));
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < info.samples[0]; ++i)
      bytes += info.vocabulary->text(core::token_at(info.encoding.type, dataset->row(Subset::train, i).data())).size();
    CHECK(bytes == info.text_bytes[0]);
    if (options.tokens == "bytes" && file.find("\x1F\x8B") != 0)
      CHECK(info.text_bytes[0] + info.text_bytes[1] == file.size());
  };
  test::survive(test::fuzz_inputs(5), damaged, read, 16);
  CHECK_NOTHROW(read(text));
}

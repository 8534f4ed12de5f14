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
    options.tokens = std::array{"bytes", "characters", "bpe:" PARAGRAD_SOURCE "/tests/data/byte_pairs"}[file.size() % 3];
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
  test::survive(test::fuzz_inputs(5), damaged, read, 64);  // bytes that byte pair encoding takes for one long word
  CHECK_NOTHROW(read(text));
}

TEST_CASE("damaged files of byte pairs", "[data][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string source = PARAGRAD_SOURCE "/tests/data/byte_pairs/";
  const std::array names{"encoder.json", "vocab.bpe"};
  const std::array whole{read_text(source + names[0]), read_text(source + names[1])};
  constexpr std::array<std::string_view, 8> pieces{"\"", "\\u0000", "\n", "a b\n", "416", "-1", "1e9", "{"};
  std::size_t number = 0;
  const auto damaged = [&](std::size_t input) {
    number = input;
    return test::mutated(whole[input % 2], input, pieces);
  };
  const auto read = [&](const std::string& file) {
    write_text(folder.file(names[number % 2]), file);
    write_text(folder.file(names[1 - number % 2]), whole[1 - number % 2]);
    const BytePairs pairs = BytePairs::from_folder(folder.path());
    CHECK(Vocabulary::parse("bpe\n" + pairs.stored()) == Vocabulary::byte_pairs(folder.path()));
    std::string decoded;
    const std::string text = "all the king's horses";
    for (const std::int32_t token : pairs.encode(text)) decoded += pairs.tokens().at(static_cast<std::size_t>(token));
    CHECK(decoded == text);
  };
  test::survive(test::fuzz_inputs(5), damaged, read, 64);
}

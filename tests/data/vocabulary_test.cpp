// Tokens of bytes and characters, and imports of texts.
#include "data/vocabulary.hpp"

#include <filesystem>
#include <numeric>

#include "catch.hpp"
#include "core/errors.hpp"
#include "data/text_import.hpp"
#include "data/verify.hpp"
#include "tests/data/support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

std::string text_of(const Dataset& dataset, Subset subset) {
  std::string text;
  for (std::size_t i = 0; i < dataset.info().samples[static_cast<std::size_t>(subset)]; ++i)
    text += dataset.info().vocabulary->text(core::token_at(dataset.info().encoding.type, dataset.row(subset, i).data()));
  return text;
}

}  // namespace

TEST_CASE("characters are numbered by code point, and any text of them comes back", "[data]") {
  const std::string text = "zä€a𝄞\n\x01";
  const Vocabulary vocabulary = Vocabulary::characters(text, "the text");
  CHECK(vocabulary.size() == 7);
  std::vector<std::string> all;
  for (std::int32_t token = 0; token < 7; ++token) all.push_back(vocabulary.text(token));
  CHECK(all == std::vector<std::string>{"\x01", "\n", "a", "z", "ä", "€", "𝄞"});
  CHECK(vocabulary.decode(vocabulary.encode(text + text, "it")) == text + text);
  CHECK(Vocabulary::parse(vocabulary.stored()) == vocabulary);
  CHECK(Vocabulary::parse(Vocabulary::bytes().stored()) == Vocabulary::bytes());
  CHECK(!(Vocabulary::bytes() == vocabulary));
  CHECK_THROWS_WITH(vocabulary.encode("ab", "the prompt"),
                    contains_text("the prompt has 'b' at byte 1, which is none of the 7"));
  CHECK_THROWS_AS(Vocabulary::characters("", "it"), core::ConfigError);
}

TEST_CASE("what is not UTF-8 is refused at its place, and can be read as bytes", "[data]") {
  for (const std::string bad : {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                "\xF8\x88\x80\x80\x80", "\xFF", "\xE2\x82", "\xF0\x9F\x98"}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH(Vocabulary::characters("ok" + bad, "'x'"), contains_text("'x' is not UTF-8 at byte 2"));
    const Vocabulary bytes = Vocabulary::bytes();
    CHECK(bytes.decode(bytes.encode(bad, "it")) == bad);
  }
}

TEST_CASE("a stored vocabulary that this program did not write is refused", "[data]") {
  for (const std::string bad :
       {"", "bytes", "bytes\nx", "characters\n", "characters\nba", "characters\naa", "words\na b", "\n"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(Vocabulary::parse(bad), core::ConfigError);
  }
  CHECK_THROWS_AS(Vocabulary::parse("characters\n\xFF"), core::ConfigError);
}

TEST_CASE("the smallest type that holds all tokens is stored", "[data]") {
  const auto with = [](std::size_t count) {
    std::string text;
    for (std::uint32_t code = 0x4E00; code < 0x4E00 + count; ++code) {  // three bytes each
      text += static_cast<char>(0xE0 | code >> 12);
      text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
    return text;
  };
  for (const std::size_t count : {2, 256, 257, 5000}) {
    const TemporaryFolder folder;
    const std::string text = folder.file("text.txt"), file = folder.file("text.h5");
    write_text(text, with(count));
    const Imported imported = import_text({.from = text, .tokens = "characters", .out = file, .name = "text", .valid = 0});
    CHECK(imported.encoding.type == (count <= 256 ? core::NumberType::uint8 : core::NumberType::uint16));
    CHECK(imported.text_bytes[0] == 3 * count);
    const auto dataset = Dataset::open(file);
    CHECK(text_of(*dataset, Subset::train) == with(count));
    CHECK(verify(file).empty());
  }
}

TEST_CASE("a text is cut into sets at tokens or between documents, and no token is lost", "[data]") {
  const TemporaryFolder documents, folder;
  std::string all;
  for (const std::string name : {"1.txt", "2.txt", "3.txt", "4.txt"}) {
    const std::string text = "document " + name + " of ü\n";
    write_text(documents.file(name), text);
    all += text;
  }
  write_text(documents.file("5 empty"), "");
  for (const std::string tokens : {"bytes", "characters"})
    for (const std::string cut : {"tokens", "documents"}) {
      CAPTURE(tokens, cut);
      const std::string file = folder.file("text.h5");
      const Imported imported = import_text(
          {.from = documents.path(), .tokens = tokens, .out = file, .name = "t", .valid = 0.25, .test = 0.25, .cut = cut});
      const auto dataset = Dataset::open(file);
      const std::string train = text_of(*dataset, Subset::train), valid = text_of(*dataset, Subset::valid),
                        test = text_of(*dataset, Subset::test);
      CHECK(train + valid + test == all);
      CHECK(imported.text_bytes == std::array{train.size(), valid.size(), test.size()});
      CHECK(imported.warnings == std::vector<std::string>{"left out, as they are empty: 5 empty"});
      CHECK(verify(file).empty());
      if (cut == "documents") CHECK(imported.sequences == std::array<std::size_t, 3>{2, 1, 1});
    }
}

TEST_CASE("texts that cannot be cut as wanted are refused", "[data]") {
  const TemporaryFolder folder;
  const std::string text = folder.file("text.txt"), file = folder.file("text.h5");
  write_text(text, "abc");
  ImportTextOptions options{.from = text, .out = file, .name = "t", .valid = 0.1};
  CHECK_THROWS_WITH(import_text({.from = text, .out = file, .name = "t", .valid = 0.9}),
                    contains_text("has 3 tokens, of which none are left for the training set"));
  options.cut = "documents";
  CHECK_THROWS_WITH(import_text(options), contains_text("has 1 document, of which none are left for the training set"));
  write_text(text, "");
  CHECK_THROWS_WITH(import_text(options), contains_text("there is no text in"));
  options.from = "missing.txt";
  CHECK_THROWS_WITH(import_text(options), contains_text("cannot read 'missing.txt'"));
}

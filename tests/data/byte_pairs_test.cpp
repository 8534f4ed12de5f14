// Byte pair encoding, against tokens that Hugging Face's tokenizers recorded (byte_pairs/cases.py) and a naive encoder.
#include "data/byte_pairs.hpp"

#include <algorithm>
#include <map>
#include <random>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "data/text_import.hpp"
#include "data/verify.hpp"
#include "tests/data/support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

const std::string gpt2_like = PARAGRAD_SOURCE "/tests/data/byte_pairs";

const BytePairs& pairs() {
  static const BytePairs from_files = BytePairs::from_folder(gpt2_like);
  return from_files;
}

/// GPT-2's way for one word of visible ASCII: merge the pair that was learned first wherever it stands, and look again.
std::vector<std::string> naively_merged(const std::string& word,
                                        const std::vector<std::pair<std::string, std::string>>& merges) {
  std::vector<std::string> parts;
  for (const char byte : word) parts.emplace_back(1, byte);
  for (auto merge = merges.begin(); merge != merges.end(); ++merge)  // a later one makes no earlier one possible
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      if (parts[i] == merge->first && parts[i + 1] == merge->second) {
        parts[i] += parts[i + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
  return parts;
}

/// A vocabulary of the bytes, perhaps without one, and of what these merges make.
std::string stored_with(const std::vector<std::string>& tokens, const std::vector<std::string>& merges, int without = -1) {
  std::string_view rest = pairs().stored();
  std::string stored;
  for (int byte = 0; byte < 256; ++byte) {
    const std::size_t end = rest.find('\n') + 1;
    if (byte != without) stored += rest.substr(0, end);
    rest.remove_prefix(end);
  }
  for (const std::string& token : tokens) stored += token + '\n';
  stored += '\n';
  for (const std::string& merge : merges) stored += merge + '\n';
  return stored;
}

}  // namespace

TEST_CASE("texts get the byte pair tokens that an independent program gives them", "[data]") {
  const core::Json cases = core::parse_json(read_text(gpt2_like + "/cases.json"));
  REQUIRE(cases.size() > 50);
  for (const core::Json& one : cases) {
    const auto text = one.at("text").get<std::string>();
    CAPTURE(text);
    const std::vector<std::int32_t> tokens = pairs().encode(text);
    CHECK(tokens == one.at("tokens").get<std::vector<std::int32_t>>());
    std::string decoded;
    for (const std::int32_t token : tokens) decoded += pairs().tokens()[static_cast<std::size_t>(token)];
    CHECK(decoded == text);
  }
}

TEST_CASE("words of any length are merged as by looking for each merge in turn", "[data]") {
  std::vector<std::pair<std::string, std::string>> merges;
  const std::string file = read_text(gpt2_like + "/vocab.bpe");
  for (std::size_t begin = file.find('\n') + 1; begin < file.size(); begin = file.find('\n', begin) + 1) {
    const std::string line = file.substr(begin, file.find('\n', begin) - begin);
    merges.emplace_back(line.substr(0, line.find(' ')), line.substr(line.find(' ') + 1));
  }
  std::mt19937 random(1);
  for (std::size_t length = 1; length < 3000; length += 1 + length / 4) {
    std::string word;
    for (std::size_t i = 0; i < length; ++i) word += "aehinorst"[random() % 9];
    std::vector<std::string> parts;
    for (const std::int32_t token : pairs().encode(word)) parts.push_back(pairs().tokens()[static_cast<std::size_t>(token)]);
    CHECK(parts == naively_merged(word, merges));
  }
}

TEST_CASE("a text of byte pair tokens is imported, and its vocabulary travels with it", "[data]") {
  const TemporaryFolder folder;
  const std::string text = folder.file("text.txt"), file = folder.file("text.h5");
  write_text(text, "the thethe, naïve 🙂 text\n");
  const Imported imported =
      import_text({.from = text, .tokens = "bpe:" + gpt2_like, .out = file, .name = "t", .valid = 0.3});
  CHECK(imported.encoding.type == core::NumberType::uint16);
  CHECK(imported.classes == 417);
  CHECK(imported.text_bytes[0] + imported.text_bytes[1] == read_text(text).size());
  CHECK(imported.taken.back() == "vocabulary: 417 byte pair tokens, stored as uint16");
  const auto dataset = Dataset::open(file);
  CHECK(*dataset->info().vocabulary == Vocabulary::byte_pairs(gpt2_like));
  CHECK(dataset->info().vocabulary->decode(dataset->info().vocabulary->encode("naïve", "it")) == "naïve");
  CHECK(verify(file).empty());
  write_text(text, "ok\xFF");
  CHECK_THROWS_WITH(import_text({.from = text, .tokens = "bpe:" + gpt2_like, .out = file, .name = "t"}),
                    contains_text("is not UTF-8 at byte 2"));
}

TEST_CASE("other merges make another vocabulary", "[data]") {
  const auto with = [](const std::vector<std::string>& merges) {
    return Vocabulary::parse("bpe\n" + stored_with({"ab", "bc"}, merges));
  };
  const Vocabulary both = with({"a b", "b c"});
  CHECK(both == with({"a b", "b c"}));
  CHECK_FALSE(both == with({"b c", "a b"}));
  CHECK(both.decode({both.encode("abc", "it").front()}) == "ab");
  const Vocabulary other = with({"b c", "a b"});
  CHECK(other.decode({other.encode("abc", "it").back()}) == "bc");
  CHECK(Vocabulary::parse(both.stored()) == both);
}

TEST_CASE("vocabularies and files of byte pairs that are damaged are refused", "[data]") {
  for (const auto& [bad, why] : std::map<std::string, std::string>{
           {"", "has no token for byte 0"},
           {stored_with({}, {}, 'a' - '!'), "has no token for byte 97"},
           {stored_with({"a"}, {}), "has the token 'a' twice"},
           {stored_with({"a b"}, {}), "has the token 'a b', whose characters do not stand for bytes"},
           {stored_with({"ab"}, {"a  b"}), "has the merge 'a  b'"},
           {stored_with({"ab"}, {"ab"}), "has the merge 'ab'"},
           {stored_with({"ab"}, {"a c"}), "has the merge 'a c'"},
           {stored_with({"ab"}, {"a b", "a b"}), "has the merge 'a b'"},
           {stored_with({"ab", "abc"}, {"ab c", "a b"}), "has the merge 'ab c'"}}) {
    CAPTURE(bad.substr(bad.size() - std::min<std::size_t>(20, bad.size())));
    CHECK_THROWS_WITH(BytePairs(bad), contains_text(why));
  }
  const TemporaryFolder folder;
  const std::string numbers = folder.file("encoder.json"), merges = folder.file("vocab.bpe");
  const auto refused = [&](const std::string& why) {
    CHECK_THROWS_WITH(BytePairs::from_folder(folder.path()), contains_text(why));
  };
  CHECK_THROWS_WITH(BytePairs::from_folder(merges), contains_text("is not a folder"));
  refused("has neither encoder.json nor vocab.json");
  const std::string whole = read_text(gpt2_like + "/encoder.json"), learned = read_text(gpt2_like + "/vocab.bpe");
  write_text(numbers, whole);
  refused("has neither vocab.bpe nor merges.txt");
  write_text(merges, learned);
  CHECK(BytePairs::from_folder(folder.path()).encode("the") == pairs().encode("the"));
  write_text(merges, learned.substr(0, 500) + "zz");
  refused("do not belong together, or are damaged: the vocabulary has the merge");
  write_text(merges, learned);
  write_text(numbers, whole.substr(0, 2000));
  refused("is not a JSON object that maps tokens to numbers: is the file complete?");
  for (const auto& [number, other] : {std::pair("416", "417"), std::pair("416", "415"), std::pair("416", "-1"),
                                      std::pair("416", "4.5"), std::pair("416", "\"x\"")}) {
    std::string changed = whole;
    changed.replace(changed.find(number), 3, other);
    write_text(numbers, changed);
    refused("417 tokens need the numbers 0 to 416, each once");
  }
}

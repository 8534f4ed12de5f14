#include "data/text_import.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"
#include "core/options.hpp"
#include "core/range.hpp"
#include "data/file_format.hpp"
#include "data/gzip_file.hpp"
#include "data/importer.hpp"
#include "data/writer.hpp"

namespace paragrad::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view with_pairs = "bpe:";

struct Document {
  std::string path, text;
};

Document read_document(const std::string& path, std::vector<std::string>& digests) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  GzipFile file(path);
  Document document{path, {}};
  while (true) {
    const std::size_t before = document.text.size();
    document.text.resize(before + at_once);
    const std::size_t got = file.read({reinterpret_cast<std::uint8_t*>(document.text.data()) + before, at_once});
    document.text.resize(before + got);
    if (got < at_once) break;
  }
  digests.push_back(core::format("{}: {}", file.name(), file.sha256()));
  return document;
}

/// The documents with any text, in the order of their names.
std::vector<Document> read_documents(const std::string& from, Imported& imported) {
  std::vector<std::string> paths, left_out;
  if (fs::is_directory(from)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
      if (entry.path().filename().string().starts_with('.')) continue;
      entry.is_regular_file() ? paths.push_back(entry.path().string())
                              : left_out.push_back(entry.path().filename().string());
    }
    std::ranges::sort(paths);
    std::ranges::sort(left_out);
    if (!left_out.empty())
      imported.warnings.push_back(core::format("left out, as they are no files: {}", some_of(left_out)));
    if (paths.empty()) throw core::ConfigError(core::format("'{}' has no files in it", from));
  } else {
    paths = {from};
  }
  std::vector<Document> documents;
  std::vector<std::string> empty;
  for (const std::string& path : paths) {
    Document document = read_document(path, imported.source_sha256);
    if (document.text.empty())
      empty.push_back(fs::path(path).filename().string());
    else
      documents.push_back(std::move(document));
  }
  if (documents.empty()) throw core::ConfigError(core::format("there is no text in '{}'", from));
  if (!empty.empty()) imported.warnings.push_back(core::format("left out, as they are empty: {}", some_of(empty)));
  return documents;
}

std::string kind_of_tokens(const std::string& text) {
  if (text == "bytes" || text == "characters" || (text.starts_with(with_pairs) && text.size() > with_pairs.size()))
    return text;
  throw core::unknown_name("kind of tokens", text, {"bytes", "characters", "bpe:FOLDER"});
}

Vocabulary vocabulary_of(const std::string& tokens, const std::vector<Document>& documents, const std::string& from) {
  if (tokens == "bytes") return Vocabulary::bytes();
  if (tokens.starts_with(with_pairs)) return Vocabulary::byte_pairs(tokens.substr(with_pairs.size()));
  if (documents.size() == 1)
    return Vocabulary::characters(documents.front().text, core::format("'{}'", documents.front().path));
  std::string all;  // the characters of each document
  for (const Document& document : documents) {
    const Vocabulary own = Vocabulary::characters(document.text, core::format("'{}'", document.path));
    for (std::size_t token = 0; token < own.size(); ++token) all += own.text(static_cast<std::int32_t>(token));
  }
  return Vocabulary::characters(all, core::format("'{}'", from));
}

/// The tokens of all documents, and where each document ends.
struct Text {
  std::vector<std::int32_t> tokens;
  std::vector<std::size_t> ends;
};

Text encode(const Vocabulary& vocabulary, const std::vector<Document>& documents) {
  std::size_t bytes = 0;
  for (const Document& document : documents) bytes += document.text.size();
  core::require_memory(8 * static_cast<double>(bytes), "the tokens of the text");  // of all, and of one document
  Text text;
  for (const Document& document : documents) {
    const std::vector<std::int32_t> tokens = vocabulary.encode(document.text, core::format("'{}'", document.path));
    text.tokens.insert(text.tokens.end(), tokens.begin(), tokens.end());
    text.ends.push_back(text.tokens.size());
  }
  return text;
}

/// The tokens of each set.
std::array<core::Range, 3> sets_of(const ImportTextOptions& options, const Text& text) {
  const auto place = [&](double share) {
    const auto at = static_cast<std::size_t>(share * static_cast<double>(text.tokens.size()));
    if (options.cut == "tokens") return at;
    const auto before = std::ranges::upper_bound(text.ends, at);  // the last end up to there
    return before == text.ends.begin() ? std::size_t{0} : *std::prev(before);
  };
  const std::size_t train = place(1 - options.valid - options.test), valid = place(1 - options.test);
  const std::array<core::Range, 3> sets{core::Range{0, train}, {train, valid}, {valid, text.tokens.size()}};
  const std::array<double, 3> shares{1 - options.valid - options.test, options.valid, options.test};
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (sets[i].empty() && shares[i] > 0)
      throw core::ConfigError(core::format(
          "'{}' has {}, of which none are left for the {} set: give other shares to `valid` and `test`{}", options.from,
          options.cut == "tokens" ? several(text.tokens.size(), "token") : several(text.ends.size(), "document"),
          std::array{"training", "validation", "test"}[i], options.cut == "tokens" ? "" : ", or `cut` tokens"));
  for (const core::Range& set : sets)
    if (set.size() > most_tokens)
      throw core::ConfigError(core::format("'{}' has {} tokens for one set, and a set can have {}: import it in parts",
                                           options.from, set.size(), most_tokens));
  return sets;
}

void write_set(DatasetWriter& writer, const Vocabulary& vocabulary, Subset subset, core::Range set, const Text& text) {
  if (set.empty()) return;
  writer.begin(subset, set.size());
  for (std::size_t begin = set.begin, document = 0; begin < set.end; ++document) {
    const std::size_t end = std::min(text.ends[document], set.end);
    if (end <= begin) continue;
    std::size_t bytes = 0;
    for (std::size_t i = begin; i < end; ++i) bytes += vocabulary.text(text.tokens[i]).size();
    writer.append_tokens(core::Range{begin, end}.of(std::span<const std::int32_t>(text.tokens)), bytes);
    writer.end_sequence();
    begin = end;
  }
}

/// "the first 90 tokens for training, the next 10 for validation"
std::string described(const DatasetInfo& info) {
  std::string text = core::format("the first {} for training", several(info.samples[0], "token"));
  if (info.samples[1] > 0) text += core::format(", the next {} for validation", info.samples[1]);
  if (info.samples[2] > 0) text += core::format(", the next {} for the test", info.samples[2]);
  return text;
}

}  // namespace

void ImportTextOptions::describe(core::OptionList& list) {
  constexpr core::Limits<double> share{.least = 0, .most = 1, .without_most = true};
  list.text("from", from, "a text, or a folder whose files are documents; plain or .gz").path().required();
  list.parsed<std::string>("tokens", tokens, kind_of_tokens, tokens,
                           "what a token is: one of 256 bytes; a character of UTF-8 that occurs; or with bpe:FOLDER a byte "
                           "pair token of GPT-2's encoder.json and vocab.bpe in a folder")
      .known({"bytes", "characters", "bpe:FOLDER"});
  list.text("out", out, "data file to write").path().required();
  list.text("name", name, "name of the data set").required();
  list.text("source", source, "origin of the files, recorded in the data file");
  list.text("licence", licence, "licence of the data, recorded in the data file");
  list.number("valid", valid, share, "share of the text that becomes the validation set, after the training set");
  list.number("test", test, share, "share of the text, at its end, that becomes the test set")
      .unless(valid + test >= 1, "and `valid` leave no text for training: give less than 1 to both together");
  list.choice("cut", cut, {"tokens", "documents"},
              "where the text may be cut into sets: at any token, or only between documents")
      .when(valid > 0 || test > 0, "has no effect without a set besides the training set: give `valid` or `test`");
}

Imported import_text(const ImportTextOptions& options) {
  Imported imported;
  imported.name = options.name;
  imported.source = options.source.empty() ? "text, imported by paragrad" : options.source;
  imported.licence = options.licence;
  const std::vector<Document> documents = read_documents(options.from, imported);
  const auto vocabulary = std::make_shared<const Vocabulary>(vocabulary_of(options.tokens, documents, options.from));
  imported.vocabulary = vocabulary;
  const Text text = encode(*vocabulary, documents);
  const std::array<core::Range, 3> sets = sets_of(options, text);
  DatasetWriter writer(options.out, imported);
  for (std::size_t i = 0; i < sets.size(); ++i) write_set(writer, *vocabulary, static_cast<Subset>(i), sets[i], text);
  static_cast<DatasetInfo&>(imported) = writer.finish();
  imported.taken.push_back(
      core::format("text: {}, {}", several(documents.size(), "document"),
                   several(imported.text_bytes[0] + imported.text_bytes[1] + imported.text_bytes[2], "byte")));
  imported.taken.push_back(core::format("sets: {}", described(imported)));
  imported.taken.push_back(
      core::format("vocabulary: {}, stored as {}", vocabulary->described(), core::name_of(imported.encoding.type)));
  return imported;
}

Importer text_importer() {
  return {"text", "convert a text into a data file of tokens",
          "`from` sonnets.txt `name` sonnets `tokens` characters `valid` 0.1 `out` sonnets.h5",
          import_with<ImportTextOptions>(import_text)};
}

}  // namespace paragrad::data

#include "speech/kaldi_table.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/numbers.hpp"

namespace paragrad::speech {
namespace {

constexpr std::size_t longest_key = 4096;  // bytes; a file with more is not a Kaldi file

std::string_view text_of(const system::FileMap& map) {
  return {reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()};
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kaldi_spaces), text.size()));
  return text.substr(0, text.find_last_not_of(kaldi_spaces) + 1);
}

/// "scp:x" -> {"scp", "x"}; "x" -> {"", "x"}. Options after the kind ("ark,t:") are ignored.
std::pair<std::string, std::string> parse_name(const std::string& name) {
  const auto colon = name.find(':');
  const auto head = name.substr(0, colon);
  const auto kind = head.substr(0, head.find(','));
  if (colon == std::string::npos || (kind != "ark" && kind != "scp")) return {"", name};
  return {kind, name.substr(colon + 1)};
}

/// Rejects inputs that Kaldi's tools read and this class does not.
void check_plain(std::string_view file, const std::string& where) {
  const auto refuse = [&](std::string_view what, std::string_view instead) {
    throw core::ConfigError(core::format("{}: '{}' is {}, which is not supported; {}", where, file, what, instead));
  };
  if (file.empty()) throw core::ConfigError(core::format("{}: no file is named", where));
  if (file.back() == '|' || file.front() == '|')
    refuse("a pipe", "write its output into an archive with Kaldi's copy-feats");
  if (file == "-") refuse("the standard input", "give a file");
  if (file.back() == ']') refuse("a range of a matrix", "write the matrices into an archive with Kaldi's copy-feats");
}

bool is_key(std::string_view text) {
  return !text.empty() && text.size() <= longest_key &&
         std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 127; });
}

/// Calls take(line, number) for each line that is not blank.
template <class Take>
void for_lines(std::string_view text, const Take& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!trimmed(line).empty()) take(trimmed(line), number);
  }
}

/// "key rest" -> both; throws ConfigError.
std::pair<std::string_view, std::string_view> split_line(std::string_view line, std::size_t number,
                                                         const std::string& path) {
  const auto key = line.substr(0, line.find_first_of(kaldi_spaces));
  const auto rest = trimmed(line.substr(key.size()));
  if (!is_key(key) || rest.empty())
    throw core::ConfigError(core::format("line {} of '{}' is not a key followed by a value", number, path));
  return {key, rest};
}

}  // namespace

KaldiTable::KaldiTable(const std::string& name) {
  const auto [kind, path] = parse_name(name);
  check_plain(path, core::format("Kaldi table '{}'", name));
  if (kind == "scp" || (kind.empty() && path.ends_with(".scp")))
    read_script(path);
  else
    read_archive(path);
  if (entries_.empty()) throw core::ConfigError(core::format("Kaldi table '{}' is empty", name));
}

void KaldiTable::add(std::string key, std::size_t file, std::uint64_t offset, const std::string& path) {
  if (!index_.emplace(key, entries_.size()).second)
    throw core::ConfigError(core::format("Kaldi table '{}' has '{}' twice", path, key));
  entries_.push_back({std::move(key), file, offset});
}

void KaldiTable::read_archive(const std::string& path) {
  files_.push_back(path);
  const auto bytes = bytes_of(0);
  for (std::size_t at = bytes.find_first_not_of(kaldi_spaces); at < bytes.size();
       at = bytes.find_first_not_of(kaldi_spaces, at)) {
    const auto key =
        bytes.substr(at, std::min(bytes.substr(at, longest_key + 1).find_first_of(kaldi_spaces), longest_key + 1));
    if (!is_key(key))
      throw core::ConfigError(core::format("'{}' is not a Kaldi archive, or is damaged: no key at offset {}{}", path, at,
                                           entries_.empty() ? "" : core::format(", after '{}'", entries_.back().key)));
    at += key.size();
    const std::size_t begin = at < bytes.size() && bytes[at] != '\n' ? at + 1 : at;  // "key\n": nothing, in text
    add(std::string(key), 0, begin, path);
    at = KaldiObject(bytes, begin, {path, std::string(key)}).end();
  }
}

void KaldiTable::read_script(const std::string& path) {
  const auto map = system::FileMap::open(path);
  for_lines(text_of(map), [&](std::string_view line, std::size_t number) { add_line(line, number, path); });
}

void KaldiTable::add_line(std::string_view line, std::size_t number, const std::string& path) {
  auto [key, file] = split_line(line, number, path);
  check_plain(file, core::format("line {} of '{}'", number, path));
  std::uint64_t offset = 0;
  if (const auto colon = file.rfind(':'); colon != std::string_view::npos) {
    const auto digits = file.substr(colon + 1);
    const auto value = core::number_of<std::uint64_t>(digits);
    if (!value) throw core::ConfigError(core::format("line {} of '{}': '{}' is not an offset", number, path, digits));
    offset = *value;
    file = file.substr(0, colon);
  }
  const auto [known, is_new] = file_numbers_.emplace(std::string(file), files_.size());
  if (is_new) files_.emplace_back(file);
  add(std::string(key), known->second, offset, path);
}

std::string_view KaldiTable::bytes_of(std::size_t file) const {
  if (mapped_ != file) {
    map_ = system::FileMap::open(files_[file]);
    mapped_ = file;
    if (text_of(map_).starts_with("\x1f\x8b"))
      throw core::ConfigError(core::format("'{}' is compressed with gzip; decompress it first", files_[file]));
  }
  return text_of(map_);
}

std::optional<std::size_t> KaldiTable::find(const std::string& key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

KaldiObject KaldiTable::object(std::size_t entry) const {
  const auto& [key, file, offset] = entries_[entry];
  return {bytes_of(file), offset, {files_[file], key}};
}

std::optional<Matrix<double>> read_lone_matrix(const std::string& path) {
  const auto map = system::FileMap::open(path);
  const auto bytes = text_of(map);
  if (bytes.substr(0, 2) != std::string_view("\0B", 2) && !trimmed(bytes.substr(0, 64)).starts_with('[')) return {};
  return KaldiObject(bytes, 0, {path, ""}).matrix<double>();
}

std::unordered_map<std::string, std::string> read_kaldi_map(const std::string& path) {
  const auto map = system::FileMap::open(path);
  std::unordered_map<std::string, std::string> values;
  for_lines(text_of(map), [&](std::string_view line, std::size_t number) {
    const auto [key, value] = split_line(line, number, path);
    if (!is_key(value))
      throw core::ConfigError(core::format("line {} of '{}' has more than a key and a value", number, path));
    if (!values.emplace(key, value).second)
      throw core::ConfigError(core::format("line {} of '{}' has '{}' a second time", number, path, key));
  });
  return values;
}

}  // namespace paragrad::speech

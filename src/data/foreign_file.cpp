#include "data/foreign_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {
namespace {

namespace fs = std::filesystem;

struct Importer {
  std::string_view from, command;
};
constexpr Importer numpy{"NumPy", "data import-numpy"}, csv{"CSV", "data import-csv"}, idx{"IDX", "data import-idx"},
    cifar{"CIFAR", "data import-cifar"}, images{"PNG or JPEG", "data import-images"}, kaldi{"Kaldi", "data import-kaldi"};

std::string first_bytes(const std::string& path) {
  std::array<char, 8> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(file.gcount())};
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool ends_with(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

std::optional<Importer> by_name(std::string name) {
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (ends_with(name, {".npy", ".npz"})) return numpy;
  if (ends_with(name, {".csv", ".tsv"})) return csv;
  if (name.ends_with("-ubyte")) return idx;
  if (ends_with(name, {".png", ".jpg", ".jpeg"})) return images;
  if (ends_with(name, {".ark", ".scp"})) return kaldi;
  if (name == "data_batch_1.bin" || name == "train.bin") return cifar;
  return std::nullopt;
}

std::optional<Importer> of_file(const std::string& path) {
  const std::string begin = first_bytes(path);
  if (begin.starts_with("\x89HDF")) return std::nullopt;
  if (begin.starts_with("\x93NUMPY") || begin.starts_with("PK\x03\x04")) return numpy;
  if (begin.starts_with(std::string_view("\0\0\x08", 3))) return idx;
  if (begin.starts_with("\x89PNG") || begin.starts_with("\xff\xd8\xff")) return images;
  return by_name(lower(fs::path(path).filename().string()));
}

/// Only the importers that take a folder.
std::optional<Importer> of_folder(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(fs::path(path) / "train", error)) return images;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const auto importer = by_name(lower(entry.path().filename().string()));
    if (importer &&
        (importer->command == numpy.command || importer->command == idx.command || importer->command == cifar.command))
      return importer;
  }
  return std::nullopt;
}

}  // namespace

void refuse_importable(const std::string& path) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  if (!folder && !fs::is_regular_file(path, error)) return;  // a pipe would be waited for
  const auto importer = folder ? of_folder(path) : of_file(path);
  if (!importer) return;
  throw core::ConfigError(core::format("'{}' is a {} in the format of {}, not a data file: make one from it with `{}`", path,
                                       folder ? "folder" : "file", importer->from, importer->command));
}

}  // namespace paragrad::data

#include "data/cifar.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"
#include "core/options.hpp"
#include "core/sha256.hpp"
#include "data/importer.hpp"
#include "system/file_map.hpp"
#include "system/files.hpp"

namespace paragrad::data {
namespace {

constexpr ImageShape shape{32, 32, 3};
constexpr std::size_t plane = shape.height * shape.width, pixels = plane * shape.channels;

/// One of the two collections.
struct Version {
  std::string name;
  std::vector<std::string> train, test;
  std::string class_names;  ///< the file
  std::size_t label_bytes, label, classes;
};

Version version_of(const ImportCifarOptions& options) {
  const auto has = [&](const char* file) { return std::filesystem::exists(std::filesystem::path(options.folder) / file); };
  if (has("train.bin") && has("test.bin")) {
    if (has("data_batch_1.bin"))
      throw core::ConfigError(core::format(
          "'{}' contains files of both CIFAR-10 and CIFAR-100: give a folder with one of them", options.folder));
    const bool fine = options.labels == "fine";
    return {core::format("CIFAR-100 with {} labels", options.labels),
            {"train.bin"},
            {"test.bin"},
            fine ? "fine_label_names.txt" : "coarse_label_names.txt",
            2,
            fine ? 1u : 0u,
            fine ? 100u : 20u};
  }
  Version version{"CIFAR-10", {}, {"test_batch.bin"}, "batches.meta.txt", 1, 0, 10};
  for (int batch = 1; batch <= 5; ++batch) version.train.push_back(core::format("data_batch_{}.bin", batch));
  for (const auto& files : {version.train, version.test})
    for (const std::string& file : files)
      if (!has(file.c_str()))
        throw core::ConfigError(
            core::format("'{}' contains no {}: give a folder with the binary version of CIFAR-10 (data_batch_1.bin to "
                         "data_batch_5.bin, test_batch.bin) or of CIFAR-100 (train.bin, test.bin)",
                         options.folder, file));
  if (options.labels != "fine")
    throw core::ConfigError(
        core::format("'{}' is CIFAR-10, whose images have one label each: leave out `labels`", options.folder));
  return version;
}

void read_into(ImportedSamples& images, const std::string& path, const Version& version, Imported& info) {
  const system::FileMap content = system::FileMap::open(path);
  const std::string_view records(reinterpret_cast<const char*>(content.bytes().data()), content.bytes().size());
  const std::size_t length = version.label_bytes + pixels;
  if (records.empty() || records.size() % length != 0)
    throw core::ConfigError(core::format("'{}' is truncated or no file of CIFAR: its {} bytes are not records of {}", path,
                                         records.size(), length));
  info.source_sha256.push_back(
      core::format("{}: {}", std::filesystem::path(path).filename().string(), core::sha256(content.bytes())));
  core::require_memory(static_cast<double>(records.size()), core::format("the images of '{}'", path));
  for (std::size_t begin = 0; begin < records.size(); begin += length) {
    const auto label = static_cast<std::uint8_t>(records[begin + version.label]);
    if (label >= version.classes)
      throw core::ConfigError(core::format("'{}' contains label {} in record {}, but there are only {} classes", path, label,
                                           begin / length + 1, version.classes));
    images.labels.push_back(label);
    const char* const planes = records.data() + begin + version.label_bytes;
    for (std::size_t at = 0; at < plane; ++at)
      for (std::size_t channel = 0; channel < shape.channels; ++channel)
        images.pixels.push_back(static_cast<std::uint8_t>(planes[channel * plane + at]));
  }
}

/// Nothing if the file is missing or does not name each class in a line of its own.
std::vector<std::string> names_in(const std::filesystem::path& path, std::size_t classes) {
  if (!std::filesystem::exists(path)) return {};
  std::istringstream lines(system::read_text(path.string()));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  return names.size() == classes ? names : std::vector<std::string>{};
}

/// Names the collection, and warns of files in the folder that are not read although they look like parts of it.
void report_files(const std::filesystem::path& folder, const Version& version, Imported& info) {
  info.taken.push_back(core::format("files: {}", version.name));
  std::vector<std::string> others;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const auto is = [&](const std::vector<std::string>& files) { return std::ranges::find(files, name) != files.end(); };
    if (name.ends_with(".bin") && !is(version.train) && !is(version.test)) others.push_back(name);
  }
  std::ranges::sort(others);
  if (!others.empty())
    info.warnings.push_back(
        core::format("left out {} of '{}': {}", several(others.size(), ".bin file"), folder.string(), some_of(others)));
  if (info.class_names.empty() && std::filesystem::exists(folder / version.class_names))
    info.warnings.push_back(core::format("'{}' does not name {} classes, so they have no names",
                                         (folder / version.class_names).string(), version.classes));
}

}  // namespace

Imported import_cifar(const ImportCifarOptions& options) {
  if (options.labels != "fine" && options.labels != "coarse")
    throw core::ConfigError(core::format("labels are fine or coarse, not '{}'", options.labels));
  const Version version = version_of(options);
  const std::filesystem::path folder = options.folder;
  Imported info;
  ImportedSamples train, test;
  for (const std::string& file : version.train) read_into(train, (folder / file).string(), version, info);
  for (const std::string& file : version.test) read_into(test, (folder / file).string(), version, info);
  info.dim = pixels;
  info.image = shape;
  info.classes = version.classes;
  info.class_names = names_in(folder / version.class_names, version.classes);
  report_files(folder, version, info);
  ImportCifarOptions write = options;
  write.scale = "bytes";
  return write_samples(write, std::move(info), "CIFAR's binary version", {std::move(train), {}, std::move(test)});
}

void ImportCifarOptions::describe(core::OptionList& list) {
  list.text("from", folder, "folder with the .bin files").path().required();
  list.choice("labels", labels, {"fine", "coarse"}, "of CIFAR-100: fine (100 classes) or coarse (20)");
  describe_data_file(list, false);
}

Importer cifar_importer() {
  return {"cifar", "convert the binary version of CIFAR-10 or CIFAR-100 into a data file",
          "`from` cifar-10-batches-bin `name` cifar10 `normalise` `out` cifar10.h5",
          import_with<ImportCifarOptions>(import_cifar)};
}

}  // namespace paragrad::data

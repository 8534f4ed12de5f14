#include "data/image_folder.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "core/errors.hpp"
#include "core/files.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"
#include "core/sha256.hpp"
#include "data/picture.hpp"

namespace paragrad::data {
namespace {

namespace fs = std::filesystem;

struct ImageFile {
  fs::path path;
  std::int32_t label;
};

bool is_image(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

/// The entries of a folder for which `wanted` holds, in the order of their names.
template <class Wanted>
std::vector<fs::path> sorted_entries(const fs::path& folder, const Wanted& wanted) {
  if (!fs::is_directory(folder)) throw core::ConfigError(core::format("'{}' is not a folder", folder.string()));
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (wanted(entry)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> classes_in(const fs::path& folder) {
  std::vector<std::string> names;
  const auto is_class = [](const fs::directory_entry& entry) {
    return entry.is_directory() && !entry.path().filename().string().starts_with('.');
  };
  for (const fs::path& path : sorted_entries(folder, is_class)) names.push_back(path.filename().string());
  return names;
}

std::vector<ImageFile> files_in(const fs::path& folder, const std::vector<std::string>& classes) {
  std::vector<ImageFile> files;
  for (const std::string& name : classes_in(folder)) {
    const auto found = std::ranges::find(classes, name);
    if (found == classes.end())
      throw core::ConfigError(core::format("'{}' is a class that the training set does not have", (folder / name).string()));
    const auto images =
        sorted_entries(folder / name, [](const auto& entry) { return entry.is_regular_file() && is_image(entry.path()); });
    if (images.empty())
      throw core::ConfigError(core::format("'{}' contains no .png, .jpg or .jpeg files", (folder / name).string()));
    for (const fs::path& path : images) files.push_back({path, static_cast<std::int32_t>(found - classes.begin())});
  }
  if (files.empty())
    throw core::ConfigError(
        core::format("'{}' contains no images: give each class a folder of its own there", folder.string()));
  return files;
}

/// Decodes one file after the other to pixels of the shape that the first, or the options, set.
class ImageReader {
 public:
  explicit ImageReader(std::size_t channels) { shape_.channels = channels; }

  ImportedSamples read(const std::string& subset, const std::vector<ImageFile>& files, DatasetInfo& info) {
    ImportedSamples images;
    core::Sha256 hash;
    for (const ImageFile& file : files) {
      const std::string path = file.path.string(), content = core::read_text(path);
      const auto bytes = std::as_bytes(std::span(content));
      hash.update(bytes);
      const Picture picture = decode_picture(bytes, path);
      accept(picture.shape, path);
      if (images.labels.empty()) reserve(images, files.size(), subset);
      append(picture, images.pixels);
      images.labels.push_back(file.label);
    }
    info.source_sha256.push_back(core::format("{}: {} files, one after the other: {}", subset, files.size(), hash.finish()));
    return images;
  }

  const ImageShape& shape() const { return shape_; }
  std::size_t size() const { return shape_.height * shape_.width * shape_.channels; }

 private:
  void accept(const ImageShape& shape, const std::string& path) {
    if (shape_.height == 0) {
      first_ = path;
      shape_ = {shape.height, shape.width, shape_.channels == 0 ? shape.channels : shape_.channels};
    }
    if (shape.height != shape_.height || shape.width != shape_.width)
      throw core::ConfigError(core::format("'{}' has {}x{} pixels but '{}' has {}x{}: make all images equally large", path,
                                           shape.height, shape.width, first_, shape_.height, shape_.width));
    if (shape.channels > shape_.channels)
      throw core::ConfigError(
          core::format("'{}' is in colour but the data set is grey: convert it, or set `channels` to 3", path));
  }

  void reserve(ImportedSamples& images, std::size_t count, const std::string& subset) const {
    core::require_memory(static_cast<double>(count) * static_cast<double>(size()),
                         core::format("the {} images of '{}', {} each,", count, subset, shape_.text()));
    images.pixels.reserve(count * size());
  }

  void append(const Picture& picture, std::vector<std::uint8_t>& pixels) const {
    if (picture.shape.channels == shape_.channels) {
      pixels.insert(pixels.end(), picture.pixels.begin(), picture.pixels.end());
      return;
    }
    for (const std::uint8_t grey : picture.pixels) pixels.insert(pixels.end(), shape_.channels, grey);
  }

  ImageShape shape_;
  std::string first_;  // file
};

}  // namespace

DatasetInfo import_image_folder(const ImportFolderOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3)
    throw core::ConfigError(core::format("images have 1 or 3 channels, not {}", options.channels));
  const fs::path train = fs::path(options.folder) / options.train, test = fs::path(options.folder) / options.test;
  DatasetInfo info;
  info.class_names = classes_in(train);
  info.classes = info.class_names.size();
  const std::vector<ImageFile> train_files = files_in(train, info.class_names),
                               test_files = files_in(test, info.class_names);
  ImageReader reader(options.channels);
  ImportedSamples for_training = reader.read(options.train, train_files, info);
  ImportedSamples for_test = reader.read(options.test, test_files, info);
  info.dim = reader.size();
  info.image = reader.shape();
  return write_samples(options, std::move(info), "folders of images", {std::move(for_training), {}, std::move(for_test)});
}

}  // namespace paragrad::data

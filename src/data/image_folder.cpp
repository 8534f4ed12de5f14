#include "data/image_folder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"
#include "core/numbers.hpp"
#include "core/options.hpp"
#include "core/sha256.hpp"
#include "data/image_listing.hpp"
#include "data/importer.hpp"
#include "data/picture.hpp"
#include "system/file_map.hpp"

namespace paragrad::data {
namespace {

namespace fs = std::filesystem;

/// A file may be much longer than its image.
void add_to(core::Sha256& hash, const system::FileMap& file) {
  constexpr std::size_t at_once = std::size_t{1} << 22;
  for (std::span<const std::byte> rest = file.bytes(); !rest.empty();) {
    const auto part = rest.first(std::min(rest.size(), at_once));
    hash.update(part);
    file.drop(part);
    rest = rest.subspan(part.size());
  }
}

/// Decodes one file after the other to pixels of the shape that the first, or the options, set.
class ImageReader {
 public:
  ImageReader(std::size_t channels, bool skips_damaged) : skips_damaged_(skips_damaged) { shape_.channels = channels; }

  ImportedSamples read(const std::string& subset, const std::vector<ImageFile>& files, Imported& info) {
    ImportedSamples images;
    core::Sha256 hash;
    for (const ImageFile& file : files) {
      const std::string path = file.path.string();
      const system::FileMap content = system::FileMap::open(path);
      const std::optional<Picture> picture = decoded(content.bytes(), path);
      if (!picture) continue;
      add_to(hash, content);
      accept(picture->shape, path);
      if (images.labels.empty()) reserve(images, files.size(), subset);
      append(*picture, images.pixels);
      images.labels.push_back(file.label);
    }
    if (images.labels.empty()) throw core::ConfigError(core::format("all images of '{}' are damaged", subset));
    info.source_sha256.push_back(
        core::format("{}: {} files, one after the other: {}", subset, images.labels.size(), hash.finish()));
    if (grey_ > 0)
      info.taken.push_back(core::format("{}: {} became coloured", subset, several(std::exchange(grey_, 0), "grey image")));
    return images;
  }

  const std::vector<std::string>& damaged() const { return damaged_; }

  const ImageShape& shape() const { return shape_; }
  std::size_t size() const { return shape_.height * shape_.width * shape_.channels; }

 private:
  /// Nothing if the file is damaged and may be skipped.
  std::optional<Picture> decoded(std::span<const std::byte> content, const std::string& path) {
    if (!skips_damaged_) return decode_picture(content, path);
    try {
      return decode_picture(content, path);
    } catch (const core::ConfigError& error) {
      damaged_.emplace_back(error.what());
      return std::nullopt;
    }
  }

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

  void append(const Picture& picture, std::vector<std::uint8_t>& pixels) {
    if (picture.shape.channels == shape_.channels) {
      pixels.insert(pixels.end(), picture.pixels.begin(), picture.pixels.end());
      return;
    }
    ++grey_;
    for (const std::uint8_t grey : picture.pixels) pixels.insert(pixels.end(), shape_.channels, grey);
  }

  ImageShape shape_;
  std::string first_;     // file
  std::size_t grey_ = 0;  // images among coloured ones
  bool skips_damaged_;
  std::vector<std::string> damaged_;  // why each skipped file is
};

/// How many images are to be drawn for the test, if `test` is no folder.
std::optional<std::size_t> images_to_draw(const ImportFolderOptions& options) {
  if (fs::is_directory(fs::path(options.folder) / options.test)) return std::nullopt;
  return core::number_of<std::size_t>(options.test);
}

/// Resolves what the options leave to the folder: where the classes lie, and whether the test set is drawn.
ImportFolderOptions with_sets(ImportFolderOptions options) {
  const fs::path folder = options.folder;
  const auto drawn = images_to_draw(options);
  if (options.train == "train" && !fs::is_directory(folder / "train") && has_classes(folder)) options.train = ".";
  if (!drawn && !fs::is_directory(folder / options.test))
    throw core::ConfigError(
        core::format("'{}' is not a folder: give `test` the folder of the test set, or how many images of the training set "
                     "to draw for it",
                     (folder / options.test).string()));
  if (options.train == ".")
    for (const std::string& other : {drawn ? std::string() : options.test,
                                     options.validation.empty() ? validation_folder_in(folder) : options.validation})
      if (!other.empty())
        throw core::ConfigError(core::format("'{}' lies among the class folders of the training set: move it elsewhere",
                                             (folder / other).string()));
  if (drawn) {
    options.test.clear();
    options.SampleImportOptions::test = *drawn;
  }
  return options;
}

}  // namespace

Imported import_image_folder(const ImportFolderOptions& given) {
  const ImportFolderOptions options = with_sets(given);
  if (options.channels != 0 && options.channels != 1 && options.channels != 3)
    throw core::ConfigError(core::format("images have 1 or 3 channels, not {}", options.channels));
  const fs::path folder = options.folder;
  const std::string validation = options.validation.empty() ? validation_folder_in(folder) : options.validation;
  const std::vector<std::string> names{options.train, validation, options.test};  // empty: there is no such folder
  Imported info;
  info.class_names = classes_in(folder / options.train);
  info.classes = info.class_names.size();
  std::vector<ImageListing> listings;
  for (const std::string& name : names)
    listings.push_back(name.empty() ? ImageListing{} : list_images(folder / name, info.class_names));
  ImageReader reader(options.channels, options.skip_damaged);
  ImportedSubsets subsets;
  for (const std::size_t i : {0u, 2u, 1u})  // the order of source_sha256
    if (!names[i].empty()) subsets[i] = reader.read(names[i], listings[i].files, info);
  info.dim = reader.size();
  info.image = reader.shape();
  std::string folders = core::format(
      "folders: {} for training, {} for the test", options.train == "." ? "the class folders" : options.train,
      !options.test.empty()                   ? options.test
      : options.SampleImportOptions::test > 0 ? several(options.SampleImportOptions::test, "image") + " of the training set"
                                              : "none");
  if (!validation.empty()) folders += core::format(", {} for validation", validation);
  info.taken.insert(info.taken.begin(), folders);
  for (const std::size_t i : {0u, 1u, 2u})
    warn_of_files_left_out(names[i] == "." ? options.folder : names[i], listings[i], info);
  if (const auto others = entries_besides(folder, names); options.train != "." && !others.empty())
    info.warnings.push_back(core::format("left out of '{}': {}", options.folder, some_of(others)));
  const std::vector<std::string>& damaged = reader.damaged();
  if (!damaged.empty())
    info.warnings.push_back(
        core::format("skipped {}; the first: {}", several(damaged.size(), "damaged file"), damaged.front()));
  const std::string format =
      damaged.empty() ? "folders of images" : core::format("folders of images without {} damaged", damaged.size());
  return write_samples(options, std::move(info), format, std::move(subsets));
}

void ImportFolderOptions::describe(core::OptionList& list) {
  list.text("from", folder, "folder with the two below, or with a folder for each class").path().required();
  list.text("train", train, "folder of the training set, with a folder for each class (.: the one above)").path();
  list.text("test", test, "folder of the test set, likewise, or how many training images to set aside for it");
  SampleImportOptions::test = images_to_draw(*this).value_or(0);
  list.text("validation", validation,
            "folder of the validation set, likewise (default: val, valid or validation, if there is one)");
  list.number("channels", channels, {.most = 3}, "1 for grey images, 3 for colour (0: as in the first training image)");
  list.flag("skip-damaged", skip_damaged,
            "leave out files that cannot be decoded, and print how many and why the first one cannot");
  describe_data_file(list, false);
  describe_scale(list);
}

Importer images_importer() {
  return {"images", "convert folders of PNG and JPEG images, train/CLASS/* and test/CLASS/*, into a data file",
          "`from` pictures `name` pictures `valid` 4 `out` pictures.h5",
          import_with<ImportFolderOptions>(import_image_folder)};
}

}  // namespace paragrad::data

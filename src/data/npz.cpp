#include "data/npz.hpp"

#include <zip.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"
#include "core/sha256.hpp"
#include "data/npy.hpp"

namespace paragrad::data {
namespace {

using ArrayNames = std::array<std::string, 4>;  // training images and labels, test images and labels

std::array<ArrayNames, 2> usual_names() {
  return {{{"x_train", "y_train", "x_test", "y_test"}, {"train_images", "train_labels", "test_images", "test_labels"}}};
}

/// A zip archive that is read only.
class Archive {
 public:
  explicit Archive(const std::string& path) : path_(path) {
    int code = 0;
    archive_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
    if (archive_ != nullptr) return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw core::ConfigError(core::format("cannot read '{}' as an .npz file: {}", path, why));
  }

  bool has(const std::string& array) const { return zip_name_locate(archive_.get(), file_of(array).c_str(), 0) >= 0; }

  /// The bytes of the array's file.
  std::vector<std::byte> read(const std::string& array) const {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr zip_uint64_t sizes = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat(archive_.get(), file_of(array).c_str(), 0, &stat) != 0 || (stat.valid & sizes) != sizes)
      throw core::ConfigError(core::format("'{}' contains no array '{}'", path_, array));
    if (stat.size / most_of_a_byte > stat.comp_size)  // the size is only what the file says
      throw damaged(array, "its size is impossible");
    core::require_memory(static_cast<double>(stat.size), core::format("the array '{}' of '{}'", array, path_));
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen(archive_.get(), file_of(array).c_str(), 0),
                                                                 zip_fclose);
    if (file == nullptr) throw damaged(array, zip_strerror(archive_.get()));
    std::vector<std::byte> bytes(stat.size);
    std::byte behind{};
    if (read_whole(file.get(), bytes) != bytes.size() || zip_fread(file.get(), &behind, 1) != 0)  // checks the sum
      throw damaged(array, zip_file_strerror(file.get()));
    return bytes;
  }

 private:
  static constexpr zip_uint64_t most_of_a_byte = 1100;  // deflate makes at most 1,032 bytes of one

  static std::string file_of(const std::string& array) { return array + ".npy"; }
  static std::size_t read_whole(zip_file_t* file, std::span<std::byte> bytes) {
    std::size_t got = 0;
    while (got < bytes.size()) {
      const zip_int64_t more = zip_fread(file, bytes.data() + got, bytes.size() - got);
      if (more <= 0) break;
      got += static_cast<std::size_t>(more);
    }
    return got;
  }
  core::ConfigError damaged(const std::string& array, const std::string& why) const {
    return core::ConfigError(core::format("the array '{}' of '{}' is damaged: {}", array, path_, why));
  }

  std::string path_;
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive_{nullptr, zip_discard};
};

ArrayNames names_of(const ImportNpzOptions& options, const Archive& archive) {
  if (options.arrays.size() == 4) {
    ArrayNames names;
    std::ranges::copy(options.arrays, names.begin());
    return names;
  }
  if (!options.arrays.empty())
    throw core::ConfigError(
        core::format("`arrays` names {} arrays, not four: training images, training labels, test images, test labels",
                     options.arrays.size()));
  const std::array<ArrayNames, 2> usual = usual_names();
  for (const ArrayNames& names : usual)
    if (archive.has(names[0])) return names;
  throw core::ConfigError(core::format("'{}' contains neither '{}' nor '{}': name its four arrays (`arrays`)", options.file,
                                       usual[0][0], usual[1][0]));
}

std::vector<std::byte> take(const Archive& archive, const std::string& name, DatasetInfo& info) {
  std::vector<std::byte> bytes = archive.read(name);
  info.source_sha256.push_back(core::format("{}.npy: {}", name, core::sha256(bytes)));
  return bytes;
}

/// Sets the size of the images, or checks that it is the same.
void read_images(const NpyArray& array, DatasetInfo& info, LabelledImages& images) {
  if (array.element_bytes != 1 || array.kind != 'u')
    throw core::ConfigError(
        core::format("the images '{}' are {}: give pixels from 0 to 255 as uint8", array.name, array.dtype()));
  const std::vector<std::size_t>& shape = array.shape;
  if (shape.size() < 2 || shape.size() > 4 || array.elements() == 0)
    throw core::ConfigError(core::format(
        "the array '{}' does not contain images: its shape is {}, not samples, height, width and perhaps channels",
        array.name, fmt::join(shape, "x")));
  const std::size_t dim = array.elements() / shape[0];
  const ImageShape image =
      shape.size() == 2 ? ImageShape{} : ImageShape{shape[1], shape[2], shape.size() == 4 ? shape[3] : 1};
  if (info.dim == 0) {
    info.dim = dim;
    if (shape.size() > 2) info.image = image;
  } else if (info.dim != dim || info.image.value_or(ImageShape{}) != image) {
    throw core::ConfigError(core::format("training and test images differ in size: those of '{}' have the shape {}",
                                         array.name, fmt::join(shape, "x")));
  }
  const auto* const pixels = reinterpret_cast<const std::uint8_t*>(array.data.data());
  images.pixels.assign(pixels, pixels + array.data.size());
}

void read_labels(const NpyArray& array, std::size_t images, LabelledImages& into) {
  const std::vector<std::size_t>& shape = array.shape;
  if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[1] != 1) || shape[0] != images)
    throw core::ConfigError(core::format("the labels '{}' have the shape {}, but there are {} images", array.name,
                                         fmt::join(shape, "x"), images));
  for (std::size_t i = 0; i < images; ++i) {
    const std::int64_t label = array.at(i);
    if (label < 0 || label >= std::numeric_limits<std::int32_t>::max())
      throw core::ConfigError(core::format("'{}' contains label {}, which is no class", array.name, label));
    into.labels.push_back(static_cast<std::int32_t>(label));
  }
}

LabelledImages read_half(const Archive& archive, const std::string& images_name, const std::string& labels_name,
                         DatasetInfo& info) {
  LabelledImages half;
  std::size_t count = 0;
  {
    const std::vector<std::byte> bytes = take(archive, images_name, info);
    const NpyArray array = parse_npy(bytes, images_name);
    read_images(array, info, half);
    count = array.shape[0];
  }
  const std::vector<std::byte> bytes = take(archive, labels_name, info);
  read_labels(parse_npy(bytes, labels_name), count, half);
  return half;
}

}  // namespace

DatasetInfo import_npz(const ImportNpzOptions& options) {
  const Archive archive(options.file);
  const ArrayNames names = names_of(options, archive);
  DatasetInfo info;
  const LabelledImages train = read_half(archive, names[0], names[1], info);
  const LabelledImages test = read_half(archive, names[2], names[3], info);
  info.classes = options.classes > 0 ? options.classes : static_cast<std::size_t>(std::ranges::max(train.labels)) + 1;
  return write_images(options, std::move(info), "NumPy's .npz", train, test);
}

}  // namespace paragrad::data

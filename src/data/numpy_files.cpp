#include "data/numpy_files.hpp"

#include <zip.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"

namespace paragrad::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".npy";

/// "x_train" of "x_train.npy"; other names as they are.
std::string array_of(std::string file) {
  if (file.ends_with(ending)) file.resize(file.size() - ending.size());
  return file;
}

core::ConfigError no_array(const std::string& path, const std::string& array) {
  return core::ConfigError(core::format("'{}' contains no array '{}'", path, array));
}

/// A zip archive that is read only.
class NpzArchive : public NumpyFiles {
 public:
  explicit NpzArchive(const std::string& path) : path_(path) {
    int code = 0;
    archive_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
    if (archive_ != nullptr) return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw core::ConfigError(core::format("cannot read '{}' as an .npz file: {}", path, why));
  }

  std::vector<std::string> names() const override { return entries(true); }
  std::vector<std::string> others() const override { return entries(false); }

  bool has(const std::string& array) const override {
    return zip_name_locate(archive_.get(), file_of(array).c_str(), 0) >= 0;
  }

  NumpyFile read(const std::string& array) const override {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat(archive_.get(), file_of(array).c_str(), 0, &stat) != 0 || (stat.valid & needed) != needed)
      throw no_array(path_, array);
    check_sizes(array, stat);
    core::require_memory(static_cast<double>(stat.size), core::format("the array '{}' of '{}'", array, path_));
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen(archive_.get(), file_of(array).c_str(), 0),
                                                                 zip_fclose);
    if (file == nullptr) throw damaged(array, zip_strerror(archive_.get()));
    std::vector<std::byte> bytes = read_to_end(file.get(), stat.size);
    std::byte behind{};
    if (bytes.size() != stat.size || zip_fread(file.get(), &behind, 1) != 0)  // checks the sum
      throw damaged(array, zip_file_strerror(file.get()));
    return NumpyFile(std::move(bytes));
  }

 private:
  /// Those that are arrays, or the others.
  std::vector<std::string> entries(bool arrays) const {
    std::vector<std::string> names;
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive_.get(), 0); ++i)
      if (const char* name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0); name != nullptr)
        if (std::string_view(name).ends_with(ending) == arrays) names.push_back(array_of(name));
    std::ranges::sort(names);
    return names;
  }

  static std::string file_of(const std::string& array) { return array + ".npy"; }

  /// The sizes are only what the archive says.
  void check_sizes(const std::string& array, const zip_stat_t& stat) const {
    constexpr zip_uint64_t most_of_a_byte = 1100;  // deflate makes at most 1,032 bytes of one
    const bool deflated = stat.comp_method == ZIP_CM_DEFLATE;
    if (stat.comp_size > fs::file_size(path_) || (stat.comp_method == ZIP_CM_STORE && stat.size > stat.comp_size) ||
        (deflated && stat.size / most_of_a_byte > stat.comp_size))
      throw damaged(array, "its size is impossible");
    if (zip_compression_method_supported(stat.comp_method, 0) == 0)
      throw core::ConfigError(
          core::format("the array '{}' of '{}' is compressed in a way that this program cannot read: save it "
                       "with numpy.savez_compressed",
                       array, path_));
  }

  /// Memory grows with what the archive contains.
  static std::vector<std::byte> read_to_end(zip_file_t* file, std::size_t size) {
    constexpr std::size_t at_once = std::size_t{1} << 20;
    std::vector<std::byte> bytes;
    while (bytes.size() < size) {
      const std::size_t had = bytes.size();
      bytes.resize(had + std::min(at_once, size - had));
      const zip_int64_t more = zip_fread(file, bytes.data() + had, bytes.size() - had);
      bytes.resize(had + static_cast<std::size_t>(std::max<zip_int64_t>(more, 0)));
      if (more <= 0) break;
    }
    return bytes;
  }

  core::ConfigError damaged(const std::string& array, const std::string& why) const {
    return core::ConfigError(core::format("the array '{}' of '{}' is damaged: {}", array, path_, why));
  }

  std::string path_;
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive_{nullptr, zip_discard};
};

class NpyFolder : public NumpyFiles {
 public:
  explicit NpyFolder(std::string path) : path_(std::move(path)) {}

  std::vector<std::string> names() const override { return entries(true); }
  std::vector<std::string> others() const override { return entries(false); }

  bool has(const std::string& array) const override { return fs::is_regular_file(file_of(array)); }

  NumpyFile read(const std::string& array) const override {
    if (!has(array)) throw no_array(path_, array);
    return NumpyFile(system::FileMap::open(file_of(array).string()));
  }

 private:
  /// Those that are arrays, or the others.
  std::vector<std::string> entries(bool arrays) const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      const bool is_array = entry.is_regular_file() && name.ends_with(ending);
      if (is_array == arrays && !name.starts_with('.')) names.push_back(is_array ? array_of(name) : name);
    }
    std::ranges::sort(names);
    return names;
  }

  fs::path file_of(const std::string& array) const { return fs::path(path_) / (array + ".npy"); }

  std::string path_;
};

}  // namespace

std::unique_ptr<NumpyFiles> open_numpy_files(const std::string& path) {
  if (fs::is_directory(path)) return std::make_unique<NpyFolder>(path);
  if (path.ends_with(".npy"))
    throw core::ConfigError(
        core::format("'{}' is a single array: give the folder that contains it and the labels as .npy files", path));
  return std::make_unique<NpzArchive>(path);
}

}  // namespace paragrad::data

#include "data/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/memory.hpp"
#include "data/file_format.hpp"
#include "data/foreign_file.hpp"
#include "data/hdf5_file.hpp"
#include "data/trial_read.hpp"
#include "system/file_map.hpp"

namespace paragrad::data {
namespace {

core::ConfigError broken(const Hdf5File& file, const std::string& what) {
  return core::ConfigError(core::format("data file '{}' is damaged: {}; create it again", file.path(), what));
}

/// Of an intact file that another tool wrote with other types.
core::ConfigError of_other_type(const Hdf5File& file, const std::string& array, const Hdf5ArrayInfo& found,
                                std::string_view wanted) {
  return core::ConfigError(core::format("'{}' in data file '{}' has type {}, not {}: write it with that type", array,
                                        file.path(), found.type_name(), wanted));
}

void check_format(const Hdf5File& file) {
  if (!file.has_attribute("/", "format") || file.text("/", "format") != format_name)
    throw core::ConfigError(core::format("'{}' is not a Paragrad data file: its root has no attribute format = \"{}\"",
                                         file.path(), format_name));
  if (const auto version = file.count("/", "version"); version < version_with_labels || version > version_with_tokens)
    throw core::ConfigError(core::format("data file '{}' has format version {}; this program reads versions {} to {}",
                                         file.path(), version, version_with_labels, version_with_tokens));
}

/// Reads the attributes that only speech files have.
void read_speech(const Hdf5File& file, DatasetInfo& info) {
  if (file.has_attribute("/", "context_left")) info.context.left = file.count("/", "context_left");
  if (file.has_attribute("/", "context_right")) info.context.right = file.count("/", "context_right");
  if (std::max(info.context.left, info.context.right) > widest_context)
    throw broken(file, core::format("its context of {}+{} frames is too wide", info.context.left, info.context.right));
  if (file.has_attribute("/", "frame_shift_s")) {
    info.frame_shift_s = file.number("/", "frame_shift_s");
    if (!std::isfinite(info.frame_shift_s) || info.frame_shift_s <= 0)
      throw broken(file, core::format("its frame shift of {} s is not a positive number", info.frame_shift_s));
  }
  if (file.has_attribute("/", "class_names")) info.class_names = file.texts("/", "class_names");
  if (!info.class_names.empty() && info.class_names.size() != info.classes)
    throw broken(file, core::format("it names {} classes but has {}", info.class_names.size(), info.classes));
}

/// Reads the attribute that only files of tables have. The rows are not known yet.
void read_names_of_features(const Hdf5File& file, DatasetInfo& info) {
  if (file.has_attribute("/", "feature_names")) info.names_of_features = file.texts("/", "feature_names");
}

/// Reads the attributes that only files of images have.
void read_image(const Hdf5File& file, DatasetInfo& info) {
  if (!file.has_attribute("/", "image_height")) return;
  info.image = {file.count("/", "image_height"), file.count("/", "image_width"), file.count("/", "image_channels")};
}

void check_image(const Hdf5File& file, const DatasetInfo& info) {
  if (!info.image) return;
  const auto [height, width, channels] = *info.image;
  const auto most = info.frame_dim();  // of each: their product does not overflow then
  if (std::max({height, width, channels}) > most || height * width > most || height * width * channels != most ||
      info.context != Context{})
    throw broken(file, core::format("its images are {}, but its rows have {} features", info.image->text(), info.dim));
}

/// Of all columns of a file that names them.
void read_widths(const Hdf5File& file, DatasetInfo& info) {
  if (!file.has_attribute("/", "columns")) throw broken(file, "it does not name its columns");
  std::vector<std::string> names = file.texts("/", "columns");
  const auto read = [&](const auto& column, std::size_t& width) {
    if (std::erase(names, column.name) == 0) {
      if (width > 0) throw broken(file, core::format("it has {} that it does not name among its columns", column.name));
      return;
    }
    width = column.rank == 1 ? 1 : file.count("/", std::string(column.name));
    if (width == 0) throw broken(file, core::format("its column {} has no values", column.name));
  };
  for_columns(read, info.widths);
  if (!names.empty())
    throw core::ConfigError(core::format("data file '{}' has columns that this program does not know: {}", file.path(),
                                         core::join(names, ", ")));
}

DatasetInfo read_root(const Hdf5File& file) {
  DatasetInfo info;
  info.path = file.path();
  info.name = file.text("/", "name");
  info.source = file.text("/", "source");
  info.licence = file.text("/", "licence");
  info.source_sha256 = file.texts("/", "source_sha256");
  info.content_sha256 = file.text("/", "content_sha256");
  const auto version = file.count("/", "version");
  if (version == version_with_tokens) return info;  // the vocabulary is an array
  const bool real =
      version == version_with_targets || (version == version_with_columns && file.has_attribute("/", "targets"));
  (real ? info.widths.targets : info.classes) = file.count("/", real ? "targets" : "classes");
  if (version == version_with_columns) read_widths(file, info);
  info.encoding.scale = static_cast<float>(file.number("/", "feature_scale"));
  info.encoding.offset = static_cast<float>(file.number("/", "feature_offset"));
  if (real && file.has_attribute("/", "classes")) throw broken(file, "it has both classes and targets");
  if (info.classes + info.widths.targets == 0)
    throw broken(file, core::format("it has no {}", real ? "targets" : "classes"));
  read_speech(file, info);
  read_image(file, info);
  read_names_of_features(file, info);
  return info;
}

/// One array: a view into the mapping or, if another tool stored it chunked, compressed or byte-swapped, a copy.
struct Array {
  std::span<const std::byte> bytes;
  std::vector<std::byte> copy;

  template <class T>
  static Array load(const Hdf5File& file, const std::string& name, const Hdf5ArrayInfo& info, const system::FileMap& map) {
    Array array;
    const std::size_t size = info.elements() * sizeof(T);
    if (size == 0) return array;
    const auto offset = info.file_offset.value_or(0);
    if (info.file_offset && !map.bytes().empty() && offset % alignof(T) == 0) {
      if (offset > map.bytes().size() || size > map.bytes().size() - offset)
        throw broken(file, core::format("{} extends beyond the end of the file", name));
      array.bytes = map.bytes().subspan(offset, size);
      return array;
    }
    core::require_memory(static_cast<double>(size),
                         core::format("'{}' in '{}' (not stored contiguously, so it cannot be mapped)", name, file.path()));
    array.copy.resize(size);
    file.read_rows(name, 0, std::span<T>(reinterpret_cast<T*>(array.copy.data()), info.elements()));
    array.bytes = array.copy;
    return array;
  }
};

template <class>
using ArrayOf = Array;

struct SubsetArrays {
  Array features;              // [samples][dim]
  Array labels;                // [samples], if there are classes
  PerColumn<ArrayOf> columns;  // [samples][width]
  std::vector<std::int64_t> offsets;
  Array utterances, speakers;  // text, a line for each sequence
};

std::vector<std::string_view> lines_of(const Array& text) {
  std::vector<std::string_view> lines;
  std::string_view rest(reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size());
  while (!rest.empty()) {
    lines.push_back(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(lines.back().size() + 1);
  }
  return lines;
}

}  // namespace

std::size_t DatasetInfo::bytes_to_read() const {
  std::size_t bytes = bytes_per_row();
  for_columns([&]<class T>(const ColumnInfo<T>&, std::size_t width) { bytes += width * sizeof(T); }, widths);
  return bytes;
}

struct Dataset::Mapping {
  explicit Mapping(const Hdf5File& file) : map(file.descriptor()) {
    check_format(file);
    info = read_root(file);
    if (file.count("/", "version") == version_with_tokens) read_vocabulary(file);
    for (std::size_t i = 0; i < subset_names.size(); ++i) load(file, i);
    if (info.samples[0] == 0) throw broken(file, "the training set is empty");
  }

  void load(const Hdf5File& file, std::size_t subset);
  void read_vocabulary(const Hdf5File& file);
  void load_tokens(const Hdf5File& file, const std::string& group, std::size_t subset);
  void see(const Context& context);
  void number_classes(const std::vector<std::string>& names);
  template <class T>
  Array load_column(const Hdf5File& file, const std::string& name, std::size_t subset, std::vector<std::size_t> shape);
  void check_features(const Hdf5File& file, const std::string& group, std::size_t subset, const Hdf5ArrayInfo& features);
  void load_offsets(const Hdf5File& file, const std::string& name, std::size_t subset);
  void load_names(const Hdf5File& file, const std::string& name, std::size_t sequences, Array& names);

  DatasetInfo info;
  system::FileMap map;
  std::array<SubsetArrays, 3> subsets;
  std::vector<std::int32_t> class_of;       // of a stored label; empty: they are the same
  std::array<std::once_flag, 3> announced;  // whether rows of the subset are read page by page
};

void Dataset::Mapping::load(const Hdf5File& file, std::size_t subset) {
  const auto group = core::format("/{}", subset_names[subset]);
  if (info.vocabulary) return load_tokens(file, group, subset);
  if (!file.exists(group + "/features")) throw broken(file, core::format("{}/features is missing", group));
  const auto features = file.array_info(group + "/features");
  check_features(file, group, subset, features);
  info.samples[subset] = features.shape[0];

  auto& arrays = subsets[subset];
  arrays.features = features.type == ElementType::uint8 ? Array::load<std::uint8_t>(file, group + "/features", features, map)
                                                        : Array::load<float>(file, group + "/features", features, map);
  if (info.classes > 0) arrays.labels = load_column<std::int32_t>(file, group + "/labels", subset, {});
  const auto read = [&]<class T>(const ColumnInfo<T>& column, Array& array, std::size_t width) {
    const std::string name = core::format("{}/{}", group, column.name);
    if (width == 0 && file.exists(name))
      throw broken(file, core::format("{} is there, but the file does not name it among its columns", name));
    if (width == 0) return;
    array = load_column<T>(file, name, subset, column.rank == 1 ? std::vector<std::size_t>{} : std::vector{width});
  };
  for_columns(read, arrays.columns, info.widths);
  if (file.exists(group + "/offsets")) load_offsets(file, group + "/offsets", subset);
  if (info.context != Context{} && info.samples[subset] > 0 && info.sequences[subset] == 0)
    throw broken(file, core::format("its samples have a context, but {}/offsets is missing", group));
  load_names(file, group + "/utterances", info.sequences[subset], arrays.utterances);
  load_names(file, group + "/speakers", info.sequences[subset], arrays.speakers);
}

void Dataset::Mapping::read_vocabulary(const Hdf5File& file) {
  constexpr std::size_t most_bytes = std::size_t{1} << 26;
  if (!file.exists("/vocabulary")) throw broken(file, "/vocabulary is missing");
  const auto stored = file.array_info("/vocabulary");
  if (stored.type != ElementType::uint8 || stored.shape.size() != 1 || stored.shape[0] > most_bytes)
    throw broken(file, "/vocabulary is not text");
  const auto bytes = file.read<std::uint8_t>("/vocabulary");
  try {
    info.vocabulary =
        std::make_shared<const Vocabulary>(Vocabulary::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  } catch (const core::ConfigError& error) {
    throw broken(file, core::format("its vocabulary {}", error.what()));
  }
  info.dim = 1;
  info.classes = info.vocabulary->size();
  info.encoding.type = info.vocabulary->type();
}

void Dataset::Mapping::load_tokens(const Hdf5File& file, const std::string& group, std::size_t subset) {
  const std::string name = group + "/tokens";
  if (!file.exists(name)) throw broken(file, core::format("{} is missing", name));
  const auto stored = file.array_info(name);
  with_token_type(info.encoding.type, [&]<class T>(T) {
    if (stored.type != element_type_of<T>()) throw of_other_type(file, name, stored, to_string(element_type_of<T>()));
    if (stored.shape.size() != 1)
      throw broken(file, core::format("{} has the shape {}, not a list of tokens", name, core::join(stored.shape, "x")));
    if (stored.shape[0] > most_tokens)
      throw broken(file, core::format("{} has {} tokens, more than {}", name, stored.shape[0], most_tokens));
    info.samples[subset] = stored.shape[0];
    subsets[subset].features = Array::load<T>(file, name, stored, map);
  });
  info.text_bytes[subset] = file.count(group, "bytes");
  if (file.exists(group + "/offsets")) load_offsets(file, group + "/offsets", subset);
}

void Dataset::Mapping::see(const Context& context) {
  if (info.vocabulary)
    throw core::ConfigError(
        core::format("'{}' holds a text, whose tokens have no context to splice: leave out `context`", info.path));
  for (std::size_t i = 0; i < subset_names.size(); ++i)
    if (context != Context{} && info.samples[i] > 0 && info.sequences[i] == 0)
      throw core::ConfigError(
          core::format("the samples of '{}' ({}) are not frames of sequences, so they have no neighbours to use as context",
                       info.path, subset_names[i]));
  info.dim = info.frame_dim() * context.frames();
  info.context = context;
}

void Dataset::Mapping::number_classes(const std::vector<std::string>& names) {
  if (names.empty() || info.class_names.empty() || names == info.class_names) return;
  const std::string known =
      core::format("{}{}", core::join(std::span(names).first(std::min<std::size_t>(names.size(), 10)), ", "),
                   names.size() > 10 ? ", …" : "");
  std::map<std::string_view, std::int32_t> places;
  for (const std::string& name : names) places.emplace(name, static_cast<std::int32_t>(places.size()));
  for (const std::string& name : info.class_names) {
    const auto found = places.find(name);
    if (found == places.end())
      throw core::ConfigError(
          core::format("the classes of '{}' are not those of the network: '{}' is none of {}; give data with "
                       "classes of the same names",
                       info.path, name, known));
    class_of.push_back(found->second);
  }
  if (places.size() < names.size() || std::set(class_of.begin(), class_of.end()).size() < class_of.size())
    throw core::ConfigError(
        core::format("the classes of '{}' are not in the order of the network's, and some have the same name: "
                     "give data with the same classes in the same order",
                     info.path));
  info.class_names = names;
  info.classes = names.size();
}

void Dataset::Mapping::load_names(const Hdf5File& file, const std::string& name, std::size_t sequences, Array& names) {
  if (!file.exists(name)) return;
  const auto stored = file.array_info(name);
  if (stored.type != ElementType::uint8 || stored.shape.size() != 1)
    throw broken(file, core::format("{} is not text", name));
  names = Array::load<std::uint8_t>(file, name, stored, map);
  const auto lines = static_cast<std::size_t>(std::count(names.bytes.begin(), names.bytes.end(), std::byte{'\n'}));
  if (names.bytes.empty() || names.bytes.back() != std::byte{'\n'} || lines != sequences)
    throw broken(file, core::format("{} does not have one line for each of the {} sequences", name, sequences));
}

/// shape: of a sample.
template <class T>
Array Dataset::Mapping::load_column(const Hdf5File& file, const std::string& name, std::size_t subset,
                                    std::vector<std::size_t> shape) {
  if (!file.exists(name)) throw broken(file, core::format("{} is missing", name));
  const auto stored = file.array_info(name);
  if (stored.type != element_type_of<T>()) throw of_other_type(file, name, stored, to_string(element_type_of<T>()));
  shape.insert(shape.begin(), info.samples[subset]);
  if (stored.shape != shape)
    throw broken(file, core::format("{} has the shape {}, not {}, for {} rows of features", name,
                                    core::join(stored.shape, "x"), core::join(shape, "x"), info.samples[subset]));
  return Array::load<T>(file, name, stored, map);
}

void Dataset::Mapping::check_features(const Hdf5File& file, const std::string& group, std::size_t subset,
                                      const Hdf5ArrayInfo& features) {
  if (features.type != ElementType::uint8 && features.type != ElementType::float32)
    throw of_other_type(file, group + "/features", features, "uint8 or float32");
  if (features.shape.size() != 2 || features.shape[1] == 0)
    throw broken(file,
                 core::format("{}/features has the shape {}, not samples x dim", group, core::join(features.shape, "x")));
  const auto type = features.type == ElementType::uint8 ? core::NumberType::uint8 : core::NumberType::float32;
  if (subset == 0) {
    info.encoding.type = type;
    info.dim = features.shape[1] * info.context.frames();
    check_image(file, info);
    if (!info.names_of_features.empty() && info.names_of_features.size() != info.frame_dim())
      throw broken(
          file, core::format("it names {} features, but its rows have {}", info.names_of_features.size(), info.frame_dim()));
  } else if (type != info.encoding.type || features.shape[1] != info.frame_dim()) {
    throw broken(file, core::format("{}/features differs from /train/features in type or row length", group));
  }
}

void Dataset::Mapping::load_offsets(const Hdf5File& file, const std::string& name, std::size_t subset) {
  const auto stored = file.array_info(name);
  if (stored.type != ElementType::int64 || stored.shape.size() != 1 || stored.shape[0] < 2)
    throw broken(file, core::format("{} is not a list of at least 2 int64", name));
  if (stored.shape[0] - 1 > info.samples[subset])  // also keeps a malicious length from reaching the allocator
    throw broken(file, core::format("{} has more sequences than there are samples", name));
  auto offsets = file.read<std::int64_t>(name);
  const bool rising = std::adjacent_find(offsets.begin(), offsets.end(), std::greater_equal<>()) == offsets.end();
  if (!rising || offsets.front() != 0 || static_cast<std::size_t>(offsets.back()) != info.samples[subset])
    throw broken(file, core::format("{} does not increase strictly from 0 to the number of samples", name));
  info.sequences[subset] = offsets.size() - 1;
  subsets[subset].offsets = std::move(offsets);
}

Dataset::Dataset(std::unique_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}
Dataset::~Dataset() = default;

std::shared_ptr<const Dataset> Dataset::open(const std::string& path, const std::optional<Context>& context,
                                             const std::vector<std::string>& classes) {
  refuse_importable(path);
  auto mapping = read_after_trial(path, [&](bool) { return std::make_unique<Mapping>(Hdf5File::open(path)); });
  if (context) mapping->see(*context);
  mapping->number_classes(classes);
  return std::shared_ptr<const Dataset>(new Dataset(std::move(mapping)));
}

const DatasetInfo& Dataset::info() const { return mapping_->info; }

std::span<const std::byte> Dataset::rows(Subset subset, std::size_t first, std::size_t count) const {
  const auto index = static_cast<std::size_t>(subset);
  const std::size_t samples = mapping_->info.samples[index];
  if (first > samples || count > samples - first) throw std::out_of_range("Dataset::rows: no such sample");
  const auto bytes = mapping_->info.bytes_per_row();
  return mapping_->subsets[index].features.bytes.subspan(first * bytes, count * bytes);
}

void Dataset::read_soon(Subset subset, std::size_t first, std::size_t count) const {
  const auto index = static_cast<std::size_t>(subset);
  const Array& features = mapping_->subsets[index].features;
  if (!features.copy.empty() || count == 0) return;
  std::call_once(mapping_->announced[index], [&] { mapping_->map.read_by_page(features.bytes); });
  mapping_->map.read_soon(rows(subset, first, count));
}

bool Dataset::in_memory(Subset subset, std::size_t sample) const {
  const Array& features = mapping_->subsets[static_cast<std::size_t>(subset)].features;
  return !features.copy.empty() || mapping_->map.in_memory(row(subset, sample));
}

std::int32_t Dataset::label(Subset subset, std::size_t sample) const {
  const auto index = static_cast<std::size_t>(subset);
  if (sample >= mapping_->info.samples[index] || !mapping_->info.has_labels())
    throw std::out_of_range("Dataset::label: no such sample, or none with a label");
  std::int32_t label;
  std::memcpy(&label, mapping_->subsets[index].labels.bytes.data() + sample * sizeof(label), sizeof(label));
  const auto& class_of = mapping_->class_of;
  if (class_of.empty()) return label;
  constexpr std::int32_t none = -1;  // out of range, as it is in the file
  return label >= 0 && static_cast<std::size_t>(label) < class_of.size() ? class_of[static_cast<std::size_t>(label)] : none;
}

ColumnViews Dataset::columns(Subset subset) const {
  ColumnViews views;
  const auto view = []<class T>(const ColumnInfo<T>&, const Array& array, std::span<const T>& values) {
    values = {reinterpret_cast<const T*>(array.bytes.data()), array.bytes.size() / sizeof(T)};
  };
  for_columns(view, mapping_->subsets[static_cast<std::size_t>(subset)].columns, views);
  return views;
}

std::span<const std::int64_t> Dataset::offsets(Subset subset) const {
  return mapping_->subsets[static_cast<std::size_t>(subset)].offsets;
}

std::vector<std::string_view> Dataset::utterances(Subset subset) const {
  return lines_of(mapping_->subsets[static_cast<std::size_t>(subset)].utterances);
}

std::vector<std::string_view> Dataset::speakers(Subset subset) const {
  return lines_of(mapping_->subsets[static_cast<std::size_t>(subset)].speakers);
}

void Dataset::decode(std::span<const std::byte> stored, std::span<float> features) const {
  const core::Encoding& encoding = mapping_->info.encoding;
  if (stored.size() != features.size() * core::bytes_of(encoding.type))
    throw std::logic_error("Dataset::decode: sizes differ");
  core::decode(encoding, stored.data(), features);
}

}  // namespace paragrad::data

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/encoding.hpp"
#include "data/context.hpp"
#include "data/image_shape.hpp"
#include "data/sample_columns.hpp"
#include "data/vocabulary.hpp"

namespace paragrad::data {

enum class Subset : std::size_t { train, valid, test };
inline constexpr std::array<std::string_view, 3> subset_names{"train", "valid", "test"};
inline constexpr std::size_t most_classes = 1'000'000;  ///< as many outputs can a network have

/// The description in a data file; see data/README.md for the format.
struct DatasetInfo {
  std::string path;
  std::string name;
  std::string source;
  std::string licence;
  std::vector<std::string> source_sha256;  ///< "file name: digest" of the files it was made from
  /// Hash of features, labels, tokens, vocabulary, columns, offsets, utterances, speakers, scale, counts and context; ties
  /// partitions to their data set.
  std::string content_sha256;
  core::Encoding encoding;          ///< of features, or of tokens
  std::size_t dim = 0;              ///< of a sample as the network sees it: its frame with context, from left to right
  std::optional<ImageShape> image;  ///< if samples are images; its size is dim
  std::size_t classes = 0;          ///< 0: samples have targets, not labels
  std::shared_ptr<const Vocabulary> vocabulary;  ///< if samples are the tokens of a text, of which the next is the label
  std::array<std::size_t, 3> text_bytes{};       ///< then: of each Subset, before it became tokens
  ColumnWidths widths;                           ///< of columns; targets are real numbers to predict
  Context context;                               ///< frames are stored once and spliced when loading
  double frame_shift_s = 0;                      ///< between samples of a sequence; 0: unknown
  std::vector<std::string> class_names;          ///< [classes], for example states of phones; or empty
  /// [frame_dim], of a table's columns; or empty. More than a megabyte of them is not written.
  std::vector<std::string> names_of_features;
  std::array<std::size_t, 3> samples{};    ///< of each Subset
  std::array<std::size_t, 3> sequences{};  ///< 0 where a subset has no offsets

  bool has_labels() const { return classes > 0 && vocabulary == nullptr; }  ///< that are stored
  std::size_t frame_dim() const { return dim / context.frames(); }          ///< of a stored row, without context
  std::size_t bytes_per_row() const { return frame_dim() * core::bytes_of(encoding.type); }  ///< as stored
  std::size_t bytes_to_read() const;  ///< of a row with its columns; a label is little
};

/// A data file, opened read-only and mapped into memory: all processes of a machine share the pages, so any number of
/// emulated workers need one copy. Immutable; all functions may be called from any thread.
class Dataset {
 public:
  /// Reads the description and maps features, labels and columns; the cost does not depend on the number of samples.
  /// `context` replaces the file's own. `classes`: the names of a network's classes, by which the classes of the file are
  /// numbered if it names some, too: a label then is a position in this list. Throws ConfigError for a missing, truncated or
  /// foreign file, mismatched counts, a context for samples that are not sequences, and a class that the list does not have.
  static std::shared_ptr<const Dataset> open(const std::string& path, const std::optional<Context>& context = {},
                                             const std::vector<std::string>& classes = {});

  ~Dataset();
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const DatasetInfo& info() const;

  /// Stored bytes of one row, [frame_dim] of encoding.type (a token is a row of one number); and of several consecutive
  /// rows.
  std::span<const std::byte> row(Subset subset, std::size_t sample) const { return rows(subset, sample, 1); }
  std::span<const std::byte> rows(Subset subset, std::size_t first, std::size_t count) const;
  std::int32_t label(Subset subset, std::size_t sample) const;  ///< where info().has_labels()
  ColumnViews columns(Subset subset) const;                     ///< of all samples

  // Rows may have to be read from the disk when they are accessed. Nothing happens where the data file could not be mapped.

  /// Starts to read consecutive rows without waiting for them; see system::FileMap::read_soon. From the first call on,
  /// access to a row of the subset that was not announced reads that row's pages only.
  void read_soon(Subset subset, std::size_t first, std::size_t count) const;
  bool in_memory(Subset subset, std::size_t sample) const;  ///< as far as the system tells

  std::span<const std::int64_t> offsets(Subset subset) const;  ///< [sequences + 1], empty without sequences

  /// The name and the speaker of each sequence, valid as long as this data set. Empty if the file has none.
  std::vector<std::string_view> utterances(Subset subset) const;  ///< [sequences]
  std::vector<std::string_view> speakers(Subset subset) const;    ///< [sequences]

  /// Decodes stored rows (contiguous in `stored`) into features[rows][frame_dim]. Does not splice.
  void decode(std::span<const std::byte> stored, std::span<float> features) const;

 private:
  struct Mapping;
  explicit Dataset(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace paragrad::data

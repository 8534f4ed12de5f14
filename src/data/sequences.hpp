#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::data {

/// How sequences are cut for training: context-sensitive chunks of so many frames, with frames before and after them as
/// context whose outputs carry no loss (Chen and Huo, "Training deep bidirectional LSTM acoustic model for LVCSR by a
/// context-sensitive-chunk BPTT approach", IEEE/ACM TASLP 24(7), 2016; "21-64+21"). At the ends of a sequence context is
/// what there is.
///
/// Chunks may overlap by so many frames ("21-64+21/32", as the paper decodes): one begins `frames - overlap` behind the
/// other. A frame of two or more is scored where it is furthest from the chunk's ends, so that neighbours divide what they
/// share in its middle; of the first and the last chunk of a sequence all that is left is scored too.
struct Chunking {
  std::size_t frames = 0;  ///< 0: whole sequences
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t overlap = 0;  ///< below frames

  std::size_t stride() const { return frames - overlap; }
};

/// "21-64+21", "21-64+21/32", "64" or "whole". Throws ConfigError.
Chunking parse_chunking(std::string_view text);

/// Consecutive frames that are processed together, [begin, end) of a subset's rows; those in [scored_begin, scored_end)
/// carry loss, the others are context.
struct Sequence {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t scored_begin = 0;
  std::uint32_t scored_end = 0;

  std::size_t frames() const { return end - begin; }
  std::size_t scored() const { return scored_end - scored_begin; }
};

/// What a subset's sequences are cut into, in the order of the file. Every frame is scored once.
class Sequences {
 public:
  /// Throws ConfigError for a subset that has samples and no sequences.
  Sequences(const Dataset& dataset, Subset subset, const Chunking& chunking);

  /// Chunks of full length with full context, of which nothing is known but how many rows there are. Throws ConfigError for
  /// whole sequences.
  Sequences(std::size_t rows, const Chunking& chunking);

  std::size_t count() const { return all_.size(); }
  const Sequence& at(std::size_t index) const { return all_[index]; }
  std::vector<std::uint32_t> begins() const;        ///< [count], of each the first row that is scored
  std::size_t longest() const { return longest_; }  ///< frames, context included
  std::size_t scored(std::size_t first) const;      ///< frames of the first so many
  double mean_scored() const;                       ///< per sequence; 1 where there are none

 private:
  void cut(std::size_t first, std::size_t end, const Chunking& chunking);
  void add(const Sequence& sequence);

  std::vector<Sequence> all_;
  std::vector<std::uint64_t> scored_before_;  // [count + 1]
  std::size_t longest_ = 0;
};

/// Label of a frame without loss.
inline constexpr std::int32_t no_label = -1;

/// How sequences of different length lie in one minibatch: all first frames, all second frames, …, the longest sequence
/// first; of equal ones the earlier.
struct Packing {
  std::vector<std::uint32_t> order;   ///< the sequences, as they lie in each step
  std::vector<std::uint32_t> active;  ///< how many of them have each step, see Batch::active
  std::vector<std::uint32_t> from;    ///< of each place the frame, counted from the first one's first to the last one's last
  std::vector<bool> has_loss;         ///< of each place
  std::size_t scored = 0;             ///< places that have
};

Packing pack(const Sequences& all, std::span<const std::uint32_t> sequences);

}  // namespace paragrad::data

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"
#include "data/text_windows.hpp"

namespace paragrad::data {

/// How sequences are cut for training: context-sensitive chunks of `frames` frames, with frames before and after them as
/// context whose outputs carry no loss (Chen and Huo, "Training deep bidirectional LSTM acoustic model for LVCSR by a
/// context-sensitive-chunk BPTT approach", IEEE/ACM TASLP 24(7), 2016; "21-64+21"). At the ends of a sequence the context
/// is truncated.
///
/// Chunks may overlap by `overlap` frames ("21-64+21/32", as the paper decodes): each begins `frames - overlap` frames after
/// the previous one. A frame in several chunks is scored in the chunk whose ends are furthest away, so neighbours split
/// their overlap in the middle; the first and the last chunk of a sequence also score the frames at its ends.
struct Chunking {
  std::size_t frames = 0;  ///< 0: whole sequences
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t overlap = 0;  ///< below frames

  std::size_t stride() const { return frames - overlap; }
};

/// "21-64+21", "21-64+21/32", "64" or "whole". Throws ConfigError.
Chunking parse_chunking(std::string_view text);

/// Consecutive frames that are processed together, [begin, end) of a subset's rows; frames in [scored_begin, scored_end)
/// carry loss, the others are context.
struct Sequence {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t scored_begin = 0;
  std::uint32_t scored_end = 0;

  std::size_t frames() const { return end - begin; }
  std::size_t scored() const { return scored_end - scored_begin; }
};

/// The chunks of a subset's sequences, in the order of the file. Every frame is scored exactly once.
class Sequences {
 public:
  /// Throws ConfigError for a subset that has samples but no sequences.
  Sequences(const Dataset& dataset, Subset subset, const Chunking& chunking);

  /// Chunks of full length with full context, when only the number of rows is known. Throws ConfigError for whole sequences.
  Sequences(std::size_t rows, const Chunking& chunking);

  /// Windows of a text, where they lie in epoch 0.
  explicit Sequences(const Windows& windows);

  std::size_t count() const { return all_.size(); }
  const Sequence& at(std::size_t index) const { return all_[index]; }
  std::vector<std::uint32_t> begins() const;        ///< [count] first scored row of each
  std::size_t longest() const { return longest_; }  ///< frames, context included
  std::size_t scored(std::size_t first) const;      ///< scored frames of the first `first` sequences
  double mean_scored() const;                       ///< per sequence; 1 if there are none

 private:
  void cut(std::size_t first, std::size_t end, const Chunking& chunking);
  void add(const Sequence& sequence);

  std::vector<Sequence> all_;
  std::vector<std::uint64_t> scored_before_;  // [count + 1]
  std::size_t longest_ = 0;
};

/// Label of a frame without loss.
inline constexpr std::int32_t no_label = -1;

/// Layout of sequences of different length in one minibatch: all first frames, all second frames, …, the longest sequence
/// first; ties keep their order.
struct Packing {
  std::vector<std::uint32_t> order;   ///< the sequences, in their order within each step
  std::vector<std::uint32_t> active;  ///< number of sequences in each step, see Batch::active
  std::vector<std::uint32_t> from;    ///< for each position its frame, counted through all sequences as given
  std::vector<bool> has_loss;         ///< for each position
  std::size_t scored = 0;             ///< positions with loss
};

Packing pack(const Sequences& all, std::span<const std::uint32_t> sequences);

}  // namespace paragrad::data

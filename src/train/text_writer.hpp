#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "backend/device_array.hpp"
#include "core/options.hpp"
#include "core/philox.hpp"
#include "nn/model.hpp"
#include "train/state/checkpoint.hpp"

namespace paragrad::train {

struct WritingOptions {
  std::size_t tokens = 500;  ///< to write
  double temperature = 1;    ///< outputs are divided by it; 0: the most probable token
  std::size_t top_k = 0;     ///< only the most probable ones are drawn; 0: all
  std::uint64_t seed = 1;

  void describe(core::OptionList& list);
};

/// Continues a text with a model of texts: token by token, each drawn from the model's probabilities after the `context`
/// tokens before it. Random numbers are keyed by the token's place, so the same text comes on every device with the same
/// bits.
class TextWriter {
 public:
  /// checkpoint: of a model of texts; must outlive the writer. Throws ConfigError for another. path: for messages.
  TextWriter(backend::Device& device, const Checkpoint& checkpoint, const std::string& path);

  /// Calls wrote(bytes) for the text, and then for each token; ends early if it returns false. text: not empty. Throws
  /// ConfigError for text that the vocabulary does not have.
  void continue_text(const std::string& text, const WritingOptions& options,
                     const std::function<bool(const std::string&)>& wrote);

 private:
  std::vector<float> outputs_after(std::span<const std::int32_t> tokens);

  backend::Device& device_;
  const data::Vocabulary* vocabulary_;
  std::shared_ptr<const nn::Graph> graph_;
  core::Arena parameters_;
  nn::Model model_;
  backend::DeviceArray<std::int32_t> tokens_, labels_;
  backend::DeviceArray<std::uint32_t> rows_;
};

/// The token that a number from [0, 1) chooses by its probability after a softmax of outputs/temperature; with top_k among
/// the most probable alone, of equal ones the first.
std::int32_t draw_token(std::span<const float> outputs, double temperature, std::size_t top_k, double uniform);

}  // namespace paragrad::train

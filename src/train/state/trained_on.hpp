#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/context.hpp"
#include "data/dataset.hpp"
#include "data/hdf5_file.hpp"
#include "data/image_shape.hpp"
#include "data/vocabulary.hpp"

namespace paragrad::train {

/// What a checkpoint keeps of the data that its model was trained on: what inputs and outputs mean, which the model does not
/// say. All of it is unknown (0 or empty) for checkpoints of older versions.
struct TrainedOn {
  std::size_t features = 0;  ///< of a sample, with its context
  std::size_t classes = 0, targets = 0;
  std::vector<std::string> class_names{};        ///< [classes], or empty: the data has none
  std::vector<std::string> names_of_features{};  ///< of a frame, likewise
  data::Context context{};
  std::optional<data::ImageShape> image{};
  std::shared_ptr<const data::Vocabulary> vocabulary{};  ///< of a text
};

TrainedOn trained_on(const data::DatasetInfo& info);

void write_trained_on(data::Hdf5File& checkpoint, const TrainedOn& data);
TrainedOn read_trained_on(const data::Hdf5File& checkpoint);

/// Throws ConfigError, which names what differs, if these data have other classes or features than the model was trained on,
/// numbers of features or targets, context, or shape of images. What one of the two does not know is not compared.
/// model: for messages, such as "checkpoint 'runs/a/checkpoint.h5'".
void require_same_kind(const TrainedOn& data, const std::string& model, const data::DatasetInfo& now);

/// Throws ConfigError if one of the two is a text, or both are with other vocabularies.
void require_same_text(const TrainedOn& data, const std::string& model, const data::DatasetInfo& now);

/// "cat, dog, eel and 7 more"
std::string list_of_names(const std::vector<std::string>& names);

}  // namespace paragrad::train

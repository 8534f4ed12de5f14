#include "train/state/trained_on.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::train {
namespace {

std::string text_of(const data::Context& context) { return core::format("{}+{}", context.left, context.right); }

[[noreturn]] void refuse(const std::string& model, const std::string& before, const data::DatasetInfo& now,
                         const std::string& have, const std::string& instead) {
  throw core::ConfigError(core::format("{} was trained on {}, but '{}' has {}: {}", model, before, now.path, have, instead));
}

void compare_counts(const std::string& model, std::size_t before, std::size_t now, const char* what,
                    const data::DatasetInfo& info) {
  if (before != now)
    refuse(model, core::format("{} {}", before, what), info, core::format("{}", now),
           "give data like those of the training");
}

void compare_names(const TrainedOn& data, const std::string& model, const data::DatasetInfo& now) {
  const auto& before = data.class_names;
  if (before.empty() || now.class_names.empty() || before == now.class_names) return;
  const auto [one, other] = std::ranges::mismatch(before, now.class_names);
  const auto number = one - before.begin();
  const std::string was = one == before.end() ? "no name" : core::format("the name '{}'", *one),
                    is = other == now.class_names.end() ? "no name" : core::format("the name '{}'", *other);
  refuse(model, core::format("classes of which number {} has {}", number, was), now, is,
         "the model's outputs would mean other classes; give data with the same classes in the same order");
}

std::string what_of(const std::shared_ptr<const data::Vocabulary>& vocabulary) {
  return vocabulary == nullptr ? "features, no text" : core::format("a text of {}", vocabulary->described());
}

}  // namespace

TrainedOn trained_on(const data::DatasetInfo& info) {
  return {info.dim,     info.classes, info.widths.targets, info.class_names, info.names_of_features,
          info.context, info.image,   info.vocabulary};
}

void write_trained_on(data::Hdf5File& checkpoint, const TrainedOn& data) {
  if (data.features == 0) return;
  checkpoint.set_count("/", "features", data.features);
  checkpoint.set_count("/", "classes", data.classes);
  checkpoint.set_count("/", "targets", data.targets);
  if (!data.class_names.empty()) checkpoint.set_texts("/", "class_names", data.class_names);
  if (!data.names_of_features.empty()) checkpoint.set_texts("/", "feature_names", data.names_of_features);
  if (data.context != data::Context{}) {
    checkpoint.set_count("/", "context_left", data.context.left);
    checkpoint.set_count("/", "context_right", data.context.right);
  }
  if (data.vocabulary) {
    const std::string stored = data.vocabulary->stored();
    checkpoint.write("/vocabulary", std::span(reinterpret_cast<const std::uint8_t*>(stored.data()), stored.size()));
  }
  if (!data.image) return;
  checkpoint.set_count("/", "image_height", data.image->height);
  checkpoint.set_count("/", "image_width", data.image->width);
  checkpoint.set_count("/", "image_channels", data.image->channels);
}

TrainedOn read_trained_on(const data::Hdf5File& checkpoint) {
  TrainedOn data;
  const auto count = [&](const char* name) -> std::size_t {
    return checkpoint.has_attribute("/", name) ? checkpoint.count("/", name) : 0;
  };
  data.features = count("features");
  data.classes = count("classes");
  data.targets = count("targets");
  if (checkpoint.has_attribute("/", "class_names")) data.class_names = checkpoint.texts("/", "class_names");
  if (checkpoint.has_attribute("/", "feature_names")) data.names_of_features = checkpoint.texts("/", "feature_names");
  data.context = {count("context_left"), count("context_right")};
  if (const std::size_t height = count("image_height"); height > 0)
    data.image = data::ImageShape{height, count("image_width"), count("image_channels")};
  if (checkpoint.exists("/vocabulary")) {
    const auto stored = checkpoint.read<std::uint8_t>("/vocabulary");
    data.vocabulary = std::make_shared<const data::Vocabulary>(
        data::Vocabulary::parse({reinterpret_cast<const char*>(stored.data()), stored.size()}));
  }
  return data;
}

void require_same_text(const TrainedOn& data, const std::string& model, const data::DatasetInfo& now) {
  if (data.features == 0 || (data.vocabulary == nullptr && now.vocabulary == nullptr)) return;
  if (data.vocabulary == nullptr || now.vocabulary == nullptr || *data.vocabulary != *now.vocabulary)
    refuse(model, what_of(data.vocabulary), now, what_of(now.vocabulary),
           "its tokens would mean something else; give a text that was imported with the same vocabulary");
}

void require_same_kind(const TrainedOn& data, const std::string& model, const data::DatasetInfo& now) {
  if (data.features == 0) return;
  if (data.context != data::Context{} && now.context != data::Context{} && data.context != now.context)
    refuse(model, core::format("samples with a context of {} frames", text_of(data.context)), now,
           core::format("one of {}", text_of(now.context)), core::format("give `context` {}", text_of(data.context)));
  compare_counts(model, data.features, now.dim, "features", now);
  compare_counts(model, data.targets, now.widths.targets, "targets", now);
  if (data.image && now.image && *data.image != *now.image)
    refuse(model, core::format("images of {}", data.image->text()), now, core::format("images of {}", now.image->text()),
           "give images of the same size");
  if (!data.names_of_features.empty() && !now.names_of_features.empty() && data.names_of_features != now.names_of_features)
    refuse(model, core::format("the features {}", list_of_names(data.names_of_features)), now,
           list_of_names(now.names_of_features), "give the same features in the same order");
  compare_names(data, model, now);
  compare_counts(model, data.classes, now.classes, "classes", now);
}

std::string list_of_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 10;
  if (names.size() <= most) return core::format("{}", core::join(names, ", "));
  const std::vector<std::string> first(names.begin(), names.begin() + most);
  return core::format("{} and {} more", core::join(first, ", "), names.size() - most);
}

}  // namespace paragrad::train

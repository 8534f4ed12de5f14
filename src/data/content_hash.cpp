#include "data/content_hash.hpp"

#include "core/format.hpp"
#include "data/file_format.hpp"

namespace paragrad::data {

std::string ContentHash::finish(const DatasetInfo& info) {
  if (info.vocabulary) return finish_text(info);
  const bool real = info.widths.targets > 0;
  std::string text =
      core::format("paragrad-data {}\nfeatures {} dim {} scale {} offset {} {} {}\n", version_of(info),
                   core::name_of(info.encoding.type), info.frame_dim(), info.encoding.scale, info.encoding.offset,
                   real ? "targets" : "classes", real ? info.widths.targets : info.classes);
  if (info.context != Context{}) text += core::format("context {} {}\n", info.context.left, info.context.right);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    text += core::format("{} samples {} features {}", subset_names[i], info.samples[i], parts_[i].features.finish());
    if (!real) text += core::format(" labels {}", parts_[i].labels.finish());
    const auto add = [&](const auto& column, core::Sha256& hash, std::size_t width) {
      if (width > 0) text += core::format(" {} {}", column.name, hash.finish());
    };
    for_columns(add, parts_[i].columns, info.widths);
    text += '\n';
    if (info.sequences[i] > 0)
      text += core::format("{} sequences {} offsets {}\n", subset_names[i], info.sequences[i], parts_[i].offsets.finish());
    if (parts_[i].utterances.any)
      text += core::format("{} utterances {}\n", subset_names[i], parts_[i].utterances.hash.finish());
    if (parts_[i].speakers.any) text += core::format("{} speakers {}\n", subset_names[i], parts_[i].speakers.hash.finish());
  }
  return core::sha256(std::as_bytes(std::span(text)));
}

std::string ContentHash::finish_text(const DatasetInfo& info) {
  const std::string vocabulary = info.vocabulary->stored();
  std::string text = core::format("paragrad-data {}\ntokens {} vocabulary {}\n", version_of(info),
                                  core::name_of(info.encoding.type), core::sha256(std::as_bytes(std::span(vocabulary))));
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    text += core::format("{} tokens {} {} bytes {}\n", subset_names[i], info.samples[i], parts_[i].features.finish(),
                         info.text_bytes[i]);
    if (info.sequences[i] > 0)
      text += core::format("{} documents {} offsets {}\n", subset_names[i], info.sequences[i], parts_[i].offsets.finish());
  }
  return core::sha256(std::as_bytes(std::span(text)));
}

}  // namespace paragrad::data

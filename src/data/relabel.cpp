#include "data/relabel.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "data/writer.hpp"

namespace paragrad::data {
namespace {

template <class T>
void append(DatasetWriter& writer, std::span<const std::byte> stored, std::span<const std::int32_t> labels,
            const ColumnViews& columns) {
  std::vector<T> features(stored.size() / sizeof(T));
  if (!features.empty()) std::memcpy(features.data(), stored.data(), stored.size());
  writer.append(std::span<const T>(features), labels, columns);
}

void write(const Dataset& dataset, Subset subset, std::span<const std::int32_t> labels, DatasetWriter& writer) {
  constexpr std::size_t at_once = 65536;  // rows that no sequence holds together
  const auto offsets = dataset.offsets(subset);
  const auto utterances = dataset.utterances(subset), speakers = dataset.speakers(subset);
  const auto rows = [&](std::size_t begin, std::size_t end) {
    const auto stored = dataset.rows(subset, begin, end - begin);
    const auto mine = labels.subspan(begin, end - begin);
    const ColumnViews columns = rows_of(dataset.columns(subset), dataset.info().widths, {begin, end});
    dataset.info().encoding.type == core::NumberType::uint8 ? append<std::uint8_t>(writer, stored, mine, columns)
                                                            : append<float>(writer, stored, mine, columns);
  };
  writer.begin(subset, labels.size());
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    rows(static_cast<std::size_t>(offsets[s]), static_cast<std::size_t>(offsets[s + 1]));
    writer.end_sequence(utterances.empty() ? std::string_view{} : utterances[s],
                        speakers.empty() ? std::string_view{} : speakers[s]);
  }
  for (std::size_t begin = 0; offsets.empty() && begin < labels.size(); begin += at_once)
    rows(begin, std::min(begin + at_once, labels.size()));
}

}  // namespace

DatasetInfo relabel(const Dataset& dataset, const Labels& labels, const std::string& out, const std::string& note) {
  DatasetInfo info = dataset.info();
  if (!note.empty()) info.source += (info.source.empty() ? "" : "; ") + note;
  DatasetWriter writer(out, info);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].size() != info.samples[i]) throw std::logic_error("relabel: other labels, but not as many");
    if (!labels[i].empty()) write(dataset, static_cast<Subset>(i), labels[i], writer);
  }
  return writer.finish();
}

}  // namespace paragrad::data

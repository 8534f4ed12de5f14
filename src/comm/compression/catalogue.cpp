#include "backend/kernels/scale.hpp"
#include "comm/compression/entry.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm {

namespace {

const std::vector<compression::Entry>& compressions() {
  static const std::vector<compression::Entry> entries{
#define COMPRESSION(name) compression::name##_entry(),
#include "comm/compression/catalogue.def"
#undef COMPRESSION
  };
  return entries;
}

}  // namespace

core::CatalogueInfo compression_catalogue() { return core::info_of("compression", "compressions", compressions()); }

std::unique_ptr<GradientSum> make_gradient_sum(std::string_view name, const core::Settings& settings, std::uint64_t seed) {
  const compression::Entry& entry = core::find_entry("gradient compression", name, compressions());
  const std::string_view known = core::without_parameter(name);
  const std::string_view parameter = name.size() == known.size() ? "" : name.substr(known.size() + 1);
  if (parameter.empty() && !entry.info.parameter.empty())
    throw core::ConfigError(core::format("compression '{}': write {}{}", name, entry.info.name, entry.info.parameter));
  return entry.make(parameter, settings, seed);
}

namespace compression {

void LossyOptions::describe(core::OptionList& list) {
  list.group("Gradient exchange");
  list.flag("error-feedback", error_feedback, "add the compression error of each gradient to the next one");
  list.number("error-decay", error_decay, {.least = 0, .most = 1, .without_least = true},
              "factor by which the kept compression error is multiplied before the next gradient is added (1: all of it is "
              "kept)")
      .when(error_feedback, "has no effect without `error-feedback`")
      .off("1");
}

void LossyOptions::fade(backend::KernelQueue& queue, std::span<float> residual) const {
  if (error_decay != 1 && !residual.empty()) queue.run(backend::Scale{static_cast<float>(error_decay), residual});
}

void CodecOptions::describe(core::OptionList& list) {
  LossyOptions::describe(list);
  list.flag(
      "gather-codes", gather_codes,
      "send each worker's compressed gradient to all others, which add them up: N/2 times the bytes, but the sum is not "
      "compressed again");
}

}  // namespace compression
}  // namespace paragrad::comm

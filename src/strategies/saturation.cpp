#include "strategies/saturation.hpp"

#include "core/format.hpp"

namespace paragrad::strategies {

Remarks remarks_on_saturation(comm::Worker& worker, std::optional<std::uint64_t> mine, std::string_view elements,
                              std::string_view option) {
  if (!mine) return {};
  auto all = static_cast<double>(*mine);
  comm::sum_in_rank_order(worker.comm(), {&all, 1});
  if (all == 0) return {};
  return {.lines = {core::format("{:.0f} elements of {} exceeded the range of the compression and were cut off: lower the "
                                 "learning rate, clip gradients, or choose `{}` bf16",
                                 all, elements, option)},
          .numbers = {{"saturated", all}}};
}

}  // namespace paragrad::strategies

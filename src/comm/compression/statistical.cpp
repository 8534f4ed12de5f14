#include "comm/compression/entry.hpp"
#include "comm/compression/pieces.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm::compression {
namespace {

constexpr std::size_t most_in_piece = 65536;  // of a matrix; the means of 4 bins then take 1/512 of a bit per element

backend::Code bins_of(std::string_view parameter) {
  const double bits = parse_parameter<double>(parameter, {});
  if (bits == 2) return backend::Code::bins2;
  if (bits == 4) return backend::Code::bins4;
  throw core::ConfigError(core::format("statistical gradients of {} bits are not supported: choose 2 or 4", parameter));
}

}  // namespace

Entry statistical_entry() {
  return {{.name = "statistical",
           .parameter = ":BITS",
           .example = ":2",
           .summary = "the means of 4 or 16 bins within 3 standard deviations of the mean of up to 65,536 elements of a "
                      "matrix, in 2 or 4 bits",
           .source = "MuLoCo: Thérien et al., 2025",
           .options = core::options_of<CodecOptions>()},
          [](std::string_view parameter, const core::Settings& settings, std::uint64_t) {
            return sum_of_codes(std::make_unique<Pieces>(bins_of(parameter), most_in_piece, Pieces::Of::matrices),
                                core::read_options<CodecOptions>(settings));
          }};
}

}  // namespace paragrad::comm::compression

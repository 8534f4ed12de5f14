#include "comm/compression/entry.hpp"
#include "comm/compression/pieces.hpp"

namespace paragrad::comm::compression {

Entry e3m0_entry() {
  return {{.name = "e3m0",
           .summary = "a sign and a power of two in 4 bits, relative to the largest of 256 elements",
           .source = "Streaming DiLoCo: Douillard et al., 2025",
           .options = core::options_of<CodecOptions>()},
          [](std::string_view, const core::Settings& settings, std::uint64_t) {
            return sum_of_codes(std::make_unique<Pieces>(backend::Code::e3m0, 256, Pieces::Of::elements),
                                core::read_options<CodecOptions>(settings));
          }};
}

}  // namespace paragrad::comm::compression

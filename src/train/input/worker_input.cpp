#include "train/input/worker_input.hpp"

#include <optional>
#include <stdexcept>

#include "data/sequence_stream.hpp"
#include "data/window_stream.hpp"
#include "train/input/device_stream.hpp"
#include "train/input/imaginary_stream.hpp"

namespace paragrad::train {
namespace {

std::unique_ptr<data::SampleStream> open_real(backend::Device& device, const TrainingData& source, data::Subset subset) {
  return std::make_unique<DeviceStream>(
      device, source.info, [&](data::RowStream::Arrival arrival) -> std::unique_ptr<data::SampleStream> {
        if (const auto& windows = source.windows[static_cast<std::size_t>(subset)])
          return std::make_unique<data::WindowStream>(source.dataset, subset, *source.prefetcher, *windows,
                                                      std::move(arrival));
        if (!source.has_sequences())
          return std::make_unique<data::RowStream>(source.dataset, subset, *source.prefetcher, std::move(arrival));
        return std::make_unique<data::SequenceStream>(source.dataset, subset, *source.prefetcher,
                                                      source.sequences_of(subset), source.tokens_of(subset),
                                                      std::move(arrival));
      });
}

std::unique_ptr<data::SampleStream> open_imaginary(backend::Device& device, const TrainingData& source, data::Subset subset,
                                                   std::size_t largest) {
  if (device.computes()) throw std::logic_error("a device that computes needs the samples, not only their number");
  std::optional<data::Sequence> all_alike;
  if (source.has_sequences() && source.samples(subset) > 0) all_alike = source.sequences_of(subset)->at(0);
  return std::make_unique<ImaginaryStream>(device, source.info.dim, largest, all_alike,
                                           source.network->tokens().has_value());
}

}  // namespace

std::unique_ptr<data::SampleStream> WorkerInput::open(backend::Device& device, data::Subset subset,
                                                      std::size_t largest) const {
  auto samples = source.dataset ? open_real(device, source, subset) : open_imaginary(device, source, subset, largest);
  return decorate ? decorate(std::move(samples)) : std::move(samples);
}

}  // namespace paragrad::train

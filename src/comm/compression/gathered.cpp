#include "comm/compression/gathered.hpp"

#include <algorithm>
#include <stdexcept>

#include "comm/tags.hpp"

namespace paragrad::comm::compression {

void Gathered::start(Communicator& comm, std::span<const core::Matrix> layout, std::span<const core::Range> buckets) {
  buckets_.clear();
  std::size_t parameters = 0, most = 0;
  for (const core::Range bucket : buckets) {
    const Stripe& whole =
        buckets_.insert_or_assign(bucket.begin, Stripe{bucket, columns_within(layout, bucket)}).first->second;
    parameters += bucket.size();
    if (!bucket.empty()) most = std::max(most, codec_->bytes(whole));
  }
  codec_->start(comm.device());
  residual_ = comm.device().allocate(options_.error_feedback ? parameters : 0);
  codes_ = comm.device().allocate(static_cast<std::size_t>(comm.size()) * most / sizeof(float));
}

std::span<std::byte> Gathered::code_of(int rank, std::size_t bytes) {
  return std::as_writable_bytes(codes_.span()).subspan(static_cast<std::size_t>(rank) * bytes, bytes);
}

void Gathered::operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) {
  const auto found = buckets_.find(bucket.begin);
  if (found == buckets_.end() || found->second.range.end != bucket.end)
    throw std::logic_error("a gradient bucket was not announced");
  if (bucket.empty()) return;
  const Stripe& whole = found->second;
  const std::size_t bytes = codec_->bytes(whole);
  const std::span<std::byte> mine = code_of(comm.rank(), bytes);
  const std::span<float> x = bucket.of(gradient);
  comm.run_kernels([&](backend::KernelQueue& queue) {
    const std::span<float> residual = options_.error_feedback ? bucket.of(residual_.span()) : std::span<float>{};
    options_.fade(queue, residual);
    codec_->encode(queue, whole, x, residual, mine);
  });
  std::vector<Request> receives(static_cast<std::size_t>(comm.size())), sends;
  for (int step = 1; step < comm.size(); ++step) {
    const int from = (comm.rank() + comm.size() - step) % comm.size();
    receives[static_cast<std::size_t>(from)] = comm.start_receive(from, collective_tag, code_of(from, bytes));
  }
  for (int step = 1; step < comm.size(); ++step)
    sends.push_back(comm.start_send((comm.rank() + step) % comm.size(), collective_tag, std::span<const std::byte>(mine)));
  for (int from = 0; from < comm.size(); ++from) {
    if (from != comm.rank()) comm.wait(receives[static_cast<std::size_t>(from)]);
    comm.run_kernels(
        [&](backend::KernelQueue& queue) { codec_->decode(queue, whole, code_of(from, bytes), from == 0 ? 0.f : 1.f, x); });
  }
  for (const Request send : sends) comm.wait(send);
}

}  // namespace paragrad::comm::compression

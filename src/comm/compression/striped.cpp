#include "comm/compression/striped.hpp"

#include <algorithm>
#include <stdexcept>

#include "comm/compression/gathered.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::compression {
namespace {

std::size_t floats_of(std::size_t bytes) { return bytes / sizeof(float); }

std::span<std::byte> bytes_of(core::Arena& arena) { return std::as_writable_bytes(arena.span()); }

}  // namespace

Striped::Plan Striped::plan(std::span<const core::Matrix> layout, core::Range bucket, std::size_t workers) const {
  const auto cut = [&](std::size_t index) {
    if (index == workers) return bucket.end;
    return std::max(bucket.begin,
                    cut_below(layout, grain(), bucket.begin + core::part_of(bucket.size(), workers, index).begin));
  };
  Plan plan;
  plan.offsets.push_back(0);
  for (std::size_t k = 0; k < workers; ++k) {
    const core::Range range{cut(k), cut(k + 1)};
    plan.stripes.push_back({range, columns_within(layout, range)});
    plan.offsets.push_back(plan.offsets.back() + (range.empty() ? 0 : codec_->bytes(plan.stripes.back())));
  }
  return plan;
}

void Striped::start(Communicator& comm, std::span<const core::Matrix> layout, std::span<const core::Range> buckets) {
  plans_.clear();
  mine_.clear();
  const auto workers = static_cast<std::size_t>(comm.size()), rank = static_cast<std::size_t>(comm.rank());
  std::size_t parameters = 0, owned = 0, most_encoded = 0, most_received = 0;
  for (const core::Range bucket : buckets) {
    Plan made = plan(layout, bucket, workers);
    made.mine = {owned, owned + made.stripes[rank].range.size()};
    mine_.push_back(made.stripes[rank].range);
    owned = made.mine.end;
    parameters += bucket.size();
    most_encoded = std::max(most_encoded, made.offsets.back());
    most_received = std::max(most_received, workers * (made.offsets[rank + 1] - made.offsets[rank]));
    plans_.emplace(bucket.begin, std::move(made));
  }
  backend::Device& device = comm.device();
  codec_->start(device);
  residual_ = device.allocate(options_.error_feedback ? parameters : 0);
  sum_residual_ = device.allocate(options_.error_feedback ? owned : 0);
  encoded_ = device.allocate(floats_of(most_encoded));
  received_ = device.allocate(floats_of(most_received));
}

void Striped::describe_state(core::StateView& state) {
  state.add("residual", residual_.span(), core::Rescale::sum);
  state.add("sum_residual", sum_residual_.span(), options_.error_feedback ? mine_ : std::vector<core::Range>{});
}

void Striped::operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) {
  const auto found = plans_.find(bucket.begin);
  if (found == plans_.end() || found->second.stripes.back().range.end != bucket.end)
    throw std::logic_error("a gradient bucket was not announced");
  const Plan& plan = found->second;
  encode_all(comm, plan, gradient);
  add_up_mine(comm, plan, gradient);
  encode_mine(comm, plan, gradient);
  spread(comm, plan);
  decode_all(comm, plan, gradient);
}

std::span<std::byte> Striped::encoded(const Plan& plan, std::size_t stripe) {
  return bytes_of(encoded_).subspan(plan.offsets[stripe], plan.offsets[stripe + 1] - plan.offsets[stripe]);
}

std::span<std::byte> Striped::received(const Plan& plan, std::size_t rank, std::size_t from) {
  const std::size_t bytes = plan.offsets[rank + 1] - plan.offsets[rank];
  return bytes_of(received_).subspan(from * bytes, bytes);
}

void Striped::encode_all(Communicator& comm, const Plan& plan, std::span<const float> gradient) {
  comm.run_kernels([&](backend::KernelQueue& queue) {
    for (std::size_t k = 0; k < plan.stripes.size(); ++k) {
      const Stripe& stripe = plan.stripes[k];
      if (stripe.range.empty()) continue;
      options_.fade(queue, residual(stripe.range));
      codec_->encode(queue, stripe, stripe.range.of(gradient), residual(stripe.range), encoded(plan, k));
    }
  });
}

// Receives the other workers' parts of this worker's stripe while sending its parts of theirs; its own part is also decoded.
void Striped::add_up_mine(Communicator& comm, const Plan& plan, std::span<float> gradient) {
  const auto workers = static_cast<std::size_t>(comm.size()), rank = static_cast<std::size_t>(comm.rank());
  const Stripe& mine = plan.stripes[rank];
  std::vector<Request> receives(workers), sends;
  for (std::size_t step = 1; step < workers; ++step) {
    const std::size_t from = (rank + workers - step) % workers;
    if (!mine.range.empty())
      receives[from] = comm.start_receive(static_cast<int>(from), collective_tag, received(plan, rank, from));
  }
  for (std::size_t step = 1; step < workers; ++step) {
    const std::size_t to = (rank + step) % workers;
    if (!plan.stripes[to].range.empty())
      sends.push_back(comm.start_send(static_cast<int>(to), collective_tag, std::span<const std::byte>(encoded(plan, to))));
  }
  for (std::size_t from = 0; from < workers && !mine.range.empty(); ++from) {
    if (from != rank) comm.wait(receives[from]);
    comm.run_kernels([&](backend::KernelQueue& queue) {
      const std::span<const std::byte> code = from == rank ? encoded(plan, rank) : received(plan, rank, from);
      codec_->decode(queue, mine, code, from == 0 ? 0.f : 1.f, mine.range.of(gradient));
    });
  }
  for (const Request send : sends) comm.wait(send);
}

void Striped::encode_mine(Communicator& comm, const Plan& plan, std::span<const float> gradient) {
  const auto rank = static_cast<std::size_t>(comm.rank());
  const Stripe& mine = plan.stripes[rank];
  if (mine.range.empty()) return;
  const std::span<float> left_out = options_.error_feedback ? plan.mine.of(sum_residual_.span()) : std::span<float>{};
  comm.run_kernels([&](backend::KernelQueue& queue) {
    options_.fade(queue, left_out);
    codec_->encode(queue, mine, mine.range.of(gradient), left_out, encoded(plan, rank));
  });
}

void Striped::spread(Communicator& comm, const Plan& plan) {
  const auto workers = static_cast<std::size_t>(comm.size()), rank = static_cast<std::size_t>(comm.rank());
  std::vector<Request> requests;
  for (std::size_t step = 1; step < workers; ++step) {
    const std::size_t from = (rank + workers - step) % workers;
    if (!plan.stripes[from].range.empty())
      requests.push_back(comm.start_receive(static_cast<int>(from), collective_tag, encoded(plan, from)));
  }
  for (std::size_t step = 1; step < workers; ++step) {
    const std::size_t to = (rank + step) % workers;
    if (!plan.stripes[rank].range.empty())
      requests.push_back(
          comm.start_send(static_cast<int>(to), collective_tag, std::span<const std::byte>(encoded(plan, rank))));
  }
  for (const Request request : requests) comm.wait(request);
}

void Striped::decode_all(Communicator& comm, const Plan& plan, std::span<float> gradient) {
  comm.run_kernels([&](backend::KernelQueue& queue) {
    for (std::size_t k = 0; k < plan.stripes.size(); ++k) {
      const Stripe& stripe = plan.stripes[k];
      if (!stripe.range.empty()) codec_->decode(queue, stripe, encoded(plan, k), 0, stripe.range.of(gradient));
    }
  });
}

std::unique_ptr<GradientSum> sum_of_codes(std::unique_ptr<Codec> codec, const CodecOptions& options) {
  if (!options.gather_codes) return std::make_unique<Striped>(std::move(codec), options);
  return std::make_unique<Gathered>(std::move(codec), options);
}

}  // namespace paragrad::comm::compression

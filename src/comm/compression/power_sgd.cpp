#include <map>

#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/gemm.hpp"
#include "backend/kernels/orthonormalise.hpp"
#include "backend/kernels/scale.hpp"
#include "comm/allreduce.hpp"
#include "comm/compression/entry.hpp"
#include "core/philox.hpp"

namespace paragrad::comm::compression {
namespace {

struct PowerSgdOptions : LossyOptions, CollectiveOptions {
  void describe(core::OptionList& list) {
    LossyOptions::describe(list);
    CollectiveOptions::describe(list);
  }
};

/// Low-rank gradients (Vogels, Karimireddy & Jaggi, NeurIPS 2019, Algorithms 1 and 2). For a matrix u[columns][rows] of
/// gradient plus residual, one step of subspace iteration: P = Σ u Q, orthonormalised; q = uᵀP. A worker transmits P qᵀ and
/// keeps u - P qᵀ; the sum over the workers is P (Σ q)ᵀ. Q is Σ q of the previous minibatch. Where u has a lower rank, or is
/// 0, backend::Orthonormalise completes P, so that no column of Q is lost for the minibatches that follow. Vectors, and
/// matrices too small to gain, are summed uncompressed.
///
/// Bytes     those of allreduces of rank·(rows + columns) elements per matrix.
/// Order     the allreduce's.
class PowerSgd : public GradientSum {
 public:
  PowerSgd(std::size_t rank, const PowerSgdOptions& options, std::uint64_t seed)
      : rank_(rank), seed_(seed), options_(options), allreduce_(make_allreduce(options.collective)) {}

  Grain grain() const override { return Grain::matrix; }

  void start(Communicator& comm, std::span<const core::Matrix> layout, std::span<const core::Range> buckets) override {
    plans_.clear();
    std::size_t parameters = 0, guesses = 0, most = 0;
    for (const core::Range bucket : buckets) {
      Plan plan;
      for (core::Matrix matrix : columns_within(layout, bucket)) {
        matrix.begin += bucket.begin;
        add(plan, matrix, guesses);
      }
      parameters += bucket.size();
      most = std::max(most, plan.projected);
      plans_.emplace(bucket.begin, std::move(plan));
    }
    backend::Device& device = comm.device();
    residual_ = device.allocate(options_.error_feedback ? parameters : 0);
    projected_ = device.allocate(most);
    guess_ = device.allocate(guesses);
    if (device.computes()) draw_guesses(device);
  }

  void operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) override {
    const Plan& plan = plans_.at(bucket.begin);
    comm.run_kernels([&](backend::KernelQueue& queue) { project(queue, plan, gradient); });
    (*allreduce_)(comm, projected_.span().first(plan.projected));
    comm.run_kernels([&](backend::KernelQueue& queue) { project_back(queue, plan, gradient); });
    (*allreduce_)(comm, plan.guess.of(guess_.span()));
    comm.run_kernels([&](backend::KernelQueue& queue) { restore(queue, plan, gradient); });
  }

  void describe_state(core::StateView& state) override {
    state.add("residual", residual_.span(), core::Rescale::sum);
    state.add("guess", guess_.span(), core::Rescale::equal);
  }

 private:
  /// A matrix compressed to low rank, or one summed uncompressed.
  struct Part {
    core::Matrix matrix;
    core::Range projected;  // P [columns][rank] within projected_, or the matrix itself
    core::Range guess;      // Q [rows][rank] within guess_; empty: summed uncompressed
  };
  struct Plan {
    std::vector<Part> parts;
    std::size_t projected = 0;
    core::Range guess;
  };

  void add(Plan& plan, const core::Matrix& matrix, std::size_t& guesses) const {
    const auto [rows, columns] = matrix.shape;
    const bool small = rank_ * (rows + columns) >= rows * columns;
    Part part{matrix, {}, {guesses, guesses + (small ? 0 : rows * rank_)}};
    part.projected = {plan.projected, plan.projected + (small ? rows * columns : columns * rank_)};
    plan.projected = part.projected.end;
    if (plan.parts.empty()) plan.guess.begin = guesses;
    plan.guess.end = guesses = part.guess.end;
    plan.parts.push_back(part);
  }

  void draw_guesses(backend::Device& device) {
    const core::RandomStream random(seed_, core::Purpose::compression);
    std::vector<float> drawn(guess_.size());
    for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = static_cast<float>(random.normal(i));
    device.transfer(std::span<const float>(drawn), guess_.span());
  }

  // Replaces the gradient with u, and computes this worker's P.
  void project(backend::KernelQueue& queue, const Plan& plan, std::span<float> gradient) {
    using enum backend::Transpose;
    for (const Part& part : plan.parts) {
      const auto u = part.matrix.range().of(gradient), p = part.projected.of(projected_.span());
      if (part.guess.empty()) {
        queue.run(backend::Copy{u, p});
        continue;
      }
      if (options_.error_feedback) {
        options_.fade(queue, part.matrix.range().of(residual_.span()));
        queue.run(backend::Add{part.matrix.range().of(residual_.span()), u});
      }
      queue.run(backend::Gemm{no, no, part.matrix.shape.columns, rank_, part.matrix.shape.rows, u,
                              part.guess.of(guess_.span()), 0, p});
    }
  }

  // Computes this worker's q and residual.
  void project_back(backend::KernelQueue& queue, const Plan& plan, std::span<float> gradient) {
    using enum backend::Transpose;
    for (const Part& part : plan.parts) {
      if (part.guess.empty()) continue;
      const auto [rows, columns] = part.matrix.shape;
      const auto u = part.matrix.range().of(gradient), p = part.projected.of(projected_.span()),
                 q = part.guess.of(guess_.span());
      queue.run(backend::Orthonormalise{columns, rank_, p});
      queue.run(backend::Gemm{yes, no, rows, rank_, columns, u, p, 0, q});
      if (!options_.error_feedback) continue;
      const auto kept = part.matrix.range().of(residual_.span());
      queue.run(backend::Gemm{no, yes, columns, rows, rank_, p, q, 0, kept});
      queue.run(backend::Scale{-1, kept});
      queue.run(backend::Add{u, kept});
    }
  }

  void restore(backend::KernelQueue& queue, const Plan& plan, std::span<float> gradient) {
    using enum backend::Transpose;
    for (const Part& part : plan.parts) {
      const auto sum = part.matrix.range().of(gradient), p = part.projected.of(projected_.span());
      if (part.guess.empty())
        queue.run(backend::Copy{p, sum});
      else
        queue.run(backend::Gemm{no, yes, part.matrix.shape.columns, part.matrix.shape.rows, rank_, p,
                                part.guess.of(guess_.span()), 0, sum});
    }
  }

  std::size_t rank_;
  std::uint64_t seed_;
  LossyOptions options_;
  std::unique_ptr<Allreduce> allreduce_;
  std::map<std::size_t, Plan> plans_;  // by the beginning of the bucket
  core::Arena residual_;               // [parameters]
  core::Arena projected_;              // P of the current bucket
  core::Arena guess_;                  // Q of all buckets
};

}  // namespace

Entry power_sgd_entry() {
  return {{.name = "power_sgd",
           .parameter = ":RANK",
           .example = ":2",
           .summary = "approximations of the matrices of rank RANK",
           .source = "Vogels, Karimireddy and Jaggi, NeurIPS 2019",
           .options = core::options_of<PowerSgdOptions>()},
          [](std::string_view parameter, const core::Settings& settings, std::uint64_t seed) {
            const auto rank = parse_parameter<std::size_t>(parameter, {.least = 1, .most = 1024});
            return std::make_unique<PowerSgd>(rank, core::read_options<PowerSgdOptions>(settings), seed);
          }};
}

}  // namespace paragrad::comm::compression

#include "nn/ops/attention.hpp"

#include "backend/kernels/add_columns.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "backend/kernels/fill.hpp"
#include "nn/columns.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/ops/rows_of_windows.hpp"

namespace paragrad::nn {
namespace {

/// The heads of worker `index` of `workers`, from the queries, keys and values of all heads.
class AttentionPart final : public Op {
 public:
  AttentionPart(std::size_t heads, std::size_t workers, std::size_t index)
      : heads_(heads), workers_(workers), index_(index) {}

  std::string name() const override { return "attention, part"; }
  std::vector<ValueType> infer(Types inputs) const override { return {{{width_of(inputs[0]) / workers_}}}; }
  std::vector<MemorySpec> memory(Types inputs) const override {
    const std::size_t own = 3 * width_of(inputs[0]) / workers_;
    return {{"own inputs", own}, {"sums", heads_ / workers_}, {"gradient", own, MemorySpec::Kind::scratch}};
  }
  bool reads_sequences() const override { return true; }
  std::optional<std::size_t> longest_window() const override { return std::numeric_limits<std::size_t>::max(); }
  bool backward_reads_input(std::size_t) const override { return false; }
  bool backward_reads_output(std::size_t) const override { return true; }

  void forward(const Pass& pass) const override {
    const std::size_t rows = pass.rows(), own = width_of(pass.input_type(0)) / workers_;
    const std::span<float> inputs = pass.memory("own inputs");
    for (std::size_t of = 0; of < 3; ++of)
      pass.queue().run(backend::CopyColumns{rows, own, pass.input_type(0).size(),
                                            columns_of(pass.x(), rows, pass.input_type(0).size(), in_whole(pass, of)),
                                            3 * own, columns_of(inputs, rows, 3 * own, {of * own, (of + 1) * own})});
    pass.queue().run(backend::AttentionForward{shape(pass), inputs, pass.memory("sums"), pass.y()});
  }

  void backward_inputs(const Pass& pass) const override {
    const InputSink dx = pass.dx();
    if (!dx.wanted()) return;
    const std::size_t rows = pass.rows(), own = width_of(pass.input_type(0)) / workers_;
    const std::span<float> gradient = pass.memory("gradient");
    pass.queue().run(backend::AttentionBackward{shape(pass), pass.memory("own inputs"), pass.memory("sums"), pass.y(),
                                                pass.dy(), 0, gradient});
    if (dx.keep == 0) pass.queue().run(backend::Fill{0, dx.into});
    for (std::size_t of = 0; of < 3; ++of)
      pass.queue().run(backend::AddColumns{
          rows, own, 3 * own, columns_of(std::span<const float>(gradient), rows, 3 * own, {of * own, (of + 1) * own}),
          pass.input_type(0).size(), columns_of(dx.into, rows, pass.input_type(0).size(), in_whole(pass, of))});
    apply_slope(pass.queue(), dx);
  }

 private:
  static std::size_t width_of(const ValueType& input) { return input.size() / 3; }

  /// Its columns of the queries, the keys or the values.
  core::Range in_whole(const Pass& pass, std::size_t of) const {
    const std::size_t width = width_of(pass.input_type(0)), own = width / workers_;
    return {of * width + index_ * own, of * width + (index_ + 1) * own};
  }

  backend::AttentionShape shape(const Pass& pass) const {
    return {rows_of_windows(pass), heads_ / workers_, width_of(pass.input_type(0)) / heads_};
  }

  std::size_t heads_, workers_, index_;
};

}  // namespace

std::string Attention::name() const { return core::format("attention, {} head{}", heads_, heads_ == 1 ? "" : "s"); }

std::vector<ValueType> Attention::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  if (inputs[0].size() % (3 * heads_) != 0)
    throw core::ConfigError(core::format("cannot divide {} inputs into queries, keys and values of {} head{}",
                                         inputs[0].size(), heads_, heads_ == 1 ? "" : "s"));
  return {{{inputs[0].size() / 3}}};
}

std::vector<MemorySpec> Attention::memory(Types) const { return {{"sums", heads_}}; }

std::optional<OpPart> Attention::part(Types, std::size_t workers, std::size_t index) const {
  if (heads_ % workers != 0)
    throw core::ConfigError(
        core::format("has {} head{}, which {} workers cannot share equally: give another `tensor-parallel`", heads_,
                     heads_ == 1 ? "" : "s", workers));
  return OpPart{OpPart::Kind::outputs, std::make_shared<const AttentionPart>(heads_, workers, index)};
}

backend::AttentionShape Attention::shape(const Pass& pass) const {
  return {rows_of_windows(pass), heads_, pass.input_type(0).size() / (3 * heads_)};
}

void Attention::forward(const Pass& pass) const {
  pass.queue().run(backend::AttentionForward{shape(pass), pass.x(), pass.memory("sums"), pass.y()});
}

void Attention::backward_inputs(const Pass& pass) const {
  const InputSink dx = pass.dx();
  if (!dx.wanted()) return;
  pass.queue().run(
      backend::AttentionBackward{shape(pass), pass.x(), pass.memory("sums"), pass.y(), pass.dy(), dx.keep, dx.into});
  apply_slope(pass.queue(), dx);
}

namespace {

struct AttentionOptions {
  std::size_t heads = 1;

  void describe(core::OptionList& list) {
    list.number("heads", heads, {.least = 1, .most = 1'000'000}, "heads, which share the inputs equally");
  }
};

}  // namespace

OpEntry attention_op() {
  return op_entry<AttentionOptions>(
      "attention", "causal attention over a window; its input is queries, keys and values side by side",
      [](const AttentionOptions& options, backend::Activation) { return std::make_shared<const Attention>(options.heads); });
}

}  // namespace paragrad::nn

#include <algorithm>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

namespace paragrad::backend::cpu {

namespace {

/// y = f(y + bias); there may be no bias (null).
template <Activation f>
class AddBiasAndActivate final : public Finish {
 public:
  AddBiasAndActivate(std::size_t stride, std::span<const float> bias, float* y)
      : stride_(stride), bias_(bias.empty() ? nullptr : bias.data()), y_(y) {}
  bool changes() const { return bias_ != nullptr || f != Activation::identity; }
  const float* reads() const override { return nullptr; }

  void operator()(std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) const override {
    for (std::size_t i = row; i < row + rows; ++i) {
      float* y = y_ + i * stride_ + column;
      if (bias_ == nullptr)
        transform(columns, y, activate<f>, y);
      else
        transform(
            columns, y, [](Vector z, Vector b) { return activate<f>(z + b); }, y, bias_ + column);
    }
  }

 private:
  std::size_t stride_;
  const float* bias_;
  float* y_;
};

/// dx = dx ∘ f'(x)
template <Activation f>
class MultiplyBySlope final : public Finish {
 public:
  MultiplyBySlope(std::size_t stride, const float* x, float* dx) : stride_(stride), x_(x), dx_(dx) {}
  const float* reads() const override { return f == Activation::identity ? nullptr : x_; }

  void operator()(std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) const override {
    for (std::size_t i = row; i < row + rows; ++i) {
      float* dx = dx_ + i * stride_ + column;
      transform(columns, dx, times_slope<f>, dx, x_ + i * stride_ + column);
    }
  }

 private:
  std::size_t stride_;
  const float* x_;
  float* dx_;
};

/// d += decay·w; w -= rate·d
void descend(float rate, float decay, std::size_t count, float* d, float* w) {
  if (decay != 0)
    transform(
        count, d, [&](Vector g, Vector v) { return g + decay * v; }, d, w);
  transform(
      count, w, [&](Vector v, Vector g) { return v - rate * g; }, w, d);
}

class DescendAfter final : public Finish {
 public:
  DescendAfter(std::size_t stride, float rate, float decay, float* d, float* w)
      : stride_(stride), rate_(rate), decay_(decay), d_(d), w_(w) {}
  const float* reads() const override { return w_; }

  void operator()(std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) const override {
    for (std::size_t i = row; i < row + rows; ++i) {
      const std::size_t begin = i * stride_ + column;
      descend(rate_, decay_, columns, d_ + begin, w_ + begin);
    }
  }

 private:
  std::size_t stride_;
  float rate_, decay_;
  float *d_, *w_;
};

/// dbias[width] = keep·dbias + Σ of `batch` rows of dz, `vectors` registers wide.
template <std::size_t vectors>
void sum_columns(std::size_t batch, std::size_t stride, std::size_t width, const float* dz, float keep, float* dbias) {
  const std::size_t last = width - (vectors - 1) * lanes;  // columns of the last register
  const auto read = [&](const float* row, std::size_t v) {
    return v + 1 < vectors || last == lanes ? load(row + v * lanes) : load_part(row + v * lanes, last);
  };
  Vector sum[vectors] = {};
  for (std::size_t s = 0; s < batch; ++s)
    for (std::size_t v = 0; v < vectors; ++v) sum[v] += read(dz + s * stride, v);
  for (std::size_t v = 0; v < vectors; ++v) {
    const Vector result = keep == 0 ? sum[v] : keep * read(dbias, v) + sum[v];
    store_part(result, dbias + v * lanes, v + 1 < vectors ? lanes : last);
  }
}

}  // namespace

void run(Workspace&, const BiasGradient& kernel) {
  const float* const dz = kernel.dz.data();
  float* const dbias = kernel.dbias.data();
  constexpr std::size_t wide = 8 * lanes;
  const std::size_t out = kernel.out;
  std::size_t j = 0;
  for (; j + wide <= out; j += wide) sum_columns<8>(kernel.batch, out, wide, dz + j, kernel.keep, dbias + j);
  for (; j < out; j += lanes) sum_columns<1>(kernel.batch, out, std::min(lanes, out - j), dz + j, kernel.keep, dbias + j);
}

void run(Workspace&, const Descend& kernel) {
  descend(kernel.rate, kernel.decay, kernel.w.size(), kernel.d.data(), kernel.w.data());
}

void run(Workspace& workspace, const AffineForward& kernel) {
  with_fused(kernel.f, [&]<Activation constant>() {
    const AddBiasAndActivate<constant> finish(kernel.out, kernel.bias, kernel.y.data());
    multiply(workspace.packed, kernel.batch, kernel.out, kernel.in, {kernel.x.data(), kernel.in},
             {kernel.w.data(), kernel.out}, 0, kernel.y.data(), finish.changes() ? &finish : nullptr);
  });
}

void run(Workspace& workspace, const AffineReverse& kernel) {
  with_fused(kernel.f, [&]<Activation constant>() {
    const AddBiasAndActivate<constant> finish(kernel.in, kernel.bias, kernel.x.data());
    multiply(workspace.packed, kernel.batch, kernel.in, kernel.out, {kernel.y.data(), kernel.out},
             {kernel.w.data(), kernel.out, Transpose::yes}, 0, kernel.x.data(), finish.changes() ? &finish : nullptr);
  });
}

void run(Workspace& workspace, const AffineBackwardInput& kernel) {
  with_fused(kernel.f, [&]<Activation constant>() {
    const MultiplyBySlope<constant> finish(kernel.in, kernel.x.data(), kernel.dx.data());
    multiply(workspace.packed, kernel.batch, kernel.in, kernel.out, {kernel.dz.data(), kernel.out},
             {kernel.w.data(), kernel.out, Transpose::yes}, 0, kernel.dx.data(), &finish);
  });
}

void run(Workspace& workspace, const AffineBackwardWeights& kernel) {
  multiply(workspace.packed, kernel.rows, kernel.out, kernel.batch,
           {kernel.x.data() + kernel.first_row, kernel.in, Transpose::yes}, {kernel.dz.data(), kernel.out}, kernel.keep,
           kernel.dw.data());
}

void run(Workspace& workspace, const AffineDescend& kernel) {
  const DescendAfter finish(kernel.out, kernel.rate, kernel.decay, kernel.d.data(), kernel.w.data());
  multiply(workspace.packed, kernel.in, kernel.out, kernel.batch, {kernel.x.data(), kernel.in, Transpose::yes},
           {kernel.dz.data(), kernel.out}, kernel.keep, kernel.d.data(), &finish);
}

}  // namespace paragrad::backend::cpu

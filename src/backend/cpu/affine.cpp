#include "backend/cpu/affine.hpp"

#include <algorithm>

#include "backend/cpu/vector.hpp"

namespace paragrad::backend::cpu {

namespace {

/// y = f(y + bias)
template <Activation f>
class AddBiasAndActivate final : public Finish {
 public:
  AddBiasAndActivate(std::size_t stride, const float* bias, float* y) : stride_(stride), bias_(bias), y_(y) {}
  const float* reads() const override { return nullptr; }

  void operator()(std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) const override {
    for (std::size_t i = row; i < row + rows; ++i) {
      float* y = y_ + i * stride_ + column;
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
class TimesSlope final : public Finish {
 public:
  TimesSlope(std::size_t stride, const float* x, float* dx) : stride_(stride), x_(x), dx_(dx) {}
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

class Descend final : public Finish {
 public:
  Descend(std::size_t stride, float rate, float decay, float* d, float* w)
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

void bias_gradient(std::size_t batch, std::size_t out, const float* dz, float keep, float* dbias) {
  constexpr std::size_t wide = 8 * lanes;
  std::size_t j = 0;
  for (; j + wide <= out; j += wide) sum_columns<8>(batch, out, wide, dz + j, keep, dbias + j);
  for (; j < out; j += lanes) sum_columns<1>(batch, out, std::min(lanes, out - j), dz + j, keep, dbias + j);
}

void descend(float rate, float decay, std::size_t count, float* d, float* w) {
  if (decay != 0)
    transform(
        count, d, [&](Vector g, Vector v) { return g + decay * v; }, d, w);
  transform(
      count, w, [&](Vector v, Vector g) { return v - rate * g; }, w, d);
}

void affine_forward(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* w,
                    const float* bias, Activation f, float* y) {
  with_activation(f, [&]<Activation constant>() {
    const AddBiasAndActivate<constant> finish(out, bias, y);
    multiply(buffer, batch, out, in, {x, in}, {w, out}, 0, y, &finish);
  });
}

void affine_reverse(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, const float* y, const float* w,
                    const float* bias, Activation f, float* x) {
  with_activation(f, [&]<Activation constant>() {
    const AddBiasAndActivate<constant> finish(in, bias, x);
    multiply(buffer, batch, in, out, {y, out}, {w, out, Transpose::yes}, 0, x, &finish);
  });
}

void affine_backward_input(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, const float* dz,
                           const float* w, const float* x, Activation f, float* dx) {
  with_activation(f, [&]<Activation constant>() {
    const TimesSlope<constant> finish(in, x, dx);
    multiply(buffer, batch, in, out, {dz, out}, {w, out, Transpose::yes}, 0, dx, &finish);
  });
}

void affine_backward_weights(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, std::size_t first_row,
                             std::size_t rows, const float* x, const float* dz, float keep, float* dw) {
  multiply(buffer, rows, out, batch, {x + first_row, in, Transpose::yes}, {dz, out}, keep, dw);
}

void affine_descend(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* dz,
                    float keep, float rate, float decay, float* d, float* w) {
  const Descend finish(out, rate, decay, d, w);
  multiply(buffer, in, out, batch, {x, in, Transpose::yes}, {dz, out}, keep, d, &finish);
}

}  // namespace paragrad::backend::cpu

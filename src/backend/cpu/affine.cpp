#include "backend/cpu/affine.hpp"

#include "backend/cpu/vector.hpp"

namespace paragrad::backend::cpu {

namespace {

/// y = f(y + bias)
template <Activation f>
class AddBiasAndActivate final : public Finish {
 public:
  AddBiasAndActivate(std::size_t stride, const float* bias, float* y) : stride_(stride), bias_(bias), y_(y) {}

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

}  // namespace

void affine_forward(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* w,
                    const float* bias, Activation f, float* y) {
  with_activation(f, [&]<Activation constant>() {
    const AddBiasAndActivate<constant> finish(out, bias, y);
    multiply(buffer, batch, out, in, {x, in}, {w, out}, 0, y, &finish);
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

}  // namespace paragrad::backend::cpu

#pragma once

#include <cstddef>

#include "backend/cpu/product.hpp"
#include "backend/kernels.hpp"

/// The matrix products of an affine layer; shapes as in Device.
namespace paragrad::backend::cpu {

void affine_forward(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* w,
                    const float* bias, Activation f, float* y);
void affine_backward_input(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, const float* dz,
                           const float* w, const float* x, Activation f, float* dx);
void affine_backward_weights(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, std::size_t first_row,
                             std::size_t rows, const float* x, const float* dz, float keep, float* dw);
void affine_descend(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* dz,
                    float keep, float rate, float decay, float* d, float* w);

void affine_reverse(PackBuffer& buffer, std::size_t batch, std::size_t in, std::size_t out, const float* y, const float* w,
                    const float* bias, Activation f, float* x);

void bias_gradient(std::size_t batch, std::size_t out, const float* dz, float keep, float* dbias);

/// d += decay·w; w -= rate·d
void descend(float rate, float decay, std::size_t count, float* d, float* w);

}  // namespace paragrad::backend::cpu

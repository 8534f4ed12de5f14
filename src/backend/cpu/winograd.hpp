#pragma once

#include "backend/cpu/bodies.hpp"

/// 3×3 convolutions with stride 1 by Winograd's minimal filtering F(4×4, 3×3) (Lavin and Gray, CVPR 2016): a tile of 4×4
/// outputs takes 36 products per channel and filter instead of 144. Errors are a few times those of plain sums
/// (tests/backend/winograd_test.cpp).
namespace paragrad::backend::cpu {

/// Whether a convolution and its gradients are computed in this way.
bool is_for_winograd(const ConvolutionShape& shape);

void run_winograd(Workspace& workspace, const ConvolutionForward& kernel);
void run_winograd(Workspace& workspace, const ConvolutionBackwardInput& kernel);

/// Without the gradient of a bias.
void run_winograd(Workspace& workspace, const ConvolutionBackwardWeights& kernel);

}  // namespace paragrad::backend::cpu

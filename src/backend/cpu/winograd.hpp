#pragma once

#include "backend/cpu/bodies.hpp"

/// Convolutions with 3×3 windows, one place apart, by Winograd's minimal filtering F(4×4, 3×3) (Lavin and Gray, CVPR 2016):
/// a tile of 4×4 outputs takes 36 products per channel and filter instead of 144. Roundings are larger than those of the
/// sums as they are written, by a factor of ten or so.
namespace paragrad::backend::cpu {

/// Whether a convolution and its gradients are computed in this way.
bool is_for_winograd(const ConvolutionShape& shape);

void run_winograd(Workspace& workspace, const ConvolutionForward& kernel);
void run_winograd(Workspace& workspace, const ConvolutionBackwardInput& kernel);

/// Without the gradient of a bias.
void run_winograd(Workspace& workspace, const ConvolutionBackwardWeights& kernel);

}  // namespace paragrad::backend::cpu

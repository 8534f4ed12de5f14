#pragma once

#include "backend/cpu/bodies.hpp"

/// Convolutions with 3×3 windows, one place apart, by Winograd's minimal filtering F(4×4, 3×3) (Lavin and Gray, CVPR 2016):
/// a tile of 4×4 outputs takes 36 products per channel and filter instead of 144. With 16 to 256 channels
/// the results' errors (root mean square, relative) are 1e-6 to 3e-6, four to nine times those of plain sums.
namespace paragrad::backend::cpu {

/// Whether a convolution and its gradients are computed in this way.
bool is_for_winograd(const ConvolutionShape& shape);

void run_winograd(Workspace& workspace, const ConvolutionForward& kernel);
void run_winograd(Workspace& workspace, const ConvolutionBackwardInput& kernel);

/// Without the gradient of a bias.
void run_winograd(Workspace& workspace, const ConvolutionBackwardWeights& kernel);

}  // namespace paragrad::backend::cpu

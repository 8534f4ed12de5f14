#pragma once

#include "python/nanobind.hpp"

namespace paragrad::python {

/// read_checkpoint(path): what a checkpoint holds, with the number of its model's inputs and outputs, and of the classes
/// that it was trained on; 0: on targets, or unknown. predict(path, data, outputs, context): by a checkpoint's network for
/// the training set of a data file, [rows][outputs]: log-posteriors of classes or, of a network that was trained with the
/// loss squared_error, its outputs. context: as the option of that name.
void bind_checkpoints(nanobind::module_& module);

}  // namespace paragrad::python

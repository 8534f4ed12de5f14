#pragma once

#include <nanobind/nanobind.h>

namespace paragrad::python {

/// read_checkpoint(path): what a checkpoint holds, with the number of its model's inputs and outputs.
/// log_posteriors(path, data): of a checkpoint's network, [rows][classes], for the training set of a data file.
void bind_checkpoints(nanobind::module_& module);

}  // namespace paragrad::python

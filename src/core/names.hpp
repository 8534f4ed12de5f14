#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paragrad::core {

/// The letters and digits of a name in lower case, without its parameter (from a ':' or '[' on): "--batch-size",
/// "batch_size" and "BatchSize" are all "batchsize".
std::string folded_name(std::string_view name);

/// The known name that was probably meant: the closest one by the number of letters to insert, delete, replace or exchange
/// with their neighbours, or else the shortest one that begins with `name`. "" if none is close.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// "did you mean bmuf? (known: sgd, bmuf)", or "known: sgd, bmuf" if no known name is close.
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace paragrad::core

#include <string>

#include "core/format.hpp"
#include "core/options.hpp"
#include "data/importer.hpp"
#include "data/numpy_import.hpp"
#include "data/sample_columns.hpp"

namespace paragrad::data {

void ImportNumpyOptions::describe(core::OptionList& list) {
  list.text("from", from, "an .npz file, or a folder of .npy files").path().required();
  std::string others;
  for_extra_columns([&](const auto& column) {
    for (const std::string_view set : subset_names) others += core::format(", {}_{}", column.name, set);
  });
  list.words("arrays", arrays,
             core::format("names of arrays that are not called as usual, such as x_train=A,y_train=B; also of x_valid, "
                          "y_valid, x_test, y_test{}, and of lengths_train, lengths_valid, lengths_test, the numbers of "
                          "frames of sequences",
                          others));
  list.number("classes", classes, {.most = most_classes}, "number of classes (0: largest training label + 1)");
  describe_data_file(list, true);
  describe_scale(list);
  list.choice(
      "layout", layout, {"auto", "channels-last", "channels-first", "sequences"},
      "of images with channels: channels-last (samples x height x width x channels), channels-first, or auto, the "
      "former unless the shape looks like the latter; sequences: sequences x frames x features, of which lengths may "
      "name how many frames each has");
}

Importer numpy_importer() {
  return {"numpy", "convert NumPy arrays, x_train, y_train and others, into a data file",
          "`from` images.npz `name` images `valid` 10 `out` images.h5", import_with<ImportNumpyOptions>(import_numpy)};
}

}  // namespace paragrad::data

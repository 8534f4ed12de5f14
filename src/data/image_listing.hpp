#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/import_report.hpp"

namespace paragrad::data {

struct ImageFile {
  std::filesystem::path path;
  std::int32_t label;
};

/// The images of a set, and what else its folder contains.
struct ImageListing {
  std::vector<ImageFile> files;
  std::map<std::string, std::size_t> left_out;  ///< number of files that are not read, by their ending, ".bmp"
};

/// The folders of classes, in alphabetical order. Throws ConfigError if `folder` is none.
std::vector<std::string> classes_in(const std::filesystem::path& folder);

/// Whether there are folders with images in this one.
bool has_classes(const std::filesystem::path& folder);

/// The images of these classes below `folder`, FOLDER/CLASS/*. Throws ConfigError for missing folders, classes that are not
/// among `classes`, and classes without images.
ImageListing list_images(const std::filesystem::path& folder, const std::vector<std::string>& classes);

/// The name of the one folder called val, valid or validation; empty if there is none. Throws ConfigError for several.
std::string validation_folder_in(const std::filesystem::path& folder);

/// Names in `folder` that neither begin with a dot nor are, or contain, one of the folders `names` in it, in alphabetical
/// order.
std::vector<std::string> entries_besides(const std::filesystem::path& folder, const std::vector<std::string>& names);

/// Adds a warning if files of a set are not read.
void warn_of_files_left_out(const std::string& set, const ImageListing& listing, Imported& info);

}  // namespace paragrad::data

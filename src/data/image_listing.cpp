#include "data/image_listing.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {
namespace {

namespace fs = std::filesystem;

std::string ending_of(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

bool is_image(const fs::path& path) {
  constexpr std::array<std::string_view, 5> endings{".png", ".jpg", ".jpeg", ".jpe", ".jfif"};
  return std::ranges::find(endings, ending_of(path)) != endings.end();
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// The entries of a folder, without hidden ones, in the order of their names.
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw core::ConfigError(core::format("'{}' is not a folder", folder.string()));
  std::vector<fs::directory_entry> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (!is_hidden(entry.path())) entries.push_back(entry);
  std::ranges::sort(entries, {}, [](const auto& entry) { return entry.path(); });
  return entries;
}

/// Counts a file, or all files in a folder.
void leave_out(const fs::directory_entry& entry, std::map<std::string, std::size_t>& counts) {
  if (!entry.is_directory()) {
    const std::string ending = ending_of(entry.path());
    ++counts[ending.empty() ? "without an ending" : ending];
    return;
  }
  const std::string name =
      core::format("in the folder {}", (entry.path().parent_path().filename() / entry.path().filename()).string());
  for (const fs::directory_entry& inner : fs::recursive_directory_iterator(entry.path()))
    if (!inner.is_directory() && !is_hidden(inner.path())) ++counts[name];
}

void list_class(const fs::path& folder, std::int32_t label, ImageListing& listing) {
  const std::size_t before = listing.files.size();
  for (const fs::directory_entry& entry : entries_of(folder))
    if (entry.is_regular_file() && is_image(entry.path()))
      listing.files.push_back({entry.path(), label});
    else
      leave_out(entry, listing.left_out);
  if (listing.files.size() == before)
    throw core::ConfigError(core::format("'{}' contains no .png or .jpg files", folder.string()));
}

}  // namespace

std::vector<std::string> classes_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries_of(folder))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  return names;
}

bool has_classes(const fs::path& folder) {
  return std::ranges::any_of(entries_of(folder), [](const fs::directory_entry& entry) {
    if (!entry.is_directory()) return false;
    const std::vector<fs::directory_entry> inner = entries_of(entry.path());
    return std::ranges::any_of(inner, [](const auto& file) { return file.is_regular_file() && is_image(file.path()); });
  });
}

ImageListing list_images(const fs::path& folder, const std::vector<std::string>& classes) {
  ImageListing listing;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    if (!entry.is_directory()) {
      leave_out(entry, listing.left_out);
      continue;
    }
    const auto found = std::ranges::find(classes, entry.path().filename().string());
    if (found == classes.end())
      throw core::ConfigError(core::format("'{}' is a class that the training set does not have", entry.path().string()));
    list_class(entry.path(), static_cast<std::int32_t>(found - classes.begin()), listing);
  }
  if (listing.files.empty())
    throw core::ConfigError(
        core::format("'{}' contains no images: give each class a folder of its own there", folder.string()));
  return listing;
}

std::string validation_folder_in(const fs::path& folder) {
  std::vector<std::string> found;
  for (const char* name : {"val", "valid", "validation"})
    if (fs::is_directory(folder / name)) found.emplace_back(name);
  if (found.size() > 1)
    throw core::ConfigError(
        core::format("'{}' contains both '{}' and '{}': choose one with `validation`", folder.string(), found[0], found[1]));
  return found.empty() ? "" : found.front();
}

std::vector<std::string> entries_besides(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<std::string> read, others;
  for (const std::string& name : names)
    if (!name.empty()) read.push_back(fs::path(name).begin()->string());
  for (const fs::directory_entry& entry : entries_of(folder)) {
    const std::string name = entry.path().filename().string();
    if (std::ranges::find(read, name) == read.end()) others.push_back(name);
  }
  return others;
}

void warn_of_files_left_out(const std::string& set, const ImageListing& listing, Imported& info) {
  if (!listing.left_out.empty())
    info.warnings.push_back(
        core::format("left out of '{}', where only CLASS/*.png and *.jpg are read: {}", set, counted(listing.left_out)));
}

}  // namespace paragrad::data

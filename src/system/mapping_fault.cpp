#include "system/mapping_fault.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>

namespace paragrad::system {
namespace {

/// One line of /proc/self/maps: "7f00-7f10 r--s 00001000 fe:01 1234    /path".
struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  std::string_view permissions;
  std::uint64_t offset = 0;  ///< in the file, of `begin`
  std::uint64_t inode = 0;
  std::string_view path;
};

std::string_view take_field(std::string_view& line, char end) {
  const auto field = line.substr(0, line.find(end));
  line.remove_prefix(std::min(line.size(), field.size() + 1));
  return field;
}

std::uint64_t number(std::string_view digits, int base) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return value;
}

Mapping parse(std::string_view line) {
  Mapping mapping;
  mapping.begin = number(take_field(line, '-'), 16);
  mapping.end = number(take_field(line, ' '), 16);
  mapping.permissions = take_field(line, ' ');
  mapping.offset = number(take_field(line, ' '), 16);
  take_field(line, ' ');  // the device
  mapping.inode = number(take_field(line, ' '), 10);
  mapping.path = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return mapping;
}

/// The mapping that holds `address`; its texts lie in `line`.
std::optional<Mapping> find_mapping(std::uintptr_t address, std::span<char> line) {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return std::nullopt;
  std::optional<Mapping> found;
  char chunk[1024];
  std::size_t length = 0;
  for (ssize_t got = 0; !found && ((got = ::read(maps, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR));)
    for (ssize_t i = 0; i < got && !found; ++i) {
      if (chunk[i] != '\n') {
        if (length < line.size()) line[length++] = chunk[i];
        continue;
      }
      const Mapping mapping = parse({line.data(), length});
      if (mapping.begin <= address && address < mapping.end) found = mapping;
      length = 0;
    }
  ::close(maps);
  return found;
}

/// Text built in preallocated memory.
class Text {
 public:
  explicit Text(std::span<char> memory) : memory_(memory) {}
  Text& operator<<(std::string_view part) {
    const std::size_t count = std::min(part.size(), memory_.size() - length_);
    std::copy_n(part.data(), count, memory_.data() + length_);
    length_ += count;
    return *this;
  }
  Text& operator<<(std::uint64_t value) {
    char digits[20];
    return *this << std::string_view(digits, std::to_chars(digits, digits + sizeof digits, value).ptr - digits);
  }
  std::string_view view() const { return {memory_.data(), length_}; }

 private:
  std::span<char> memory_;
  std::size_t length_ = 0;
};

/// Current length of the mapped file; nullopt if its name now refers to another file or to none.
std::optional<std::uint64_t> length_of(const Mapping& mapping, std::span<char> path) {
  if (mapping.path.size() >= path.size()) return std::nullopt;
  std::copy(mapping.path.begin(), mapping.path.end(), path.begin());
  path[mapping.path.size()] = '\0';
  struct stat status {};
  if (::stat(path.data(), &status) != 0 || status.st_ino != mapping.inode) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

std::string_view describe_mapping_fault(const void* address, std::span<char> text) {
  constexpr std::size_t longest_path = 2048;
  char line[longest_path + 128], path[longest_path];
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto mapping = find_mapping(at, line);
  if (!mapping || mapping->permissions != "r--s" || mapping->path.empty()) return {};
  const auto length = length_of(*mapping, path);
  const std::uint64_t position = at - mapping->begin + mapping->offset;
  for (char& c : std::span(line))
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';  // no control characters for the terminal
  Text sentence(text);
  sentence << "'" << mapping->path;
  if (!length)
    sentence << "' was truncated, or its disk failed, while it was being read; restore the file\n";
  else if (position >= *length)
    sentence << "' was truncated to " << *length << " bytes while it was being read; restore the file\n";
  else
    sentence << "' cannot be read at byte " << position << ": its disk or file server reports an error\n";
  return sentence.view();
}

}  // namespace paragrad::system

// The memory of the GPUs and the scheduling of their work.
#include <sanitizer/asan_interface.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <sstream>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "tests/gpu/fake_cuda/gpu.hpp"

namespace paragrad::fake_cuda {
namespace {

constexpr std::size_t span_bytes = std::size_t{8} << 30;  // of addresses, for all GPUs
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t alignment = 512;  // CUDA's is 256; between two pieces there is a gap of this

constexpr std::size_t rounded(std::size_t number, std::size_t multiple = alignment) {
  return (number + multiple - 1) / multiple * multiple;
}

// Huge pages, whose protection changes in a moment.
std::byte* reserve() {
  void* const memory = mmap(nullptr, span_bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, span_bytes, MADV_HUGEPAGE);
  return reinterpret_cast<std::byte*>(rounded(reinterpret_cast<std::uintptr_t>(memory), huge_page));
}

Settings from_environment() {
  const char* const text = std::getenv("PARAGRAD_FAKE_GPU");
  return parse_settings(text == nullptr ? "" : text);
}

}  // namespace

Settings parse_settings(const std::string& text, Settings settings) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t at = std::min(word.find('='), word.size() - 1);
    const std::string name = word.substr(0, at), value = word.substr(at + 1);
    if (name == "gpus")
      settings.gpus = std::stoi(value);
    else if (name == "megabytes")
      settings.bytes = std::stoul(value) << 20;
    else if (name == "order")
      settings.order = value == "late" ? Order::late : value == "early" ? Order::early : Order::any;
    else if (name == "cudnn" && (value == "yes" || value == "no"))
      settings.has_cudnn = value == "yes";
    else
      throw core::unknown_name("setting of fake GPUs", name, {"gpus", "megabytes", "order", "cudnn"});
  }
  return settings;
}

Machine::Machine() : memory_(reserve()) { set(from_environment()); }

void Machine::set(const Settings& wanted) {
  settings = wanted;
  contexts.clear();
  fault = cudaSuccess;
}

Machine& Machine::get() {
  static auto* const machine = new Machine;  // never destroyed: memory that outlives main() may still be released
  return *machine;
}

Machine::Access::Access(Machine& machine) : machine_(machine) {
  if (machine.accesses_++ == 0) mprotect(machine.memory_, machine.used_span_, PROT_READ | PROT_WRITE);
}

Machine::Access::~Access() {
  if (--machine_.accesses_ == 0) mprotect(machine_.memory_, machine_.used_span_, PROT_NONE);
}

bool Machine::lies_in(const std::map<const std::byte*, Allocation>& places, const void* address, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(address);
  const auto after = places.upper_bound(first);
  if (after == places.begin()) return false;
  const auto& [start, place] = *std::prev(after);
  return first < start + place.bytes && first + bytes <= start + place.bytes;
}

std::byte* Machine::find_room(std::size_t bytes) const {
  std::byte* place = memory_;
  for (const auto& [start, allocation] : allocations_) {
    if (start >= place + rounded(bytes) + alignment) return place;
    place = memory_ + (start - memory_) + rounded(allocation.bytes) + alignment;
  }
  return place + rounded(bytes) <= memory_ + span_bytes ? place : nullptr;
}

cudaError_t Machine::allocate(std::size_t bytes, void** memory) {
  const int gpu = current_gpu();
  contexts.insert(gpu);
  std::byte* const place = bytes > free_bytes(gpu) ? nullptr : find_room(bytes);
  if (place == nullptr) return cudaErrorMemoryAllocation;
  allocations_[place] = {gpu, bytes};
  used_[gpu] += bytes;
  used_span_ = std::max(used_span_, rounded(static_cast<std::size_t>(place - memory_) + bytes, huge_page));
  ASAN_UNPOISON_MEMORY_REGION(place, bytes);  // AddressSanitizer detects accesses beyond it
  ASAN_POISON_MEMORY_REGION(place + bytes, rounded(bytes) + alignment - bytes);
  const Access access(*this);
  std::fill_n(place, std::min<std::size_t>(bytes, 100'000), std::byte{0xCD});  // code that relies on zeros fails
  *memory = place;
  return cudaSuccess;
}

cudaError_t Machine::free(void* memory) {
  finish_all();
  const auto found = allocations_.find(static_cast<const std::byte*>(memory));
  if (found == allocations_.end()) return cudaErrorInvalidValue;
  used_[found->second.gpu] -= found->second.bytes;
  ASAN_POISON_MEMORY_REGION(memory, found->second.bytes);
  allocations_.erase(found);
  return cudaSuccess;
}

cudaError_t Machine::pin(std::size_t bytes, void** memory) {
  contexts.insert(current_gpu());
  auto* const place = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}));
  pinned_[place] = {current_gpu(), bytes};
  *memory = place;
  return cudaSuccess;
}

cudaError_t Machine::unpin(void* memory) {
  finish_all();
  if (pinned_.erase(static_cast<const std::byte*>(memory)) == 0) return cudaErrorInvalidValue;
  ::operator delete (memory, std::align_val_t{alignment});
  return cudaSuccess;
}

cudaStream_t Machine::made(std::unique_ptr<CUstream_st> stream) {
  contexts.insert(stream->gpu);
  return streams_.emplace_back(std::move(stream)).get();
}

void Machine::forget(cudaStream_t stream) {
  finish(stream);
  std::erase_if(streams_, [&](const auto& each) { return each.get() == stream; });
}

void Machine::enqueue(cudaStream_t stream, Work work) {
  if (stream->capture) {
    std::vector<cudaGraphNode_t> before;
    if (!stream->capture->nodes.empty()) before = {stream->capture->nodes.back().get()};
    stream->capture->add({std::move(work), std::move(before)});
    return;
  }
  stream->waiting.push_back(std::move(work));
  if (settings.order == Order::early) finish(stream);
  if (settings.order == Order::any) now_and_then();
}

/// Returns whether the next work was ready, and is done.
bool Machine::step(CUstream_st& stream) {
  if (stream.waiting.front().is_ready && !stream.waiting.front().is_ready()) return false;
  const std::function<void()> first = std::move(stream.waiting.front().run);
  stream.waiting.pop_front();
  first();
  return true;
}

void Machine::now_and_then() {
  if (random() % 4 != 0) return;
  CUstream_st& some = *streams_[random() % streams_.size()];
  if (some.waiting.empty()) return;
  const Access access(*this);
  for (std::size_t steps = random() % 8; steps > 0 && !some.waiting.empty() && step(some);) --steps;
}

void Machine::finish(cudaStream_t stream) {
  if (stream->waiting.empty()) return;
  const Access access(*this);
  while (!stream->waiting.empty())
    if (!step(*stream)) sched_yield();
}

void Machine::reach(const Mark& mark) {
  if (mark.passed) return;
  const Access access(*this);
  while (!mark.passed)
    if (!step(*mark.stream)) sched_yield();
}

void Machine::try_to_reach(const Mark& mark) {
  const Access access(*this);
  while (!mark.passed && step(*mark.stream)) continue;
}

void Machine::finish_all() {
  for (const auto& stream : streams_) finish(stream.get());
}

}  // namespace paragrad::fake_cuda

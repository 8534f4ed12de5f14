#include "sim/network/storage.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace paragrad::sim {

Io parse_io(std::string_view name) {
  if (name == "none") return Io::none;
  if (name == "blocking") return Io::blocking;
  if (name == "prefetch") return Io::prefetch;
  throw core::unknown_name("read mode", name, {"none", "blocking", "prefetch"});
}
namespace {

constexpr std::int64_t piece_bytes = 4'000'000;  // about the largest request of Lustre's clients

}  // namespace

Storage::Storage(Engine& engine, const Platform& platform, int workers)
    : engine_(engine),
      pipeline_(engine, resources_),
      workers_(workers),
      slots_(platform.workers()),
      devices_per_node_(platform.devices_per_node) {
  const Platform::Storage storage = platform.storage.value_or(Platform::Storage{});
  open_ = from_seconds(storage.open_s);
  opens_ = resources_.add(1, 0, static_cast<std::size_t>(storage.parallel_opens));
  readers_ = resources_.add_shared(1, storage.read_bytes_per_s, storage.client_bytes_per_s);
  writers_ = resources_.add_shared(1, storage.write_bytes_per_s, storage.client_bytes_per_s);
  clients_ = resources_.add(static_cast<std::size_t>(platform.nodes), storage.client_bytes_per_s);
}

void Storage::transfer(int rank, std::int64_t bytes, Resources::Id aggregate) {
  engine_.settle();
  engine_.sleep_until(resources_.take(opens_, engine_.now(), 0, open_).end);
  Route route;
  route.add(aggregate);
  route.add(clients_ + static_cast<Resources::Id>(device_of(rank, workers_, slots_) / devices_per_node_));
  for (std::int64_t done = 0; done < bytes; done += route.bytes) {
    route.bytes = std::min(piece_bytes, bytes - done);
    move(static_cast<std::uint32_t>(rank), route);
  }
}

void Storage::move(std::uint32_t actor, const Route& route) {
  Piece piece{&engine_.current()};
  pipeline_.send(route, actor, *this, reinterpret_cast<std::uint64_t>(&piece));
  if (piece.at != never) return engine_.sleep_until(piece.at);
  piece.blocked = true;
  engine_.block({"storage reads of", static_cast<int>(actor)});
}

void Storage::arrives(std::uint64_t argument, Time at) {
  Piece& piece = *reinterpret_cast<Piece*>(argument);
  piece.at = at;
  if (piece.blocked) engine_.wake_at(*piece.fiber, at);
}

}  // namespace paragrad::sim

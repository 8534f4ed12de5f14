#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/communicator.hpp"

namespace paragrad::comm::testing {

/// A program for any number of workers with windows. Throws what does not hold.
struct WindowProgram {
  std::string claim;
  std::function<void(Communicator&)> run;
};

inline void hold(bool holds, const std::string& claim) {
  if (!holds) throw std::runtime_error("does not hold: " + claim);
}

/// Has `action` done under a lock.
inline void locked(Window& window, int target, Window::Lock kind, const std::function<void()>& action) {
  window.lock(target, kind);
  action();
  window.unlock(target);
}

inline std::vector<float> own_memory(Communicator& comm, Window& window) {
  std::vector<float> copy;
  locked(window, comm.rank(), Window::Lock::shared, [&] { copy.assign(window.memory().begin(), window.memory().end()); });
  return copy;
}

using enum Window::Lock;

inline void begins_with_zeros(Communicator& comm) {
  const auto window = comm.open_window(5, 2);
  hold(own_memory(comm, *window) == std::vector<float>(5), "floats are zero");
  hold(window->await_counter(1, 0) == 0, "counters are zero");
}

inline void accumulates_arrive(Communicator& comm, int rounds) {
  constexpr std::size_t length = 10001;
  const auto window = comm.open_window(length + 2, 0);
  const std::vector<float> mine(length, static_cast<float>(comm.rank() + 1));
  for (int round = 0; round < rounds; ++round)
    for (int step = 0; step < comm.size(); ++step) {
      const int target = (comm.rank() + step) % comm.size();
      locked(*window, target, shared, [&] { window->accumulate(target, 1, mine); });
    }
  barrier(comm);
  std::vector<float> expected(length + 2, static_cast<float>(rounds * comm.size() * (comm.size() + 1) / 2));
  expected.front() = expected.back() = 0;
  hold(own_memory(comm, *window) == expected, "the sum of all, and nothing beside");
}

inline void puts_are_whole(Communicator& comm, int rounds) {
  constexpr std::size_t length = 3000;
  const int target = comm.size() - 1;
  const auto window = comm.open_window(comm.rank() == target ? length : 0, 0);
  std::vector<float> values(length);
  for (int round = 0; round < rounds; ++round) {
    values.assign(length, static_cast<float>(comm.rank() * rounds + round));
    locked(*window, target, exclusive, [&] { window->put(target, 0, values); });
    locked(*window, target, shared, [&] { window->get(target, 0, values); });
    hold(values == std::vector<float>(length, values[0]), "all elements are of one put");
  }
  barrier(comm);
}

inline void adds_to_itself(Communicator& comm, int rounds) {
  const auto window = comm.open_window(1, 0);
  const float one = 1;
  for (int round = 0; round < rounds; ++round) {
    for (int target = 0; target < comm.size(); ++target)
      if (target != comm.rank()) locked(*window, target, shared, [&] { window->accumulate(target, 0, std::span(&one, 1)); });
    locked(*window, comm.rank(), exclusive, [&] { window->memory()[0] += 1; });
  }
  barrier(comm);
  hold(own_memory(comm, *window)[0] == static_cast<float>(rounds * comm.size()), "every addition counts");
}

inline void numbers_are_given_once(Communicator& comm, int rounds) {
  const auto window = comm.open_window(0, 3);
  std::uint64_t last = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t ticket = window->fetch_add(0, 1, 1);
    hold(round == 0 || ticket > last, "tickets of one worker rise");
    last = ticket;
    window->fetch_add(0, 2, ticket);
  }
  barrier(comm);
  const auto all = static_cast<std::uint64_t>(rounds * comm.size());
  hold(window->fetch_add(0, 1, 0) == all, "as many as there were additions");
  hold(window->fetch_add(0, 2, 0) == all * (all - 1) / 2, "each ticket was given once");
  hold(window->fetch_add(comm.rank(), 0, 0) == 0, "other counters are untouched");
}

inline void counters_tell_of_floats(Communicator& comm, int rounds) {
  const auto window = comm.open_window(static_cast<std::size_t>(comm.size()), 1);
  for (int round = 1; round <= rounds; ++round) {
    const float value = static_cast<float>(100 * round + comm.rank());
    for (int target = 0; target < comm.size(); ++target) {
      locked(*window, target, shared,
             [&] { window->put(target, static_cast<std::size_t>(comm.rank()), std::span(&value, 1)); });
      window->fetch_add(target, 0, 1);
    }
    hold(window->await_counter(0, static_cast<std::uint64_t>(round * comm.size())) ==
             static_cast<std::uint64_t>(round * comm.size()),
         "all have added");
    std::vector<float> expected(static_cast<std::size_t>(comm.size()));
    std::iota(expected.begin(), expected.end(), static_cast<float>(100 * round));
    hold(own_memory(comm, *window) == expected, "all that was put is here");
    barrier(comm);
  }
}

inline void parts_are_fetched(Communicator& comm) {
  const auto length = [](int rank) { return static_cast<std::size_t>(7 * rank); };
  const auto window = comm.open_window(length(comm.rank()), static_cast<std::size_t>(comm.rank()));
  locked(*window, comm.rank(), exclusive,
         [&] { std::iota(window->memory().begin(), window->memory().end(), static_cast<float>(1000 * comm.rank())); });
  barrier(comm);
  for (int target = 0; target < comm.size(); ++target)
    for (std::size_t at = 0; at <= length(target); ++at) {
      std::vector<float> part((length(target) - at) / 2, -1.f), all(length(target) - at, -1.f);
      locked(*window, target, shared, [&] {
        window->get(target, at, part);
        window->get(target, at, all);
      });
      std::vector<float> expected(all.size());
      std::iota(expected.begin(), expected.end(), static_cast<float>(1000 * target) + static_cast<float>(at));
      hold(all == expected, "a part to the end");
      expected.resize(part.size());
      hold(part == expected, "a part from the middle");
    }
  barrier(comm);
}

inline void ends_are_guarded(Communicator& comm) {
  const auto window = comm.open_window(4, 1);
  std::vector<float> data(3);
  const auto refused = [&](const std::function<void()>& transfer) {
    try {
      transfer();
    } catch (const std::logic_error&) {
      return true;
    }
    return false;
  };
  const auto past_end = std::numeric_limits<std::size_t>::max() - 1;
  locked(*window, comm.rank(), exclusive, [&] {
    for (const std::size_t at : {std::size_t{2}, std::size_t{4}, past_end}) {
      hold(refused([&] { window->get(comm.rank(), at, data); }), "get past the end");
      hold(refused([&] { window->put(comm.rank(), at, data); }), "put past the end");
      hold(refused([&] { window->accumulate(comm.rank(), at, data); }), "accumulate past the end");
    }
    window->get(comm.rank(), 4, {});
  });
  hold(refused([&] { window->fetch_add(comm.rank(), 1, 1); }), "a counter that is not there");
}

inline void windows_are_apart(Communicator& comm) {
  const auto first = comm.open_window(2, 1), second = comm.open_window(2, 1);
  const float one = 1;
  locked(*first, 0, shared, [&] { first->accumulate(0, 1, std::span(&one, 1)); });
  second->fetch_add(0, 0, 5);
  barrier(comm);
  if (comm.rank() == 0) {
    hold(own_memory(comm, *first)[1] == static_cast<float>(comm.size()), "the first has the floats");
    hold(own_memory(comm, *second)[1] == 0, "the second has not");
    hold(second->await_counter(0, 1) == 5 * static_cast<std::uint64_t>(comm.size()), "the second has counted");
    hold(first->await_counter(0, 0) == 0, "the first has not");
  }
  barrier(comm);
}

inline void waits_have_limits(Communicator& comm) {
  const auto window = comm.open_window(0, 1);
  hold(!window->await_counter_for(0, 1, 0), "a limit of nothing only asks");
  const double begin_s = comm.now_s();
  hold(!window->await_counter_for(0, 1, 0.01), "nothing comes");
  hold(comm.now_s() - begin_s > 0.0099, "the limit is waited for");
  barrier(comm);
  window->fetch_add((comm.rank() + 1) % comm.size(), 0, 1);
  hold(window->await_counter_for(0, 1, 30) == std::uint64_t{1}, "it comes within the limit");
  barrier(comm);
}

/// rounds: how often what could go wrong is tried.
inline std::vector<WindowProgram> window_programs(int rounds) {
  return {
      {"a window begins with zeros", begins_with_zeros},
      {"accumulates of all workers under shared locks all arrive",
       [rounds](Communicator& comm) { accumulates_arrive(comm, rounds); }},
      {"what is put under an exclusive lock is seen as a whole",
       [rounds](Communicator& comm) { puts_are_whole(comm, rounds); }},
      {"a worker that holds itself exclusively adds without losing what others add",
       [rounds](Communicator& comm) { adds_to_itself(comm, rounds); }},
      {"fetch_add gives every number once", [rounds](Communicator& comm) { numbers_are_given_once(comm, rounds); }},
      {"who sees a counter sees the floats that were put before",
       [rounds](Communicator& comm) { counters_tell_of_floats(comm, rounds); }},
      {"parts are fetched from where they lie, of windows of all lengths", parts_are_fetched},
      {"what lies past the end of a window is refused", ends_are_guarded},
      {"two windows are two memories", windows_are_apart},
      {"a counter that nobody raises is given up after the limit", waits_have_limits},
  };
}

}  // namespace paragrad::comm::testing

// Compiled instead of mpi_*.cpp if there is no MPI.
#include <memory>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/mpi_worker.hpp"
#include "comm/mpi/rank_guard.hpp"
#include "core/errors.hpp"

namespace paragrad::comm {
namespace {

[[noreturn]] void refuse() {
  throw core::ConfigError(
      "this build has no MPI: install an MPI library (Debian: libmpich-dev), configure again with -DPARAGRAD_MPI=ON, or run "
      "the workers in the simulator");
}

}  // namespace

std::string mpi_description() { return "none"; }

MpiSession::MpiSession(Deaths deaths, const GuardOptions&) : deaths_(deaths), uncaught_exceptions_at_start_(0) { refuse(); }
MpiSession::~MpiSession() = default;
int MpiSession::rank() const { refuse(); }
int MpiSession::size() const { refuse(); }
void MpiSession::set_death(RankGuard::Death) { refuse(); }
void MpiSession::leave(int) { refuse(); }
void MpiSession::abort(int) { refuse(); }

RankGuard::~RankGuard() = default;
void end_waiting_peers(int) {}

struct MpiCommunicator::State {};
MpiCommunicator::MpiCommunicator(backend::Device& device, double) : Communicator(device, 0, 1) { refuse(); }
MpiCommunicator::MpiCommunicator(const MpiCommunicator&, backend::Device& device) : Communicator(device, 0, 1) { refuse(); }
MpiCommunicator::MpiCommunicator(const MpiCommunicator&, backend::Device& device, SameChannel) : Communicator(device, 0, 1) {
  refuse();
}
MpiCommunicator::~MpiCommunicator() = default;
Request MpiCommunicator::start_send(int, int, std::span<const std::byte>) { refuse(); }
Request MpiCommunicator::start_receive(int, int, std::span<std::byte>) { refuse(); }
Received MpiCommunicator::wait(Request) { refuse(); }
std::optional<Received> MpiCommunicator::wait_for(Request, double) { refuse(); }
bool MpiCommunicator::somebody_is_gone() { refuse(); }
void MpiCommunicator::when_expendable(std::function<void(bool)>) { refuse(); }
void MpiCommunicator::end_left_out() { refuse(); }
double MpiCommunicator::now_s() { refuse(); }
void MpiCommunicator::library_routine(Library, Operation, std::span<const float>, std::span<float>) { refuse(); }
std::unique_ptr<Window> MpiCommunicator::open_window(std::size_t, std::size_t) { refuse(); }
int MpiCommunicator::cores() const { refuse(); }
bool MpiCommunicator::allows_threads() const { refuse(); }
void MpiCommunicator::abandon(const std::string&) { refuse(); }

class MpiWorker::Lane {};
MpiWorker::MpiWorker(MpiCommunicator& communicator, MpiSession* session)
    : RealWorker(communicator, false),
      communicator_(communicator),
      channel_(communicator, communicator.device()),
      session_(session) {
  refuse();
}
MpiWorker::~MpiWorker() = default;
MpiCommunicator& MpiWorker::channel() { refuse(); }
void MpiWorker::launch(Task) { refuse(); }
void MpiWorker::join() { refuse(); }
void MpiWorker::serve(Task) { refuse(); }
void MpiWorker::join_service() { refuse(); }
bool MpiWorker::attempt(Task, double, Steps) { refuse(); }
bool MpiWorker::part() { refuse(); }
bool MpiWorker::exchange_farewells(bool) { refuse(); }
void MpiWorker::abandon_tasks() noexcept {}

}  // namespace paragrad::comm

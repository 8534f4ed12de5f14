#pragma once

#include <functional>
#include <string>

namespace paragrad::data {

/// Runs `reading`, which reads the HDF5 file `path`, in a copy of this process, before the caller does the same itself.
///
/// On damaged metadata HDF5 1.10 crashes, or loops without end, wherever these carry no checksum, as in files of h5py and
/// most other tools. A copy of the process fails as the process would, so it is found out there. Exceptions of `reading` are
/// not reported: the caller gets them when it reads.
///
/// Cost: one fork() and the reading itself, about 3 ms for a mapped file; what is not mapped is read twice.
///
/// Throws core::ConfigError where the copy ends by a signal (or a sanitizer's report) or takes more processor time than
/// reading can take.
///
/// Limits: HDF5 must not be at work on another thread. Memory that HDF5 overwrites without a crash goes unnoticed: a file
/// made to attack the program is not harmless. Where no process can be started, there is no rehearsal. A child does not see
/// memory that a network device has pinned, so a rank reads foreign files before it sends large messages.
///
/// timeout_s: processor time that is enough for any file, with a second more for each MB of it, which may be compressed.
void rehearse(const std::string& path, const std::function<void()>& reading, unsigned timeout_s = 2);

}  // namespace paragrad::data

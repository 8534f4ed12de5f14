#pragma once

#include <string>

namespace paragrad::sim {

/// A platform file with every key that there is, each with a value that differs from all others.
inline const std::string platform_with_every_key = R"([cluster]
nodes = 6
devices_per_node = 4
sockets_per_node = 2
nodes_per_leaf = 3
taper = 1.5
spine_bandwidth = "20GBps"
[device]
peak = "4.29TFLOPs"
memory_bandwidth = "288GBps"
gemm_efficiency = 0.6
memory_efficiency = 1
launch = "8us"
memory = "12GB"
price_per_hour = 2.5
[self]
latency = "1us"
bandwidth = "100GBps"
[peer]
latency = "10us"
bandwidth = "6.15GBps"
[node]
latency = "11us"
bandwidth = "5GBps"
shared_bandwidth = "5.5GBps"
[leaf]
latency = "9.3us"
bandwidth = "33.6Gbps"
nics_per_node = 2
[core]
latency = "9.8us"
[message]
send_overhead = "0.1us"
receive_overhead = "0.2us"
gap = "0.3us"
eager = "64kB"
handshake = true
copy_bandwidth = "7GBps"
segment = "2MB"
window = 3
[[size_class]]
from = "0B"
latency_factor = 1.5
[[size_class]]
from = "1kB"
bandwidth_factor = 0.5
[reduction]
segment = "524288B"
in_flight = 8
launches = false
[nccl]
generation = "hopper"
channels = 16
nvlink = true
adds_in_switch = true
network_latency = "5us"
cpu = "amd"
latency_factor = 1.1
bandwidth_factor = 0.9
sharpness = 0.7
network_latency_factor = 1.2
network_bandwidth_factor = 0.8
network_sharpness = 0.6
[program]
step_cost = "2ms"
overlap = 0.4
crowding = 0.02
[[rate]]
model = "zoo:resnet50"
series = "fp16"
samples_per_s = 357
[fit]
rows = 5
reach = "network"
names = ["leaf.bandwidth"]
unmeasured = []
covariance = [[0.04]]
[host]
memory_bandwidth = "30GBps"
staged = true
reduces = true
[storage]
client_bandwidth = "1GBps"
read_bandwidth = "10.7GBps"
write_bandwidth = "6.2GBps"
open = "1ms"
parallel_opens = 16
[noise]
seed = 7
rank_sigma = 0.02
step_sigma = 0.03
[failures]
mtbf = "30d"
repair = "2h"
restart = "90s"
rejoin = "20s"
rejoin_every = "10min"
save = "3s"
save_every = "15min"
seed = 8
[[fault]]
at = "2s"
kind = "worker"
id = 23
factor = 0.25
duration = "5s"
[[fault]]
at = "3s"
kind = "nic"
id = 11
factor = 0
)";

}  // namespace paragrad::sim

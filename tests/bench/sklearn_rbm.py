#!/usr/bin/env python3
"""Samples per second of processor time of scikit-learn's BernoulliRBM: sklearn_rbm.py VISIBLE HIDDEN BATCH."""

import sys
import time

import numpy
from sklearn.neural_network import BernoulliRBM

visible, hidden, batch = map(int, sys.argv[1:4])
data = numpy.clip(numpy.random.default_rng(1).uniform(-1, 1, (20 * batch, visible)), 0, 1).astype(numpy.float32)
best_s = float("inf")
for _ in range(5):
    machine = BernoulliRBM(n_components=hidden, batch_size=batch, learning_rate=0.001, n_iter=1, random_state=1)
    begin_s = time.process_time()
    machine.fit(data)
    best_s = min(best_s, time.process_time() - begin_s)
print(len(data) / best_s)

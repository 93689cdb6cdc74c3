// SPDX-License-Identifier: Apache-2.0
// A measured program for the tests: marks regions of known length, counts samples and updates, and
// sends a training record. Usage: mark_program RANK WORLD_SIZE
#include <chrono>
#include <cstdlib>
#include <thread>

#include "joulescale/monitor/marks/mark_writer.h"

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  if (argc != 3) {
    return 2;
  }
  joulescale::MarkWriter marks = joulescale::MarkWriter::from_environment();
  if (!marks.active()) {
    return 1;
  }
  marks.register_rank(std::atoi(argv[1]), std::atoi(argv[2]), "cpu_rank", "");
  const auto forward = marks.region("forward");
  const auto evaluation = marks.region("evaluation");
  for (int i = 0; i < 2; ++i) {
    {
      const joulescale::ScopedRegion region(marks, forward);
      std::this_thread::sleep_for(300ms);
    }
    marks.add(joulescale::MarkCounter::kSamples, 32);
    marks.add(joulescale::MarkCounter::kUpdates, 1);
  }
  {
    const joulescale::ScopedRegion region(marks, evaluation);
    std::this_thread::sleep_for(200ms);
  }
  marks.set_training(R"({"model": "resnet8", "global_batch_size": 64, "top1_error": 17.5})");
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Looks at every source once: what it can measure here and how often it moves, or why it cannot.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

struct SourceSurvey {
  std::string name;
  bool available = false;
  std::string reason;  // of one that is not: what is missing and what would mend it
  std::vector<Channel> channels;
  std::vector<std::string> notes;
};

struct SurveyLimits {
  /// For opening and watching a source until each counter was seen to move: update periods that
  /// open() could not tell are looked for up to this time.
  Nanoseconds watch = std::chrono::seconds(2);
  /// A source that takes longer is given up.
  Nanoseconds answer = std::chrono::seconds(5);
};

struct Survey {
  std::vector<SourceSurvey> sources;  // in the order of the sensors
  /// Sources that did not answer hold threads of this process, which must not be waited for: end it
  /// with _exit().
  bool left_threads = false;
};

/// Opens all sensors at once, each on a thread of its own, and closes them. Takes at most
/// `limits.answer`. `clock` must live as long as the process.
Survey survey_sources(std::vector<std::unique_ptr<Sensor>> sensors,
                      Clock& clock,
                      const SurveyLimits& limits = {});

}  // namespace joulescale

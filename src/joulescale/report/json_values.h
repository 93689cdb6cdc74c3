// SPDX-License-Identifier: Apache-2.0
// Values of this room as JSON, strict: what is missing or not finite has no key. Private to report
// (it shows the JSON library).
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "joulescale/analysis/statistics.h"
#include "joulescale/base/text.h"

namespace joulescale {

using Json = nlohmann::ordered_json;

inline void put_value(Json& object, const std::string& key, double value) {
  if (std::isfinite(value)) {
    object[key] = value;
  }
}

inline void put_value(Json& object, const std::string& key, const std::string& value) {
  if (!value.empty()) {
    object[key] = to_valid_utf8(value);
  }
}

template <typename T>
void put_value(Json& object, const std::string& key, const std::optional<T>& value) {
  if (value) {
    if constexpr (std::is_same_v<T, double>) {
      put_value(object, key, *value);
    } else {
      object[key] = *value;
    }
  }
}

inline void put_interval(Json& object,
                         const std::string& key,
                         const std::optional<Interval>& interval) {
  if (interval && std::isfinite(interval->low) && std::isfinite(interval->high)) {
    object[key] = Json::array({interval->low, interval->high});
  }
}

inline void put_summary(Json& object, const std::string& key, const Summary& summary) {
  if (!summary.mean || !std::isfinite(*summary.mean)) {
    return;
  }
  Json entry = Json::object();
  put_value(entry, "mean", summary.mean);
  put_value(entry, "sd", summary.sd);
  put_interval(entry, "interval", summary.interval);
  if (summary.count > 0) {
    entry["count"] = summary.count;
  }
  object[key] = std::move(entry);
}

}  // namespace joulescale

// SPDX-License-Identifier: Apache-2.0
// Pseudo-random numbers that are the same on every machine and compiler (the distributions of
// <random> are not): SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
// generators"), seeded by a hash of several words.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace joulescale {

class Random {
 public:
  /// Streams of different words, or of words in another order, are unrelated.
  explicit Random(std::initializer_list<std::uint64_t> words) {
    for (const std::uint64_t word : words) {
      state_ = mix(state_ ^ word) + kIncrement;
    }
  }

  std::uint64_t next() {
    state_ += kIncrement;
    return mix(state_);
  }

  /// Uniform in [0, bound), without bias (Lemire 2019, "Fast random integer generation in an
  /// interval"). bound > 0.
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = high_word() * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = -bound % bound;
      while (static_cast<std::uint32_t>(product) < threshold) {
        product = high_word() * bound;
      }
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  /// Fisher-Yates; fewer than 2^32 items.
  template <typename T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
    }
  }

 private:
  static constexpr std::uint64_t kIncrement = 0x9E3779B97F4A7C15U;

  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  std::uint64_t high_word() { return next() >> 32; }

  std::uint64_t state_ = 0;
};

}  // namespace joulescale

// SPDX-License-Identifier: Apache-2.0
// Physical quantities as types, so that a watt is never added to a joule. Values are doubles in SI
// units; raw integers of a device keep their unit in their name instead (energy_uj, power_mw).
#pragma once

#include <compare>

namespace joulescale {

template <typename Tag>
class Unit {
 public:
  constexpr Unit() = default;
  constexpr explicit Unit(double value) : value_(value) {}
  constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Unit&) const = default;
  constexpr Unit& operator+=(Unit other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Unit& operator-=(Unit other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Unit operator+(Unit a, Unit b) { return Unit(a.value_ + b.value_); }
  friend constexpr Unit operator-(Unit a, Unit b) { return Unit(a.value_ - b.value_); }
  friend constexpr Unit operator-(Unit a) { return Unit(-a.value_); }
  friend constexpr Unit operator*(Unit a, double factor) { return Unit(a.value_ * factor); }
  friend constexpr Unit operator*(double factor, Unit a) { return Unit(a.value_ * factor); }
  friend constexpr Unit operator/(Unit a, double divisor) { return Unit(a.value_ / divisor); }
  friend constexpr double operator/(Unit a, Unit b) { return a.value_ / b.value_; }

 private:
  double value_ = 0.0;
};

using Joules = Unit<struct JoulesTag>;
using Watts = Unit<struct WattsTag>;
using Seconds = Unit<struct SecondsTag>;

constexpr Joules operator*(Watts power, Seconds time) {
  return Joules(power.value() * time.value());
}
constexpr Joules operator*(Seconds time, Watts power) { return power * time; }
constexpr Watts operator/(Joules energy, Seconds time) {
  return Watts(energy.value() / time.value());
}

/// 1 kWh = 3.6e6 J (SI brochure, 9th edition, table 8).
inline constexpr double kJoulesPerKilowattHour = 3.6e6;
constexpr double kilowatt_hours(Joules energy) { return energy.value() / kJoulesPerKilowattHour; }
constexpr double hours(Seconds time) { return time.value() / 3600.0; }

}  // namespace joulescale

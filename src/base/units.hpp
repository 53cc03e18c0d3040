// Units as types, for numbers that people write and read: parsing, printing and checks of a
// dimension use them. They hold one double in SI units and have no cost at run time. Everywhere
// else, structs have plain doubles in SI units (bytes, seconds, FLOP/s), and comments state which
// unit.
//
//   Seconds t = Bytes{1e9} / BytesPerSecond{450e9};
//   Seconds u = Flops{2e12} / FlopsPerSecond{312e12};
//   double share = t / u;
#pragma once

#include <compare>

namespace nereus {

template <class Tag>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity o) { return value += o.value, *this; }
  constexpr Quantity& operator-=(Quantity o) { return value -= o.value, *this; }
  constexpr Quantity& operator*=(double f) { return value *= f, *this; }
  constexpr Quantity& operator/=(double f) { return value /= f, *this; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity{a.value + b.value};
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity{a.value - b.value};
  }
  friend constexpr Quantity operator-(Quantity a) { return Quantity{-a.value}; }
  friend constexpr Quantity operator*(Quantity a, double f) { return Quantity{a.value * f}; }
  friend constexpr Quantity operator*(double f, Quantity a) { return Quantity{a.value * f}; }
  friend constexpr Quantity operator/(Quantity a, double f) { return Quantity{a.value / f}; }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Bytes = Quantity<struct BytesTag>;
using Flops = Quantity<struct FlopsTag>;
using Seconds = Quantity<struct SecondsTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;
using Watts = Quantity<struct WattsTag>;
using Usd = Quantity<struct UsdTag>;
using UsdPerHour = Quantity<struct UsdPerHourTag>;

constexpr Seconds operator/(Bytes b, BytesPerSecond r) { return Seconds{b.value / r.value}; }
constexpr Bytes operator*(BytesPerSecond r, Seconds t) { return Bytes{r.value * t.value}; }
constexpr BytesPerSecond operator/(Bytes b, Seconds t) { return BytesPerSecond{b.value / t.value}; }
constexpr Seconds operator/(Flops f, FlopsPerSecond r) { return Seconds{f.value / r.value}; }
constexpr FlopsPerSecond operator/(Flops f, Seconds t) { return FlopsPerSecond{f.value / t.value}; }
constexpr Usd operator*(UsdPerHour p, Seconds t) { return Usd{p.value * t.value / 3600.0}; }

inline constexpr double kKiB = 1024.0;
inline constexpr double kMiB = 1024.0 * kKiB;
inline constexpr double kGiB = 1024.0 * kMiB;
inline constexpr double kTiB = 1024.0 * kGiB;

}  // namespace nereus

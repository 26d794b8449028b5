// Random rounding: every inexact floating-point operation goes up or down at random instead of to the nearest value, and an
// approximation is off by something within its documented error. How far the results of a few such runs lie apart says how
// sharply a kernel's own arithmetic determines them (Vignes' CESTAC method). Off, it costs nothing: an image for it is
// decoded of its own, whose lane handlers are exchanged here; the few step handlers that round ask `random_rounding()`.
//
// What asks for a direction itself (.rz .rm .rp) keeps it, as does rounding to an integer: algorithms lean on those.
#pragma once
#include <cstdint>

#include "base/narrow_float.h"
#include "base/random.h"
#include "simt/code.h"

namespace ptxlab::simt {

// The source of directions on this thread; null: round to nearest.
base::Random* random_rounding();

// While it lives, this thread's runs draw from `seed`.
class RandomRoundingScope {
 public:
  explicit RandomRoundingScope(uint64_t seed);
  ~RandomRoundingScope();
  RandomRoundingScope(const RandomRoundingScope&) = delete;
  RandomRoundingScope& operator=(const RandomRoundingScope&) = delete;
  // Whether anything was rounded at all: where not, another run would give the same.
  bool inexact() const;

 private:
  base::Random random_;
};

// Exchanges the handlers of a decoded image.
void round_randomly(Image& image);

// An exact value as a float, or as a narrow format's bits: nearest, or one of its two neighbours drawn from `random`.
float rounded_float(double exact, base::Random* random);
uint32_t rounded_narrow(double exact, base::Format format, base::Random* random);
double rounded_sum(double a, double b, base::Random* random);

}  // namespace ptxlab::simt

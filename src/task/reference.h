// All that a task's reference.cc includes. It defines one function,
//
//   void reference(const ptxlab::Case& c, const std::string& output, std::vector<ptxlab::Element>& elements);
//
// which sets value and magnitude of each element of `output` that is asked for (in increasing order of index), in
// double precision or better. The magnitude is the sum of |dr/dt| |t| over the inexact intermediate values t of the
// result r: for a sum the sum of the |terms|, for exp(x) |r| (1 + |x|). An element that is exact has magnitude 0. This
// header holds the program around it: the case comes in on stdin, the elements go out on stdout, both binary. It needs
// the standard library and POSIX alone, for it is compiled wherever ptxlab runs.
#pragma once
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace ptxlab {

// A buffer as it is before the first launch.
class Input {
 public:
  int64_t size() const { return static_cast<int64_t>(elements_); }
  int64_t dim(size_t i) const { return shape_.at(i); }
  // Element i as a double: exact for every type but 64-bit integers beyond 2^53.
  double operator[](int64_t i) const {
    const unsigned char* at = data_ + static_cast<uint64_t>(i) * bytes_;
    if (type_ == "f32") return read<float>(at);
    if (type_ == "bf16") return bits_to_float(static_cast<uint32_t>(read<uint16_t>(at)) << 16);
    if (type_ == "f16") return small_float(read<uint16_t>(at), 5, 10, true);
    if (type_ == "f64") return read<double>(at);
    if (type_ == "e4m3") return *at == 0x7f || *at == 0xff ? std::nan("") : small_float(*at, 4, 3, false);
    if (type_ == "e5m2") return small_float(*at, 5, 2, true);
    return type_[0] == 's' ? static_cast<double>(integer(i)) : static_cast<double>(static_cast<uint64_t>(integer(i)));
  }
  // Element i of an integer buffer; unsigned 64-bit values as their bits.
  int64_t integer(int64_t i) const {
    const unsigned char* at = data_ + static_cast<uint64_t>(i) * bytes_;
    const bool negative = type_[0] == 's';
    if (bytes_ == 1) return negative ? read<int8_t>(at) : read<uint8_t>(at);
    if (bytes_ == 2) return negative ? read<int16_t>(at) : read<uint16_t>(at);
    if (bytes_ == 4) return negative ? read<int32_t>(at) : int64_t{read<uint32_t>(at)};
    return read<int64_t>(at);
  }

 private:
  friend struct Program;
  template <class T>
  static T read(const unsigned char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  static double bits_to_float(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  static double small_float(uint32_t bits, int exponent_bits, int fraction_bits, bool ieee) {
    const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
    const bool negative = bits >> (exponent_bits + fraction_bits) & 1;
    const int exponent = static_cast<int>(bits >> fraction_bits) & top;
    const int fraction = static_cast<int>(bits) & ((1 << fraction_bits) - 1);
    double value;
    if (ieee && exponent == top) {
      value = fraction ? std::nan("") : std::numeric_limits<double>::infinity();
    } else if (exponent == 0) {
      value = std::ldexp(fraction, 1 - bias - fraction_bits);
    } else {
      value = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    }
    return negative ? -value : value;
  }

  std::string type_;
  uint64_t bytes_ = 0, elements_ = 0;
  std::vector<int64_t> shape_;
  const unsigned char* data_ = nullptr;
  std::vector<unsigned char> held_;
};

struct Case {
  const Input& input(const std::string& name) const { return inputs.at(name); }
  int64_t size(const std::string& name) const { return sizes.at(name); }  // of the task's params
  double scalar(const std::string& name) const {
    return scalars.at(name);
  }  // of its scalar arguments, as rounded to their type

  std::map<std::string, Input> inputs;
  std::map<std::string, int64_t> sizes;
  std::map<std::string, double> scalars;
};

struct Element {
  uint64_t index = 0;
  double value = 0;
  double magnitude = 0;
  int64_t integer = 0;  // the value, where the output is of an integer type
};

}  // namespace ptxlab

void reference(const ptxlab::Case& c, const std::string& output, std::vector<ptxlab::Element>& elements);

namespace ptxlab {

// The program around reference(): reads the case, calls, writes the elements.
struct Program {
  static void get(void* to, size_t bytes) {
    if (bytes && std::fread(to, 1, bytes, stdin) != bytes) {
      std::fputs("reference: the case ends early\n", stderr);
      std::exit(3);
    }
  }
  // Where stdin is a file the inputs stay in it: of gigabytes a sample of elements needs little.
  static const unsigned char* in_place(uint64_t bytes) {
    struct stat file;
    const long at = std::ftell(stdin);
    if (at < 0 || fstat(0, &file) != 0 || !S_ISREG(file.st_mode)) return nullptr;
    if (bytes > static_cast<uint64_t>(file.st_size) - static_cast<uint64_t>(at)) return nullptr;  // get() says so
    static void* const whole = mmap(nullptr, static_cast<size_t>(file.st_size), PROT_READ, MAP_PRIVATE, 0, 0);
    if (whole == MAP_FAILED || std::fseek(stdin, static_cast<long>(bytes), SEEK_CUR) != 0) return nullptr;
    return static_cast<const unsigned char*>(whole) + at;
  }
  static uint64_t number() {
    uint64_t value;
    get(&value, 8);
    return value;
  }
  static double real() {
    double value;
    get(&value, 8);
    return value;
  }
  static std::string text() {
    std::string value(number(), ' ');
    get(value.data(), value.size());
    return value;
  }
  static void read(Case& c, std::string& output, std::vector<Element>& elements) {
    for (uint64_t n = number(); n > 0; --n) {
      const std::string name = text();
      c.sizes[name] = static_cast<int64_t>(number());
    }
    for (uint64_t n = number(); n > 0; --n) {
      const std::string name = text();
      c.scalars[name] = real();
    }
    for (uint64_t n = number(); n > 0; --n) {
      Input& input = c.inputs[text()];
      input.type_ = text();
      input.bytes_ = number();
      input.shape_.resize(number());
      for (int64_t& dim : input.shape_) dim = static_cast<int64_t>(number());
      const uint64_t size = number();
      input.elements_ = size / input.bytes_;
      input.data_ = in_place(size);
      if (input.data_) continue;
      input.held_.resize(size);
      get(input.held_.data(), size);
      input.data_ = input.held_.data();
    }
    output = text();
    const uint64_t all = number();  // 0 and the number of elements, or 1, their number and the indices
    elements.resize(number());
    for (uint64_t i = 0; i < elements.size(); ++i) elements[i].index = all ? number() : i;
  }
  static int run() {
    Case c;
    std::string output;
    std::vector<Element> elements;
    read(c, output, elements);
    try {
      reference(c, output, elements);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "reference: %s\n", error.what());
      return 4;
    }
    for (const Element& element : elements) {
      std::fwrite(&element.value, 8, 1, stdout);
      std::fwrite(&element.magnitude, 8, 1, stdout);
      std::fwrite(&element.integer, 8, 1, stdout);
    }
    return std::fflush(stdout) == 0 ? 0 : 5;
  }
};

}  // namespace ptxlab

int main() { return ptxlab::Program::run(); }

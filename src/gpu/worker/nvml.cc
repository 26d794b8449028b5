#include "gpu/worker/nvml.h"

#include <dlfcn.h>

#include <array>

namespace ptxlab::gpu {
namespace {

constexpr unsigned kClockSm = 1, kClockMemory = 2;      // nvmlClockType_t
constexpr unsigned kTemperatureGpu = 0;                 // nvmlTemperatureSensors_t
constexpr unsigned kUncorrected = 1, kSinceDriver = 0;  // nvmlMemoryErrorType_t, nvmlEccCounterType_t

template <class T, class... Arguments>
std::optional<T> ask(int (*function)(Arguments...), auto... arguments) {
  T value{};
  if (!function || function(arguments..., &value) != 0) return std::nullopt;
  return value;
}

}  // namespace

bool Nvml::open(const std::string& bus) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  auto find = [&]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  };
  Status (*init)() = nullptr;
  Status (*by_bus)(const char*, Device*) = nullptr;
  find(init, "nvmlInit_v2");
  find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
  if (!init || !by_bus || init() != 0) return false;
  find(version_, "nvmlSystemGetDriverVersion");
  if (by_bus(bus.c_str(), &device_) != 0) return false;
  find(clock_, "nvmlDeviceGetClockInfo");
  find(temperature_, "nvmlDeviceGetTemperature");
  find(power_, "nvmlDeviceGetPowerUsage");
  find(reasons_, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(ecc_, "nvmlDeviceGetTotalEccErrors");
  find(mig_, "nvmlDeviceGetMigMode");
  return true;
}

Sensors Nvml::sensors() const {
  Sensors sensors;
  if (!device_) return sensors;
  sensors.sm_mhz = ask<unsigned>(clock_, device_, kClockSm);
  sensors.memory_mhz = ask<unsigned>(clock_, device_, kClockMemory);
  sensors.celsius = ask<unsigned>(temperature_, device_, kTemperatureGpu);
  if (auto milliwatts = ask<unsigned>(power_, device_)) sensors.watts = *milliwatts / 1000;
  if (auto reasons = ask<unsigned long long>(reasons_, device_)) sensors.throttle = *reasons;
  if (auto errors = ask<unsigned long long>(ecc_, device_, kUncorrected, kSinceDriver)) sensors.ecc_errors = *errors;
  return sensors;
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  if (!version_ || version_(text.data(), static_cast<unsigned>(text.size()) - 1) != 0) return "";
  return text.data();
}

bool Nvml::sliced() const {
  unsigned current = 0, pending = 0;
  return device_ && mig_ && mig_(device_, &current, &pending) == 0 && current != 0;
}

}  // namespace ptxlab::gpu

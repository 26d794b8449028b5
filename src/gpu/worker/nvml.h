// The driver's management library, opened at run time: clocks, temperature, power, and why clocks are held down. A machine
// without it has no sensors, and nothing is made up in their place.
#pragma once
#include <string>
#include <vector>

#include "gpu/contest.h"

namespace ptxlab::gpu {

class Nvml {
 public:
  // `bus`: the device's PCI address as the CUDA driver prints it. False: there are no sensors.
  bool open(const std::string& bus);
  Sensors sensors() const;
  std::string driver_version() const;  // empty: not readable
  bool sliced() const;                 // a MIG slice: its neighbours share the chip's clocks and memory

 private:
  using Device = void*;
  using Status = int;
  Status (*clock_)(Device, unsigned, unsigned*) = nullptr;
  Status (*temperature_)(Device, unsigned, unsigned*) = nullptr;
  Status (*power_)(Device, unsigned*) = nullptr;
  Status (*reasons_)(Device, unsigned long long*) = nullptr;
  Status (*ecc_)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  Status (*mig_)(Device, unsigned*, unsigned*) = nullptr;
  Status (*version_)(char*, unsigned) = nullptr;
  Device device_ = nullptr;
};

}  // namespace ptxlab::gpu

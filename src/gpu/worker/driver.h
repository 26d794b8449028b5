// The driver's library, opened at run time: the worker runs on any Linux with a driver, and says so where there is none. The
// few types and constants of the driver API that it needs are declared here (CUDA driver API reference; the ABI is stable).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "gpu/worker/device.h"

namespace ptxlab::gpu {

using Handle = void*;  // contexts, modules, functions, streams, events
using Status = int;    // CUresult

struct LaunchAttribute {  // CUlaunchAttribute: an id, padding to 8 bytes, a union of 64
  static constexpr unsigned kCooperative = 2, kClusterDimension = 4;
  unsigned id = 0;
  char padding[4] = {};
  union {
    char bytes[64];
    int cooperative;
    unsigned cluster[3];
  } value = {};
};

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid[3], block[3], shared_bytes;
  Handle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

enum DeviceAttribute : int {  // CUdevice_attribute
  kAttributeSms = 16,
  kAttributeComputeMode = 20,
  kAttributeEcc = 32,
  kAttributeL2Bytes = 38,
  kAttributeMajor = 75,
  kAttributeMinor = 76,
  kAttributeSharedMost = 97,  // bytes a CTA may ask for
};

// The functions by their versioned names.
struct Driver {
  Handle library = nullptr;
  Status (*init)(unsigned) = nullptr;
  Status (*driver_version)(int*) = nullptr;
  Status (*error_name)(Status, const char**) = nullptr;
  Status (*error_string)(Status, const char**) = nullptr;
  Status (*device_get)(int*, int) = nullptr;
  Status (*device_name)(char*, int, int) = nullptr;
  Status (*device_memory)(size_t*, int) = nullptr;
  Status (*device_attribute)(int*, int, int) = nullptr;
  Status (*device_bus)(char*, int, int) = nullptr;
  Status (*context_retain)(Handle*, int) = nullptr;
  Status (*context_current)(Handle) = nullptr;
  Status (*reset_persisting)() = nullptr;
  Status (*memory_info)(size_t*, size_t*) = nullptr;
  Status (*module_load)(Handle*, const void*, unsigned, int*, void**) = nullptr;
  Status (*module_unload)(Handle) = nullptr;
  Status (*module_function)(Handle*, Handle, const char*) = nullptr;
  Status (*module_variable)(Address*, size_t*, Handle, const char*) = nullptr;
  Status (*function_attribute)(Handle, int, int) = nullptr;
  Status (*allocate)(Address*, size_t) = nullptr;
  Status (*release)(Address) = nullptr;
  Status (*host_allocate)(void**, size_t, unsigned) = nullptr;
  Status (*host_address)(Address*, void*, unsigned) = nullptr;
  Status (*fill)(Address, unsigned char, size_t, Handle) = nullptr;
  Status (*copy)(Address, Address, size_t, Handle) = nullptr;
  Status (*write)(Address, const void*, size_t) = nullptr;
  Status (*read)(void*, Address, size_t) = nullptr;
  Status (*launch)(const LaunchConfig*, Handle, void**, void**) = nullptr;
  Status (*synchronise)() = nullptr;
  Status (*event_create)(Handle*, unsigned) = nullptr;
  Status (*event_record)(Handle, Handle) = nullptr;
  Status (*event_elapsed)(float*, Handle, Handle) = nullptr;

  // Null in older drivers.
  Status (*encode_tiled)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*,
                         const uint32_t*, int, int, int, int) = nullptr;
  Status (*function_fact)(int*, int, Handle) = nullptr;
  Status (*resident_ctas)(int*, Handle, int, size_t) = nullptr;
  Status (*resident_clusters)(int*, Handle, const LaunchConfig*) = nullptr;

  Trouble open();                     // nothing, or what is missing
  Trouble said(Status status) const;  // "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
};

}  // namespace ptxlab::gpu

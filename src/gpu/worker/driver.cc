#include "gpu/worker/driver.h"

#include <dlfcn.h>

namespace ptxlab::gpu {

Trouble Driver::open() {
  library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "no NVIDIA driver on this machine (libcuda.so.1 is not there)";
  std::string missing;
  auto find = [&]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function && missing.empty()) missing = name;
  };
  find(init, "cuInit");
  find(driver_version, "cuDriverGetVersion");
  find(error_name, "cuGetErrorName");
  find(error_string, "cuGetErrorString");
  find(device_get, "cuDeviceGet");
  find(device_name, "cuDeviceGetName");
  find(device_memory, "cuDeviceTotalMem_v2");
  find(device_attribute, "cuDeviceGetAttribute");
  find(device_bus, "cuDeviceGetPCIBusId");
  find(context_retain, "cuDevicePrimaryCtxRetain");
  find(context_current, "cuCtxSetCurrent");
  find(reset_persisting, "cuCtxResetPersistingL2Cache");
  find(memory_info, "cuMemGetInfo_v2");
  find(module_load, "cuModuleLoadDataEx");
  find(module_unload, "cuModuleUnload");
  find(module_function, "cuModuleGetFunction");
  find(module_variable, "cuModuleGetGlobal_v2");
  find(function_attribute, "cuFuncSetAttribute");
  find(allocate, "cuMemAlloc_v2");
  find(release, "cuMemFree_v2");
  find(host_allocate, "cuMemHostAlloc");
  find(host_address, "cuMemHostGetDevicePointer_v2");
  find(fill, "cuMemsetD8Async");
  find(copy, "cuMemcpyDtoDAsync_v2");
  find(write, "cuMemcpyHtoD_v2");
  find(read, "cuMemcpyDtoH_v2");
  find(launch, "cuLaunchKernelEx");
  find(synchronise, "cuCtxSynchronize");
  find(event_create, "cuEventCreate");
  find(event_record, "cuEventRecord");
  find(event_elapsed, "cuEventElapsedTime");
  const std::string needed = missing;
  find(encode_tiled, "cuTensorMapEncodeTiled");
  find(function_fact, "cuFuncGetAttribute");
  find(resident_ctas, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  find(resident_clusters, "cuOccupancyMaxActiveClusters");
  missing = needed;
  if (!missing.empty()) return "the driver is too old: its library lacks " + missing;
  return std::nullopt;
}

Trouble Driver::said(Status status) const {
  if (status == 0) return std::nullopt;
  const char *name = nullptr, *text = nullptr;
  error_name(status, &name);
  error_string(status, &text);
  return std::string(name ? name : "CUDA error " + std::to_string(status)) + (text ? std::string(": ") + text : "");
}

}  // namespace ptxlab::gpu

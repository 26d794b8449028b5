// The driver's library, opened at run time: the worker runs on any Linux with a driver, and says so where there is none. The
// few types and constants of the driver API that it needs are declared here (CUDA driver API reference; the ABI is stable).
#include <dlfcn.h>

#include <array>
#include <string>

#include "gpu/worker/device.h"

namespace ptxlab::gpu {
namespace {

using Handle = void*;  // contexts, modules, functions, streams, events
using Status = int;    // CUresult

constexpr Status kSuccess = 0;
constexpr int kAttributeMajor = 75, kAttributeMinor = 76;                // CUdevice_attribute
constexpr int kMaxDynamicShared = 8, kNonPortableCluster = 14;           // CUfunction_attribute
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;                   // CUjit_option
constexpr unsigned kLaunchCooperative = 2, kLaunchClusterDimension = 4;  // CUlaunchAttributeID

struct LaunchAttribute {  // CUlaunchAttribute: an id, padding to 8 bytes, a union of 64
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
  Status (*context_retain)(Handle*, int) = nullptr;
  Status (*context_current)(Handle) = nullptr;
  Status (*module_load)(Handle*, const void*, unsigned, int*, void**) = nullptr;
  Status (*module_unload)(Handle) = nullptr;
  Status (*module_function)(Handle*, Handle, const char*) = nullptr;
  Status (*module_variable)(Address*, size_t*, Handle, const char*) = nullptr;
  Status (*function_attribute)(Handle, int, int) = nullptr;
  Status (*allocate)(Address*, size_t) = nullptr;
  Status (*release)(Address) = nullptr;
  Status (*fill)(Address, unsigned char, size_t) = nullptr;
  Status (*write)(Address, const void*, size_t) = nullptr;
  Status (*read)(void*, Address, size_t) = nullptr;
  Status (*launch)(const LaunchConfig*, Handle, void**, void**) = nullptr;
  Status (*synchronise)() = nullptr;
  Status (*event_create)(Handle*, unsigned) = nullptr;
  Status (*event_record)(Handle, Handle) = nullptr;
  Status (*event_elapsed)(float*, Handle, Handle) = nullptr;

  // Nothing, or what is missing.
  Trouble open() {
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
    find(context_retain, "cuDevicePrimaryCtxRetain");
    find(context_current, "cuCtxSetCurrent");
    find(module_load, "cuModuleLoadDataEx");
    find(module_unload, "cuModuleUnload");
    find(module_function, "cuModuleGetFunction");
    find(module_variable, "cuModuleGetGlobal_v2");
    find(function_attribute, "cuFuncSetAttribute");
    find(allocate, "cuMemAlloc_v2");
    find(release, "cuMemFree_v2");
    find(fill, "cuMemsetD8_v2");
    find(write, "cuMemcpyHtoD_v2");
    find(read, "cuMemcpyDtoH_v2");
    find(launch, "cuLaunchKernelEx");
    find(synchronise, "cuCtxSynchronize");
    find(event_create, "cuEventCreate");
    find(event_record, "cuEventRecord");
    find(event_elapsed, "cuEventElapsedTime");
    if (!missing.empty()) return "the driver is too old: its library lacks " + missing;
    return std::nullopt;
  }

  Trouble said(Status status) const {
    if (status == kSuccess) return std::nullopt;
    const char *name = nullptr, *text = nullptr;
    error_name(status, &name);
    error_string(status, &text);
    return std::string(name ? name : "CUDA error " + std::to_string(status)) + (text ? std::string(": ") + text : "");
  }
};

class CudaDevice : public Device {
 public:
  Trouble open() {
    if (auto why = driver_.open()) return why;
    if (auto why = driver_.said(driver_.init(0))) return why;
    if (auto why = driver_.said(driver_.device_get(&device_, 0))) return why;
    Handle context = nullptr;
    if (auto why = driver_.said(driver_.context_retain(&context, device_))) return why;
    if (auto why = driver_.said(driver_.context_current(context))) return why;
    if (auto why = driver_.said(driver_.event_create(&begin_, 0))) return why;
    return driver_.said(driver_.event_create(&end_, 0));
  }

  Hello hello() const override {
    Hello hello;
    std::array<char, 256> name{};
    int major = 0, minor = 0, version = 0;
    size_t memory = 0;
    driver_.device_name(name.data(), static_cast<int>(name.size()) - 1, device_);
    driver_.device_attribute(&major, kAttributeMajor, device_);
    driver_.device_attribute(&minor, kAttributeMinor, device_);
    driver_.driver_version(&version);
    driver_.device_memory(&memory, device_);
    hello.device = name.data();
    hello.sm = static_cast<uint32_t>(major * 10 + minor);
    hello.driver = static_cast<uint32_t>(version);
    hello.memory = memory;
    return hello;
  }

  Trouble load(std::string_view code) override {
    if (module_) driver_.module_unload(module_);
    module_ = nullptr;
    std::string text(code);  // the loader wants PTX to end with 0
    std::string log(1 << 14, '\0');
    int options[] = {kJitErrorLog, kJitErrorLogBytes};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    auto why = driver_.said(driver_.module_load(&module_, text.c_str(), 2, options, values));
    if (!why) return why;
    log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
    return *why + (log.empty() ? "" : "\n" + log);
  }

  Trouble variable(const std::string& name, Address& at, uint64_t& bytes) override {
    size_t size = 0;
    auto why = driver_.said(driver_.module_variable(&at, &size, module_, name.c_str()));
    bytes = size;
    return why;
  }
  Trouble allocate(uint64_t bytes, Address& at) override { return driver_.said(driver_.allocate(&at, bytes)); }
  void release(Address at) override { driver_.release(at); }
  Trouble fill(Address at, uint8_t value, uint64_t bytes) override {
    return driver_.said(driver_.fill(at, value, bytes));
  }
  Trouble write(Address at, std::string_view bytes) override {
    return driver_.said(driver_.write(at, bytes.data(), bytes.size()));
  }
  Trouble read(Address at, std::span<char> into) override {
    return driver_.said(driver_.read(into.data(), at, into.size()));
  }

  Trouble launch(const launch::ResolvedLaunch& launch, std::span<const uint8_t> parameters) override {
    Handle function = nullptr;
    if (auto why = driver_.said(driver_.module_function(&function, module_, launch.entry.c_str()))) return why;
    if (launch.shared_bytes > 48 << 10) {
      auto why =
          driver_.said(driver_.function_attribute(function, kMaxDynamicShared, static_cast<int>(launch.shared_bytes)));
      if (why) return why;
    }
    std::array<LaunchAttribute, 2> attributes;
    LaunchConfig config{};
    config.attributes = attributes.data();
    for (int i = 0; i < 3; ++i) {
      config.grid[i] = launch.grid[static_cast<size_t>(i)];
      config.block[i] = launch.block[static_cast<size_t>(i)];
    }
    config.shared_bytes = launch.shared_bytes;
    uint64_t cluster = uint64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
    if (cluster > 1) {
      if (cluster > 8) driver_.function_attribute(function, kNonPortableCluster, 1);
      auto& one = attributes[config.attribute_count++];
      one.id = kLaunchClusterDimension;
      for (size_t i = 0; i < 3; ++i) one.value.cluster[i] = launch.cluster[i];
    }
    if (launch.cooperative) {
      auto& one = attributes[config.attribute_count++];
      one.id = kLaunchCooperative;
      one.value.cooperative = 1;
    }
    // CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END: the parameters as one block of bytes.
    size_t bytes = parameters.size();
    void* extra[] = {reinterpret_cast<void*>(1), const_cast<uint8_t*>(parameters.data()), reinterpret_cast<void*>(2),
                     &bytes, nullptr};
    return driver_.said(driver_.launch(&config, function, nullptr, bytes ? extra : nullptr));
  }

  Trouble wait() override { return driver_.said(driver_.synchronise()); }
  void begin_clock() override { driver_.event_record(begin_, nullptr); }
  void end_clock() override { driver_.event_record(end_, nullptr); }
  double milliseconds() override {
    float time = 0;
    driver_.event_elapsed(&time, begin_, end_);
    return time;
  }

 private:
  Driver driver_;
  int device_ = 0;
  Handle module_ = nullptr, begin_ = nullptr, end_ = nullptr;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(std::string& why) {
  auto device = std::make_unique<CudaDevice>();
  if (auto trouble = device->open()) {
    why = *trouble;
    return nullptr;
  }
  return device;
}

}  // namespace ptxlab::gpu

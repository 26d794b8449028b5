// The device behind the driver. Everything is queued in the default stream, which keeps the order.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>

#include "gpu/worker/device.h"
#include "gpu/worker/driver.h"
#include "gpu/worker/kernels.h"
#include "gpu/worker/nvml.h"

namespace ptxlab::gpu {
namespace {

constexpr int kThreadsMost = 0, kStaticShared = 1, kMaxDynamicShared = 8,
              kNonPortableCluster = 14;                 // CUfunction_attribute
constexpr uint64_t kPortableCluster = 8;                // CTAs; beyond it a function must be allowed to
constexpr uint32_t kUsualShared = 48 << 10;             // bytes that a CTA may have without being asked for
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;  // CUjit_option
constexpr unsigned kHostMapped = 2;                     // CU_MEMHOSTALLOC_DEVICEMAP
// A host that needs longer to queue its launches is too busy to measure anything.
constexpr uint64_t kHoldNanoseconds = 500'000'000;
constexpr unsigned kDigestThreads = 256;
constexpr size_t kSumBytes = sizeof(Projection::sums) + sizeof(Projection::unusual);

// What host and GPU both see: the host's word that ends a hold, and what the clock kernels put down.
struct Mailbox {
  volatile uint32_t ticket;
  char padding[60];
  struct Reading {
    volatile uint64_t cycles, nanoseconds, sm, late;
  } readings[2];
};

// Parameters laid out as the entries of kernels.ptx declare them.
class Parameters {
 public:
  template <class T>
  Parameters& add(T value) {
    bytes_.resize((bytes_.size() + sizeof value - 1) / sizeof value * sizeof value);
    const auto* begin = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof value);
    return *this;
  }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
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
    for (Handle& event : events_) {
      if (auto why = driver_.said(driver_.event_create(&event, 0))) return why;
    }
    std::array<char, 64> bus{};
    driver_.device_bus(bus.data(), static_cast<int>(bus.size()) - 1, device_);
    sensors_ = nvml_.open(bus.data());
    return std::nullopt;
  }

  Hello hello() const override {
    Hello hello;
    std::array<char, 256> name{};
    int version = 0;
    size_t memory = 0;
    driver_.device_name(name.data(), static_cast<int>(name.size()) - 1, device_);
    driver_.driver_version(&version);
    driver_.device_memory(&memory, device_);
    hello.device = name.data();
    hello.sm = static_cast<uint32_t>(attribute(kAttributeMajor) * 10 + attribute(kAttributeMinor));
    hello.driver = static_cast<uint32_t>(version);
    hello.memory = memory;
    hello.sms = static_cast<uint32_t>(attribute(kAttributeSms));
    hello.l2_bytes = l2_bytes();
    hello.driver_version = nvml_.driver_version();
    if (!sensors_) hello.warnings.emplace_back("no sensors (libnvidia-ml.so.1): throttling cannot be seen");
    if (nvml_.sliced()) hello.warnings.emplace_back("a MIG slice: its neighbours share clocks and memory");
    if (auto now = nvml_.sensors(); now.ecc_errors.value_or(0) > 0)
      hello.warnings.push_back(std::to_string(*now.ecc_errors) + " uncorrected memory errors since the driver's start");
    return hello;
  }

  Trouble load(Arm slot, std::string_view code) override {
    auto& module = modules_.at(static_cast<size_t>(slot));
    if (module.handle) driver_.module_unload(module.handle);
    module = {};
    return load(module, code);
  }

  Trouble variable(Arm slot, const std::string& name, Address& at, uint64_t& bytes) override {
    size_t size = 0;
    auto& module = modules_.at(static_cast<size_t>(slot));
    auto why = driver_.said(driver_.module_variable(&at, &size, module.handle, name.c_str()));
    bytes = size;
    return why;
  }

  Trouble allocate(uint64_t bytes, Address& at) override { return driver_.said(driver_.allocate(&at, bytes)); }
  void release(Address at) override { driver_.release(at); }
  uint64_t free_memory() const override {
    size_t free = 0, all = 0;
    driver_.memory_info(&free, &all);
    return free;
  }
  Trouble fill(Address at, uint8_t value, uint64_t bytes) override {
    return driver_.said(driver_.fill(at, value, bytes, nullptr));
  }
  Trouble copy(Address to, Address from, uint64_t bytes) override {
    return driver_.said(driver_.copy(to, from, bytes, nullptr));
  }
  Trouble write(Address at, std::string_view bytes) override {
    return driver_.said(driver_.write(at, bytes.data(), bytes.size()));
  }
  Trouble read(Address at, std::span<char> into) override {
    return driver_.said(driver_.read(into.data(), at, into.size()));
  }
  Trouble launch(Arm slot, const launch::ResolvedLaunch& launch, std::span<const uint8_t> parameters) override {
    return this->launch(modules_.at(static_cast<size_t>(slot)), launch, parameters);
  }
  LaunchLimits limits(Arm slot, const launch::ResolvedLaunch& launch) override {
    LaunchLimits most;
    most.shared = static_cast<uint64_t>(attribute(kAttributeSharedMost));
    Module::Function* function = nullptr;
    if (find(modules_.at(static_cast<size_t>(slot)), launch.entry, function)) return most;
    most.shared_static = static_cast<uint64_t>(fact(*function, kStaticShared));
    most.threads = static_cast<uint32_t>(fact(*function, kThreadsMost));
    int count = 0;
    const auto threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
    if (driver_.resident_ctas && driver_.resident_ctas(&count, function->handle, threads, launch.shared_bytes) == 0)
      most.resident = static_cast<uint64_t>(count) * static_cast<uint64_t>(attribute(kAttributeSms));
    const Config asked(launch);
    if (driver_.resident_clusters && ctas_of_cluster(launch) > 1 &&
        driver_.resident_clusters(&count, function->handle, &asked.config) == 0)
      most.clusters = static_cast<uint64_t>(count);
    return most;
  }
  Trouble encode(const launch::ResolvedTensorMap& map, Address at, TensorMapBytes& into) override {
    using Map = launch::ResolvedTensorMap;
    if (!driver_.encode_tiled)
      return "this driver is too old for tensor maps: its library lacks cuTensorMapEncodeTiled (CUDA 12.0)";
    if (attribute(kAttributeMajor) < 9)
      return "this GPU has no tensor maps: they came with sm_90, it is sm_" +
             std::to_string(attribute(kAttributeMajor) * 10 + attribute(kAttributeMinor));
    alignas(Map::kAlignment) TensorMapBytes bytes{};
    std::array<uint64_t, Map::kMaxRank> strides{};  // with one dimension there is none, and yet a place is wanted
    std::copy(map.strides.begin(), map.strides.end(), strides.begin());
    auto why = driver_.said(driver_.encode_tiled(
        bytes.data(), static_cast<int>(map.type), static_cast<uint32_t>(map.dims.size()), reinterpret_cast<void*>(at),
        map.dims.data(), strides.data(), map.box.data(), map.element_strides.data(), static_cast<int>(map.interleave),
        static_cast<int>(map.swizzle), static_cast<int>(map.promotion), static_cast<int>(map.outside)));
    into = bytes;
    return why;
  }
  Trouble wait() override { return driver_.said(driver_.synchronise()); }

  Trouble mark(Mark mark) override {
    return driver_.said(driver_.event_record(events_.at(static_cast<size_t>(mark)), nullptr));
  }
  double microseconds() override {
    float milliseconds = 0;
    driver_.event_elapsed(&milliseconds, events_[0], events_[1]);
    return milliseconds * 1000.0;
  }

  Trouble hold() override {
    if (auto why = prepare()) return why;
    ++ticket_;
    return launch_own("ptxlab_hold", 1, 1,
                      Parameters().add(seen_).add(ticket_).add(kHoldNanoseconds).add(reading(0)).bytes());
  }
  void go() override { mailbox_->ticket = ticket_; }
  Trouble read_clock() override {
    if (auto why = prepare()) return why;
    return launch_own("ptxlab_clock", 1, 1, Parameters().add(reading(1)).bytes());
  }
  std::optional<std::array<ClockReading, 2>> readings() override {
    if (!mailbox_ || mailbox_->readings[0].late) return std::nullopt;
    std::array<ClockReading, 2> readings;
    for (size_t i = 0; i < 2; ++i) {
      const auto& put = mailbox_->readings[i];
      readings.at(i) = {put.cycles, put.nanoseconds, put.sm};
    }
    return readings;
  }

  Trouble begin_digest() override {
    if (auto why = prepare()) return why;
    return fill(sum_, 0, sizeof(uint64_t));
  }
  Trouble add_digest(Address at, uint64_t bytes, uint64_t first, uint64_t key) override {
    return launch_own("ptxlab_digest", ctas_for(bytes / 8 + 1), kDigestThreads,
                      Parameters().add(at).add(bytes).add(first).add(key).add(sum_).bytes());
  }
  Trouble add_unlike(Address at, uint64_t words, uint8_t value) override {
    return launch_own("ptxlab_unlike", ctas_for(words), kDigestThreads,
                      Parameters().add(at).add(words).add(0x0101010101010101u * value).add(sum_).bytes());
  }
  Trouble end_digest(uint64_t& sum) override { return read(sum_, {reinterpret_cast<char*>(&sum), sizeof sum}); }

  Trouble project(Address at, uint64_t count, Element type, uint64_t key, Projection& into) override {
    if (auto why = prepare()) return why;
    if (auto why = fill(sum_, 0, kSumBytes)) return why;
    launch::ResolvedLaunch one;
    one.entry = "ptxlab_project";
    one.grid = {ctas_for(count), static_cast<uint32_t>(Projection::kSums), 1};
    one.block = {kDigestThreads, 1, 1};
    auto parameters = Parameters().add(at).add(count).add(static_cast<uint32_t>(type)).add(key).add(sum_);
    if (auto why = launch(own_, one, parameters.bytes())) return why;
    std::array<char, kSumBytes> bytes{};
    if (auto why = read(sum_, bytes)) return why;
    std::memcpy(into.sums.data(), bytes.data(), sizeof into.sums);
    std::memcpy(&into.unusual, bytes.data() + sizeof into.sums, sizeof into.unusual);
    return std::nullopt;
  }

  uint64_t l2_bytes() const override { return static_cast<uint64_t>(attribute(kAttributeL2Bytes)); }
  Trouble forget_persisting() override { return driver_.said(driver_.reset_persisting()); }
  Sensors sensors() override { return nvml_.sensors(); }

 private:
  struct Module {
    Handle handle = nullptr;
    struct Function {
      Handle handle = nullptr;
      uint32_t shared = 0;  // dynamic shared memory that it may have by now
    };
    std::map<std::string, Function, std::less<>> functions;
  };

  int attribute(DeviceAttribute which) const {
    int value = 0;
    driver_.device_attribute(&value, which, device_);
    return value;
  }
  // A few CTAs an SM; each thread takes elements at that distance.
  uint32_t ctas_for(uint64_t elements) const {
    auto most = static_cast<uint64_t>(std::max(1, attribute(kAttributeSms))) * 8;
    return static_cast<uint32_t>(std::min(most, elements / kDigestThreads + 1));
  }
  Address reading(size_t i) const { return seen_ + offsetof(Mailbox, readings) + i * sizeof(Mailbox::Reading); }

  Trouble load(Module& module, std::string_view code) {
    std::string text(code);  // the loader wants PTX to end with 0
    std::string log(1 << 14, '\0');
    int options[] = {kJitErrorLog, kJitErrorLogBytes};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    auto why = driver_.said(driver_.module_load(&module.handle, text.c_str(), 2, options, values));
    if (!why) return why;
    log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
    return *why + (log.empty() ? "" : "\n" + log);
  }

  Trouble find(Module& module, const std::string& entry, Module::Function*& function) {
    auto [at, isnew] = module.functions.try_emplace(entry);
    function = &at->second;
    if (!isnew) return std::nullopt;
    auto why = driver_.said(driver_.module_function(&function->handle, module.handle, entry.c_str()));
    if (why) {
      module.functions.erase(at);
      return why;
    }
    const auto taken = static_cast<uint32_t>(fact(*function, kStaticShared));
    function->shared = kUsualShared - std::min(taken, kUsualShared);
    return std::nullopt;
  }
  int fact(const Module::Function& function, int which) const {
    int value = 0;
    if (!driver_.function_fact || driver_.function_fact(&value, which, function.handle) != 0) return 0;
    return value;
  }

  // What the driver is asked for besides the parameters. Points into itself.
  struct Config {
    std::array<LaunchAttribute, 2> attributes;
    LaunchConfig config{};
    explicit Config(const launch::ResolvedLaunch& launch) {
      config.attributes = attributes.data();
      for (size_t i = 0; i < 3; ++i) {
        config.grid[i] = launch.grid[i];
        config.block[i] = launch.block[i];
      }
      config.shared_bytes = launch.shared_bytes;
      if (ctas_of_cluster(launch) > 1) {
        auto& one = attributes.at(config.attribute_count++);
        one.id = LaunchAttribute::kClusterDimension;
        for (size_t i = 0; i < 3; ++i) one.value.cluster[i] = launch.cluster[i];
      }
      if (launch.cooperative) {
        auto& one = attributes.at(config.attribute_count++);
        one.id = LaunchAttribute::kCooperative;
        one.value.cooperative = 1;
      }
    }
    Config(const Config&) = delete;
    Config& operator=(const Config&) = delete;
  };
  static uint64_t ctas_of_cluster(const launch::ResolvedLaunch& launch) {
    return uint64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
  }

  Trouble launch(Module& module, const launch::ResolvedLaunch& launch, std::span<const uint8_t> parameters) {
    Module::Function* function = nullptr;
    if (auto why = find(module, launch.entry, function)) return why;
    if (launch.shared_bytes > function->shared) {
      auto why = driver_.said(
          driver_.function_attribute(function->handle, kMaxDynamicShared, static_cast<int>(launch.shared_bytes)));
      if (why) return why;
      function->shared = launch.shared_bytes;
    }
    if (ctas_of_cluster(launch) > kPortableCluster)
      driver_.function_attribute(function->handle, kNonPortableCluster, 1);
    const Config asked(launch);
    auto* bytes = const_cast<uint8_t*>(parameters.data());
    if (!launch.starts.empty()) {  // the driver knows how long each is and where the code wants it
      std::vector<void*> each;
      for (uint32_t start : launch.starts) each.push_back(bytes + start);
      return driver_.said(driver_.launch(&asked.config, function->handle, each.data(), nullptr));
    }
    // CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END: the parameters as one block of bytes.
    size_t size = parameters.size();
    void* extra[] = {reinterpret_cast<void*>(1), bytes, reinterpret_cast<void*>(2), &size, nullptr};
    return driver_.said(driver_.launch(&asked.config, function->handle, nullptr, size ? extra : nullptr));
  }

  // The worker's own kernels, compiled by the driver when the first is wanted, and what they write to.
  Trouble prepare() {
    if (mailbox_) return std::nullopt;
    if (auto why = load(own_, kKernels)) return "the worker's own kernels: " + *why;
    if (auto why = allocate(kSumBytes, sum_)) return why;
    void* mailbox = nullptr;
    if (auto why = driver_.said(driver_.host_allocate(&mailbox, sizeof(Mailbox), kHostMapped))) return why;
    if (auto why = driver_.said(driver_.host_address(&seen_, mailbox, 0))) return why;
    std::memset(mailbox, 0, sizeof(Mailbox));
    mailbox_ = static_cast<Mailbox*>(mailbox);
    return std::nullopt;
  }

  Trouble launch_own(const char* entry, unsigned ctas, unsigned threads, std::span<const uint8_t> parameters) {
    launch::ResolvedLaunch one;
    one.entry = entry;
    one.grid = {ctas, 1, 1};
    one.block = {threads, 1, 1};
    return launch(own_, one, parameters);
  }

  Driver driver_;
  Nvml nvml_;
  bool sensors_ = false;
  int device_ = 0;
  std::array<Module, kArms> modules_;
  Module own_;
  std::array<Handle, 2> events_{};
  Mailbox* mailbox_ = nullptr;
  Address seen_ = 0, sum_ = 0;  // the mailbox and the digest as the GPU sees them
  uint32_t ticket_ = 0;
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

// The GPU as the worker sees it: a dozen calls, each of which answers with an error's text or nothing. Behind it stands the
// driver (cuda_device.h) or, in tests, host memory.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpu/protocol.h"

namespace ptxlab::gpu {

using Trouble = std::optional<std::string>;  // why it failed; nothing: it worked
using Address = uint64_t;

class Device {
 public:
  virtual ~Device() = default;
  virtual Hello hello() const = 0;

  // Replaces the module that was loaded before, so that its variables are new. The text is the loader's log.
  virtual Trouble load(std::string_view code) = 0;
  // The loaded module's variable of this name: where it lies, and its size.
  virtual Trouble variable(const std::string& name, Address& at, uint64_t& bytes) = 0;
  virtual Trouble allocate(uint64_t bytes, Address& at) = 0;  // aligned to 256 bytes at least
  virtual void release(Address at) = 0;
  virtual Trouble fill(Address at, uint8_t value, uint64_t bytes) = 0;
  virtual Trouble write(Address at, std::string_view bytes) = 0;
  virtual Trouble read(Address at, std::span<char> into) = 0;
  // Queues one launch of the loaded module; `parameters` are the entry's, addresses included.
  virtual Trouble launch(const launch::ResolvedLaunch& launch, std::span<const uint8_t> parameters) = 0;
  virtual Trouble wait() = 0;  // until all that was queued has ended
  // Marks in the queue, and the time between both once it has been waited for.
  virtual void begin_clock() = 0;
  virtual void end_clock() = 0;
  virtual double milliseconds() = 0;
};

// The first GPU of the machine through its driver, found at run time. Null: there is none to work with, and `why` says so.
std::unique_ptr<Device> make_cuda_device(std::string& why);

}  // namespace ptxlab::gpu

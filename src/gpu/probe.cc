#include "gpu/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace ptxlab::gpu {
namespace {

using launch::ResolvedBuffer;
using launch::ResolvedLaunch;

constexpr uint32_t kThreads = 256;
constexpr uint32_t kKnown = 1000;                  // elements of the known answer
constexpr uint64_t kCopied = uint64_t{128} << 20;  // bytes read and as many written: several times any L2
constexpr const char* kHead = ".version 7.0\n.target sm_80\n.address_size 64\n";

// out[i] = 3 i + 7 for the first n
std::string known_kernel() {
  return std::string(kHead) + R"(
.visible .entry known(.param .u64 out, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [n];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r2, %r2, %r3, %r4;
  setp.ge.u32 %p, %r2, %r1;
  @%p bra DONE;
  mad.lo.u32 %r5, %r2, 3, 7;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd2, %rd1, %rd2;
  st.global.u32 [%rd2], %r5;
DONE:
  ret;
}
)";
}

// A store to where nobody has memory.
std::string faulting_kernel() {
  return std::string(kHead) + R"(
.visible .entry known(.param .u64 out, .param .u32 n)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  mov.u64 %rd1, 64;
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";
}

// Never ends: it waits for a word that nobody changes.
std::string endless_kernel() {
  return std::string(kHead) + R"(
.visible .entry known(.param .u64 out, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
AGAIN:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.ne.u32 %p, %r1, 123456789;
  @%p bra AGAIN;
  ret;
}
)";
}

// Each thread moves 16 bytes at a time, `n` of them in all.
std::string copy_kernel() {
  return std::string(kHead) + R"(
.visible .entry copy(.param .u64 to, .param .u64 from, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<12>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.param.u32 %r1, [n];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p bra DONE;
  mul.wide.u32 %rd3, %r5, 16;
  add.u64 %rd4, %rd2, %rd3;
  ld.global.nc.v4.u32 {%r6, %r7, %r8, %r9}, [%rd4];
  add.u64 %rd4, %rd1, %rd3;
  st.global.v4.u32 [%rd4], {%r6, %r7, %r8, %r9};
DONE:
  ret;
}
)";
}

constexpr int kChains = 8, kUnrolled = 16;

// A loop of `rounds` around `body`, whose results are stored only where they are one value that they never are.
std::string loop_kernel(const std::string& registers, const std::string& before, const std::string& body,
                        const std::string& result) {
  return fmt::format(
      "{}\n.visible .entry loop(.param .u64 out, .param .u32 rounds)\n{{\n"
      "  .reg .pred %p;\n  .reg .b32 %r<4>;\n  .reg .b64 %rd<2>;\n{}"
      "  ld.param.u64 %rd1, [out];\n  ld.param.u32 %r1, [rounds];\n  cvta.to.global.u64 %rd1, %rd1;\n"
      "  mov.u32 %r2, %tid.x;\n{}  mov.u32 %r3, 0;\nAGAIN:\n{}"
      "  add.u32 %r3, %r3, 1;\n  setp.lt.u32 %p, %r3, %r1;\n  @%p bra AGAIN;\n{}"
      "  setp.eq.f32 %p, %f0, 0f4B3C614E;\n  @%p st.global.f32 [%rd1], %f0;\n  ret;\n}}\n",
      kHead, registers, before, body, result);
}

std::string ffma_kernel() {
  std::string before = "  cvt.rn.f32.u32 %f20, %r2;\n  mov.f32 %f21, 0f3F7FFFFF;\n", body, result;
  for (int c = 0; c < kChains; ++c)
    before += fmt::format("  add.f32 %f{}, %f20, 0f{:08X};\n", c, 0x3f800000u + static_cast<unsigned>(c) * 0x1000u);
  for (int i = 0; i < kUnrolled; ++i) {
    for (int c = 0; c < kChains; ++c) body += fmt::format("  fma.rn.f32 %f{0}, %f{0}, %f21, %f20;\n", c);
  }
  for (int c = 1; c < kChains; ++c) result += fmt::format("  add.f32 %f0, %f0, %f{};\n", c);
  return loop_kernel("  .reg .f32 %f<22>;\n", before, body, result);
}

// m16n8k16: 4,096 operations a warp. Operands are small whole numbers of the thread's own; sums stay finite.
std::string mma_kernel(const char* type) {
  std::string before = "  and.b32 %a0, %r2, 1;\n", body, result;
  for (int i = 1; i < 6; ++i) before += fmt::format("  mov.b32 %a{}, %a0;\n", i);
  for (int f = 0; f < 4 * kChains; ++f) before += fmt::format("  mov.f32 %f{}, 0f00000000;\n", f);
  for (int c = 0; c < kChains; ++c) {
    int f = 4 * c;
    std::string sums = fmt::format("{{%f{}, %f{}, %f{}, %f{}}}", f, f + 1, f + 2, f + 3);
    body += fmt::format(
        "  mma.sync.aligned.m16n8k16.row.col.f32.{0}.{0}.f32 {1}, {{%a0, %a1, %a2, %a3}}, {{%a4, %a5}}, {1};\n", type,
        sums);
  }
  for (int f = 1; f < 4 * kChains; ++f) result += fmt::format("  add.f32 %f0, %f0, %f{};\n", f);
  return loop_kernel(fmt::format("  .reg .f32 %f<{}>;\n  .reg .b32 %a<6>;\n", 4 * kChains), before, body, result);
}

// Parameters in their order, each at its natural alignment.
struct Arguments {
  ResolvedLaunch& launch;
  void pointer(uint32_t buffer) {
    place(8);
    launch.pointers.push_back({static_cast<uint32_t>(launch.parameters.size() - 8), buffer, 0});
  }
  void number(uint32_t value) {
    place(4);
    std::memcpy(launch.parameters.data() + launch.parameters.size() - 4, &value, 4);
  }
  void place(size_t bytes) { launch.parameters.resize((launch.parameters.size() + bytes - 1) / bytes * bytes + bytes); }
};

ResolvedBuffer buffer(const char* name, uint64_t bytes, ResolvedBuffer::Init init) {
  ResolvedBuffer made;
  made.name = name;
  made.bytes = bytes;
  made.role = ResolvedBuffer::Role::out;
  made.init = init;
  return made;
}

Job job_of(std::string code, const char* entry, uint32_t ctas, std::vector<ResolvedBuffer> buffers,
           const std::function<void(Arguments&)>& arguments) {
  Job job;
  job.code = std::move(code);
  job.plan.buffers = std::move(buffers);
  job.contents.resize(job.plan.buffers.size());
  ResolvedLaunch launch;
  launch.entry = entry;
  launch.grid = {ctas, 1, 1};
  launch.block = {kThreads, 1, 1};
  Arguments given{launch};
  arguments(given);
  job.plan.launches.push_back(std::move(launch));
  return job;
}

Job known_job(std::string code) {
  return job_of(std::move(code), "known", (kKnown + kThreads - 1) / kThreads,
                {buffer("out", uint64_t{4} * kKnown, ResolvedBuffer::Init::poison)}, [](Arguments& a) {
                  a.pointer(0);
                  a.number(kKnown);
                });
}

// Nothing where the answer is right, else what is wrong with it.
std::string wrong_with(const base::Result<Done>& done) {
  if (!done) return done.findings().front().message;
  if (done->end != Done::End::executed) return "it did not run: " + done->message;
  if (!done->overruns.empty()) return "it wrote beyond its buffer";
  if (done->contents.size() != 1 || done->contents[0].size() != size_t{4} * kKnown)
    return "its buffer came back in another size";
  for (uint32_t i = 0; i < kKnown; ++i) {
    uint32_t value;
    std::memcpy(&value, done->contents[0].data() + size_t{4} * i, 4);
    if (value != 3 * i + 7) return fmt::format("element {} is {}, not {}", i, value, 3 * i + 7);
  }
  return "";
}

class Prober {
 public:
  Prober(Runner& gpu, const ProbeOptions& options) : gpu_(gpu), options_(options) {}

  Probe run() {
    known("a known answer");
    fault();
    known("right again after it");
    hang();
    known("right again after that");
    if (!probe_.ok()) return std::move(probe_);
    copy();
    loop("fp32 FFMA", ffma_kernel(), 2.0 * kChains * kUnrolled * kThreads);
    loop("bf16 mma.sync", mma_kernel("bf16"), 4096.0 * kChains * kThreads / 32);
    loop("f16 mma.sync", mma_kernel("f16"), 4096.0 * kChains * kThreads / 32);
    sense();
    return std::move(probe_);
  }

 private:
  void step(std::string name, bool ok, std::string said) {
    probe_.canaries.push_back({std::move(name), ok, std::move(said)});
  }

  void known(const char* name) {
    std::string wrong = wrong_with(gpu_.run(known_job(known_kernel()), options_.limit));
    step(name, wrong.empty(), wrong.empty() ? "right" : wrong);
  }

  void fault() {
    auto done = gpu_.run(known_job(faulting_kernel()), options_.limit);
    bool reported = done && done->end == Done::End::faulted;
    step("an illegal address", reported,
         reported ? "reported: " + done->message
         : done   ? "NOT reported"
                  : done.findings().front().message);
  }

  void hang() {
    auto done = gpu_.run(known_job(endless_kernel()), options_.hang);
    // Stopped by our limit, or by the machine's own watchdog before it.
    bool stopped = !done && done.findings().front().code == "GPU0004";
    bool faulted = done && done->end == Done::End::faulted;
    step("an endless kernel", stopped || faulted,
         faulted ? "stopped by the machine: " + done->message
         : done  ? "ended, as it never should"
                 : done.findings().front().message);
  }

  // Runs `make(amount)` with growing amounts until one round takes long enough; then three rounds, the best of them.
  void ceiling(const char* name, const char* unit, double per_amount, uint32_t first, uint32_t most,
               const std::function<Job(uint32_t)>& make) {
    Ceiling made{name, unit, 0, "", 0};
    uint32_t amount = first;
    for (int tries = 0; tries < 24; ++tries) {
      auto done = gpu_.run(make(amount), options_.limit);
      if (!done || done->end != Done::End::executed) {
        made.trouble = done ? done->message : done.findings().front().message;
        break;
      }
      if (done->milliseconds > 0) {
        double rate = per_amount * amount / (done->milliseconds / 1e3);
        bool enough = done->milliseconds >= options_.enough || amount >= most;
        if (enough) {
          if (rate > made.rate) made.rate = rate, made.milliseconds = done->milliseconds;
          if (++measured_ == 3) break;
          continue;
        }
      }
      amount = std::min(most, amount * 4);
    }
    measured_ = 0;
    if (made.rate == 0 && made.trouble.empty()) made.trouble = "no time was measured";
    probe_.ceilings.push_back(std::move(made));
  }

  void copy() {
    // Both buffers are larger than L2, so every launch reads from DRAM and writes to it.
    constexpr auto kVectors = static_cast<uint32_t>(kCopied / 16);
    uint64_t l2 = gpu_.hello().l2_bytes;
    uint32_t vectors = l2 && l2 * 4 < kCopied ? kVectors : kVectors * 2;
    if (gpu_.hello().memory < uint64_t{2} << 30) vectors = 1 << 16;
    ceiling("copy", "B/s", 32.0 * vectors, 16, 64, [&](uint32_t launches) {
      Job job = job_of(copy_kernel(), "copy", (vectors + kThreads - 1) / kThreads,
                       {buffer("to", uint64_t{16} * vectors, ResolvedBuffer::Init::poison),
                        buffer("from", uint64_t{16} * vectors, ResolvedBuffer::Init::zero)},
                       [&](Arguments& a) {
                         a.pointer(0);
                         a.pointer(1);
                         a.number(vectors);
                       });
      job.launches = launches;
      return job;
    });
  }

  void loop(const char* name, const std::string& code, double operations_a_cta) {
    // Many CTAs, so that the last wave's idle SMs count for little.
    uint32_t sms = gpu_.hello().sms;
    uint32_t ctas = sms ? sms * 64 : 8192;
    if (gpu_.hello().memory < uint64_t{2} << 30) ctas = std::max(1u, sms);
    ceiling(name, "FLOP/s", operations_a_cta * ctas, 1, 1 << 14, [&](uint32_t rounds) {
      return job_of(code, "loop", ctas, {buffer("out", 4, ResolvedBuffer::Init::zero)}, [&](Arguments& a) {
        a.pointer(0);
        a.number(rounds);
      });
    });
  }

  // A contest of the known kernel with itself brings what the machine says of its clocks.
  void sense() {
    Job job = known_job(known_kernel());
    Contest contest;
    contest.sides[0] = contest.sides[1] = {job.code, job.plan};
    contest.shared = 1;
    contest.contents.assign(job.contents.begin(), job.contents.end());
    contest.pairs = 4;
    contest.outputs = false;
    auto opened = gpu_.open(contest, options_.limit);
    if (!opened || opened->end != Done::End::executed) return;
    MeasureRequest request;
    request.epochs = 1;
    auto measured = gpu_.measure(request, options_.limit);
    if (measured && !measured->epochs.empty()) probe_.sensors = measured->epochs.front().after;
  }

  Runner& gpu_;
  ProbeOptions options_;
  Probe probe_;
  int measured_ = 0;
};

}  // namespace

bool Probe::ok() const {
  return !canaries.empty() &&
         std::all_of(canaries.begin(), canaries.end(), [](const ProbeStep& step) { return step.ok; });
}

Probe probe(Runner& gpu, const ProbeOptions& options) { return Prober(gpu, options).run(); }

}  // namespace ptxlab::gpu

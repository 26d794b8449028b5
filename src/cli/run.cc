// ptxlab run: executes a PTX file's kernel on the CPU with the checkers watching, and writes its buffers to files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/finding_json.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "checkers/order_dependence.h"
#include "checkers/registry.h"
#include "checkers/remark.h"
#include "checkers/unwritten.h"
#include "cli/commands.h"
#include "cli/gpu_option.h"
#include "cli/output.h"
#include "cli/run_arguments.h"
#include "cli/run_on_gpu.h"
#include "launch/plan.h"
#include "ptx/verifier.h"
#include "simt/engine.h"

namespace ptxlab::cli {
namespace {

constexpr uint64_t kGpuSeconds = 60;

struct Request {
  std::string file, entry, plan, engine = "simt", check = "all", gpu;
  std::string grid = "1", block = "1", cluster = "1";
  uint64_t shared = 0, seed = 1, launches = 1, budget = simt::RunOptions().budget;
  uint64_t schedules = 1, limit = 0;
  std::vector<std::string> specs, outs;
  bool json = false, apart = false;
};

// --- what to watch -------------------------------------------------------------------------------------------------------

struct Watch {
  simt::CheckLevel level = simt::CheckLevel::none;
  std::vector<std::unique_ptr<simt::Observer>> observers;
  std::vector<const checkers::Remark*> remarks;
};

std::string checker_list() {
  std::string text = "all, none, or of: bounds, defined";
  for (const auto& checker : checkers::all_checkers()) text += fmt::format(", {}", checker.name);
  for (const auto& remark : checkers::all_remarks()) text += fmt::format(", {}", remark.name);
  text += "; not in all:";
  for (const auto& checker : checkers::asked_checkers()) text += fmt::format(" {}", checker.name);
  return text;
}

base::Result<Watch> parse_check(std::string_view list) {
  Watch watch;
  if (list == "none") return watch;
  if (list == "all") {
    watch.level = simt::CheckLevel::defined;
    for (const auto& checker : checkers::all_checkers()) watch.observers.push_back(checker.make());
    for (const auto& remark : checkers::all_remarks()) watch.remarks.push_back(&remark);
    return watch;
  }
  while (true) {
    size_t comma = list.find(',');
    auto word = list.substr(0, comma);
    if (word == "bounds") {
      watch.level = std::max(watch.level, simt::CheckLevel::bounds);
    } else if (word == "defined") {
      watch.level = simt::CheckLevel::defined;
    } else if (const auto* checker = checkers::checker_named(word)) {
      watch.observers.push_back(checker->make());
    } else if (const auto* remark = checkers::remark_named(word)) {
      watch.remarks.push_back(remark);
    } else {
      std::vector<std::string> known = {"all", "none", "bounds", "defined"};
      for (const auto& one : checkers::all_checkers()) known.emplace_back(one.name);
      for (const auto& one : checkers::all_remarks()) known.emplace_back(one.name);
      for (const auto& one : checkers::asked_checkers()) known.emplace_back(one.name);
      auto near = base::nearest(word, known);
      return base::error("CLI0015", fmt::format("--check: no checker '{}'", word),
                         near.empty() ? "--check takes " + checker_list() : fmt::format("did you mean '{}'?", near));
    }
    if (comma == std::string_view::npos) return watch;
    list.remove_prefix(comma + 1);
  }
}

// --- what to launch ------------------------------------------------------------------------------------------------------

// The buffers that --arg asks for; a buffer's number by argument's.
struct Buffers {
  std::vector<launch::ResolvedBuffer> list;
  std::vector<size_t> arguments;  // the argument that each buffer came from
  std::vector<std::optional<uint32_t>> of_argument;
};

Buffers make_buffers(const std::vector<RunArgument>& arguments) {
  using Role = launch::ResolvedBuffer::Role;
  using Init = launch::ResolvedBuffer::Init;
  Buffers buffers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    buffers.of_argument.emplace_back();
    if (!argument.buffer()) continue;
    if (argument.kind == RunArgument::Kind::same) {
      buffers.of_argument[i] = buffers.of_argument[argument.same];
      continue;
    }
    launch::ResolvedBuffer buffer;
    buffer.name = argument.name.empty() ? fmt::format("argument {}", i) : argument.name;
    buffer.bytes = argument.bytes.size();
    bool out = argument.kind == RunArgument::Kind::out;
    buffer.role = out ? Role::out : argument.kind == RunArgument::Kind::in ? Role::in : Role::inout;
    buffer.init = out ? Init::zero : Init::data;
    buffers.of_argument[i] = static_cast<uint32_t>(buffers.list.size());
    buffers.list.push_back(buffer);
    buffers.arguments.push_back(i);
  }
  return buffers;
}

std::string parameter_list(const ptx::Function& entry) {
  std::string text;
  for (const auto& parameter : entry.parameters)
    text += fmt::format("{}{} ({} bytes)", text.empty() ? "" : ", ", parameter.name, parameter.bytes());
  return text.empty() ? "none" : text;
}

base::Result<launch::ResolvedPlan> plan_of_options(const Request& request, const ptx::Module& module,
                                                   const std::vector<RunArgument>& arguments, const Buffers& buffers) {
  const auto* entry = module.entry(request.entry);
  if (!entry) {
    std::vector<std::string> names;
    for (const auto& function : module.functions)
      if (function.entry) names.push_back(function.name);
    auto what = request.entry.empty() ? fmt::format("{} entries: --entry says which", names.size())
                                      : fmt::format("no entry '{}'", request.entry);
    auto near = base::nearest(request.entry, names);
    return base::error(
        "CLI0013", what,
        near.empty() ? fmt::format("entries: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near));
  }
  if (entry->parameters.size() != arguments.size())
    return base::error(
        "CLI0014",
        fmt::format("'{}' takes {} arguments, {} given", entry->name, entry->parameters.size(), arguments.size()),
        "its parameters: " + parameter_list(*entry));
  launch::ResolvedLaunch one;
  one.entry = entry->name;
  for (auto [text, option, into] : {std::tuple{&request.grid, "--grid", &one.grid},
                                    {&request.block, "--block", &one.block},
                                    {&request.cluster, "--cluster", &one.cluster}}) {
    auto size = parse_dim3(*text, option);
    if (!size.ok()) return size.findings();
    *into = *size;
  }
  uint64_t threads = uint64_t{one.block[0]} * one.block[1] * one.block[2];
  if (one.block[0] > launch::kMaxThreadsPerCta || one.block[1] > launch::kMaxThreadsPerCta ||
      threads > launch::kMaxThreadsPerCta)
    return base::error(
        "CLI0011",
        fmt::format("--block {}: {} threads, a CTA has at most {}", request.block, threads, launch::kMaxThreadsPerCta),
        "");
  if (request.shared > 1u << 20)
    return base::error("CLI0011", fmt::format("--shared {}: more than any GPU has", request.shared), "");
  one.shared_bytes = static_cast<uint32_t>(request.shared);

  auto layout = launch::layout_of(*entry);
  one.parameters.resize(layout.bytes);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& parameter = entry->parameters[i];
    size_t bytes = arguments[i].buffer() ? 8 : arguments[i].bytes.size();
    if (parameter.bytes() != bytes)
      return base::error(
          "CLI0014",
          fmt::format("argument {}: {} bytes, but parameter '{}' has {}", i, bytes, parameter.name, parameter.bytes()),
          arguments[i].buffer() ? "a buffer's address takes 8 bytes" : "choose the type by the parameter's size");
    if (auto buffer = buffers.of_argument[i]) {
      one.pointers.push_back({layout.offsets[i], *buffer, 0});
    } else {
      std::copy(arguments[i].bytes.begin(), arguments[i].bytes.end(), one.parameters.begin() + layout.offsets[i]);
    }
  }
  launch::ResolvedPlan plan;
  plan.buffers = buffers.list;
  plan.launches = {std::move(one)};
  return plan;
}

// A plan's names are the names of --arg NAME=SPEC; unnamed ones are arg0, arg1 ... by their number.
base::Result<launch::ResolvedPlan> plan_of_file(const Request& request, const ptx::Module& module,
                                                const std::vector<RunArgument>& arguments, const Buffers& buffers) {
  auto text = base::read_file(request.plan);
  if (!text.ok()) return text.findings();
  auto plan = launch::read_plan(*text, request.plan);
  if (!plan.ok()) return plan.findings();
  launch::Binding binding;
  binding.buffers = buffers.list;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    auto name = argument.name.empty() ? fmt::format("arg{}", i) : argument.name;
    if (argument.kind == RunArgument::Kind::same)
      return base::error("CLI0014", fmt::format("argument {}: same:N does not go with --plan", i),
                         "the plan itself may name a buffer twice");
    if (argument.buffer()) {
      binding.buffers[*buffers.of_argument[i]].name = name;
      continue;
    }
    uint64_t bits = 0;
    for (size_t at = argument.bytes.size(); at-- > 0;) bits = bits << 8 | argument.bytes[at];
    binding.scalars[name] = {std::string(isa::name_of(argument.type)), bits, argument.integer};
    if (isa::is_integer(argument.type)) binding.parameters[name] = argument.integer;
  }
  return launch::resolve(*plan, module, binding);
}

// --- running -------------------------------------------------------------------------------------------------------------

struct Ran {
  base::Findings findings;
  uint64_t launches = 0, warp_instructions = 0, thread_instructions = 0;
  bool completed = true, supported = true;
  std::string engine = "simt";
  // On a GPU, in place of counts:
  std::string device, code;
  uint32_t sm = 0;
  double milliseconds = 0;
};

std::vector<size_t> allocate(const launch::ResolvedPlan& plan, const std::vector<RunArgument>& arguments,
                             const Buffers& buffers, simt::Memory& memory) {
  std::vector<size_t> allocations;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const auto& buffer = plan.buffers[i];
    bool writable = buffer.role != launch::ResolvedBuffer::Role::in;
    size_t at = memory.allocate(buffer.name, buffer.bytes, buffer.init, writable);
    if (i < buffers.arguments.size() && buffer.init == launch::ResolvedBuffer::Init::data) {
      const auto& bytes = arguments[buffers.arguments[i]].bytes;
      memory.allocation(at).data.assign(bytes.begin(), bytes.end());
    }
    allocations.push_back(at);
  }
  return allocations;
}

// Zeroed scratch is zero whenever the plan begins.
void zero_scratch(const launch::ResolvedPlan& plan, const std::vector<size_t>& allocations, simt::Memory& memory) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const auto& buffer = plan.buffers[i];
    if (buffer.role != launch::ResolvedBuffer::Role::scratch || buffer.init != launch::ResolvedBuffer::Init::zero)
      continue;
    auto& allocation = memory.allocation(allocations[i]);
    std::fill(allocation.data.begin(), allocation.data.end(), uint8_t{0});
    std::fill(allocation.defined.begin(), allocation.defined.end(), uint8_t{0xff});
  }
}

base::Result<Ran> on_cpu(const ptx::Module& module, const launch::ResolvedPlan& plan,
                         const std::vector<size_t>& allocations, simt::Memory& memory, const Watch& watch,
                         const Request& request) {
  auto engine = simt::make_simt_engine();
  auto program = engine->load(module, launch::entries_of(plan));
  if (!program.ok()) return program.findings();
  if (auto wrong = simt::set_symbols(**program, plan, allocations, memory); !wrong.empty()) return wrong;
  simt::RunOptions options;
  options.check = watch.level;
  options.seed = request.seed;
  options.budget = request.budget;
  options.run_apart = request.apart;
  options.count_sectors = !watch.remarks.empty();
  analysis::Profile profile;
  std::vector<simt::Observer*> observers;
  for (const auto& observer : watch.observers) observers.push_back(observer.get());
  Ran ran;
  for (uint64_t n = 0; n < request.launches && ran.completed; ++n) {
    if (n > 0) zero_scratch(plan, allocations, memory);
    for (const auto& launch : plan.launches) {
      auto report = (*program)->run(launch, allocations, memory, options, observers);
      ++ran.launches;
      ran.warp_instructions += report.warp_instructions;
      ran.thread_instructions += report.thread_instructions;
      profile.add(report.profile);
      ran.completed = report.completed;
      ran.supported = report.supported;
      ran.findings.insert(ran.findings.end(), report.findings.begin(), report.findings.end());
      if (!ran.completed) break;
    }
  }
  for (const auto* observer : observers) {
    auto found = observer->findings();
    ran.findings.insert(ran.findings.end(), found.begin(), found.end());
  }
  for (const auto* remark : watch.remarks) {
    auto found = remark->of(module, profile);
    ran.findings.insert(ran.findings.end(), found.begin(), found.end());
  }
  return ran;
}

// The same on a GPU: the results come to lie in `memory`, as if the engine had run.
base::Result<Ran> on_gpu(const ptx::Module& module, const std::string& source, const launch::ResolvedPlan& plan,
                         const std::vector<size_t>& allocations, simt::Memory& memory, const Request& request) {
  std::vector<std::string> contents;
  for (size_t at : allocations) {
    const auto& data = memory.allocation(at).data;
    contents.emplace_back(data.begin(), data.end());
  }
  auto worker = choose_gpu(request.gpu);
  if (!worker) return worker.findings();
  auto run = run_on_gpu(**worker, module, source, request.file, plan, contents, request.launches,
                        std::chrono::seconds(request.limit ? request.limit : kGpuSeconds));
  if (!run) return run.findings();
  Ran ran;
  ran.engine = "gpu";
  ran.findings = run->findings;
  ran.completed = run->done.end == gpu::Done::End::executed;
  ran.launches = request.launches * plan.launches.size();
  ran.device = run->device;
  ran.sm = run->sm;
  ran.code = run->code;
  ran.milliseconds = run->done.milliseconds;
  for (size_t i = 0; i < run->done.contents.size(); ++i)
    memory.allocation(allocations[i]).data.assign(run->done.contents[i].begin(), run->done.contents[i].end());
  return ran;
}

// An output with bits that nobody defined: whoever reads it gets something else each time.
base::Findings undefined_outputs(const launch::ResolvedPlan& plan, const std::vector<size_t>& allocations,
                                 const Buffers& buffers, const std::vector<RunArgument>& arguments,
                                 const simt::Memory& memory) {
  base::Findings findings;
  for (size_t i = 0; i < buffers.arguments.size(); ++i) {
    if (plan.buffers[i].role == launch::ResolvedBuffer::Role::in) continue;
    auto type = arguments[buffers.arguments[i]].type;
    uint64_t bytes = type == isa::Type::none ? 1 : static_cast<uint64_t>(isa::bytes_of(type));
    auto unwritten = checkers::unwritten_elements(memory.allocation(allocations[i]), bytes);
    if (!unwritten) continue;
    findings.push_back(
        base::error("CMP0101",
                    fmt::format("{} of {} {} of '{}' have undefined bits, the first is {} {}", unwritten->count,
                                plan.buffers[i].bytes / bytes, bytes == 1 ? "bytes" : "elements", plan.buffers[i].name,
                                bytes == 1 ? "byte" : "element", unwritten->first),
                    "what was stored there comes from something that was never given a value"));
  }
  return findings;
}

// The same launches under other seeds, on fresh memory and in a fresh program: do the outputs come out the same?
base::Findings order_dependences(const ptx::Module& module, const launch::ResolvedPlan& plan,
                                 const std::vector<RunArgument>& arguments, const Buffers& buffers,
                                 const std::vector<size_t>& allocations, const simt::Memory& memory, Request request) {
  base::Findings findings;
  Watch watch;
  watch.level = simt::CheckLevel::defined;
  for (uint64_t i = 1; i < request.schedules && findings.empty(); ++i) {
    ++request.seed;
    request.apart = true;
    simt::Memory other(request.seed);
    auto places = allocate(plan, arguments, buffers, other);
    auto ran = on_cpu(module, plan, places, other, watch, request);
    if (!ran.ok()) return ran.findings();
    if (!ran->completed) return ran->findings;
    for (size_t b = 0; b < buffers.arguments.size(); ++b) {
      if (plan.buffers[b].role == launch::ResolvedBuffer::Role::in) continue;
      auto type = arguments[buffers.arguments[b]].type;
      const auto &here = memory.allocation(allocations[b]), &there = other.allocation(places[b]);
      uint64_t bytes = type != isa::Type::none ? static_cast<uint64_t>(isa::bytes_of(type)) : here.bytes % 4 ? 1 : 4;
      auto found = checkers::order_dependence(plan.buffers[b].name, {here.data, here.defined},
                                              {there.data, there.defined}, bytes);
      if (found) findings.push_back(std::move(*found));
    }
  }
  return findings;
}

// --out N:FILE
struct Out {
  uint32_t buffer = 0;
  std::string file;
};

base::Result<std::vector<Out>> parse_outs(const std::vector<std::string>& words, const Buffers& buffers) {
  std::vector<Out> outs;
  for (const auto& word : words) {
    size_t colon = word.find(':');
    size_t number = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + std::min(colon, word.size()), number);
    if (colon == std::string::npos || colon + 1 == word.size() || error != std::errc() || end != word.data() + colon)
      return base::error("CLI0016", fmt::format("--out {}: not N:FILE", word),
                         "N counts all --arg from 0: --out 2:y.bin");
    if (number >= buffers.of_argument.size() || !buffers.of_argument[number])
      return base::error("CLI0016", fmt::format("--out {}: argument {} is no buffer", word, number),
                         "N counts all --arg from 0");
    outs.push_back({*buffers.of_argument[number], word.substr(colon + 1)});
  }
  return outs;
}

// --- telling -------------------------------------------------------------------------------------------------------------

std::vector<std::string> values(const simt::Allocation& allocation, isa::Type type, size_t most) {
  if (type == isa::Type::none) type = allocation.bytes % 4 == 0 ? isa::Type::b32 : isa::Type::b8;
  size_t width = static_cast<size_t>(isa::bytes_of(type)), count = allocation.data.size() / width;
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(count, most); ++i)
    texts.push_back(element_text(allocation.data.data() + i * width, type));
  if (count > most) texts.emplace_back("...");
  return texts;
}

void tell(const Request& request, const Ran& ran, const std::string& source, const std::vector<RunArgument>& arguments,
          const Buffers& buffers, const std::vector<size_t>& allocations, const simt::Memory& memory) {
  bool error = base::has_error(ran.findings) || !ran.completed;
  if (request.json) {
    nlohmann::json list = nlohmann::json::array();
    for (size_t i = 0; i < buffers.arguments.size(); ++i) {
      const auto& data = memory.allocation(allocations[i]).data;
      std::string_view bytes(reinterpret_cast<const char*>(data.data()), data.size());
      list.push_back({{"argument", buffers.arguments[i]}, {"bytes", data.size()}, {"sha256", base::sha256(bytes)}});
      const auto& argument = arguments[buffers.arguments[i]];
      if (argument.kind != RunArgument::Kind::in)
        list.back()["values"] = values(memory.allocation(allocations[i]), argument.type, 64);
    }
    nlohmann::json told{{"schema", "ptxlab.run/1"},
                        {"file", request.file},
                        {"engine", ran.engine},
                        {"accepted", true},
                        {"completed", ran.completed},
                        {"launches", ran.launches},
                        {"findings", base::to_json(ran.findings)},
                        {"buffers", std::move(list)}};
    if (ran.engine == "gpu") {
      told["device"] = ran.device;
      told["sm"] = ran.sm;
      told["code_by"] = ran.code;
      if (ran.completed) told["milliseconds"] = ran.milliseconds;
    } else {
      told["seed"] = request.seed;
      told["warp_instructions"] = ran.warp_instructions;
      told["thread_instructions"] = ran.thread_instructions;
    }
    print_json(told);
    return;
  }
  print_findings(ran.findings, source);
  for (size_t i = 0; i < buffers.arguments.size(); ++i) {
    const auto& argument = arguments[buffers.arguments[i]];
    if (argument.kind == RunArgument::Kind::in || error) continue;
    const auto& allocation = memory.allocation(allocations[i]);
    print(fmt::format("argument {}: {}\n", buffers.arguments[i], fmt::join(values(allocation, argument.type, 8), " ")));
  }
  std::string counts =
      fmt::format("{} warp instructions, {} thread instructions", ran.warp_instructions, ran.thread_instructions);
  if (ran.engine == "gpu") {
    counts = fmt::format("{}, code by {}", ran.device, ran.code);
    if (ran.completed) counts += fmt::format(", {:.3f} ms", ran.milliseconds);
  }
  print(fmt::format("{}: {} launch{}, {}, {}\n", request.file, ran.launches, ran.launches == 1 ? "" : "es", counts,
                    error ? "faulted" : "no error"));
}

void tell_malformed(const Request& request, const base::Findings& findings, const std::string& source) {
  if (request.json) {
    print_json({{"schema", "ptxlab.run/1"},
                {"file", request.file},
                {"engine", request.engine},
                {"seed", request.seed},
                {"accepted", false},
                {"completed", false},
                {"launches", 0},
                {"findings", base::to_json(findings)}});
  } else {
    print_findings(findings, source);
    print(request.file + ": not run\n");
  }
}

std::optional<int> refuse_engine(const std::string& engine) {
  if (engine == "simt" || engine == "gpu") return std::nullopt;
  if (engine == "jit")
    return refuse({base::error("CLI0012", fmt::format("the engine '{}' is not in this version", engine),
                               "--engine simt runs on the CPU")},
                  kExitInfrastructure);
  return refuse("CLI0012", fmt::format("no engine '{}'", engine), "this version has simt and gpu");
}

// What only the CPU engine has, and what only a GPU has.
std::optional<int> refuse_options(const Request& request) {
  if (request.engine != "gpu") {
    if (!request.gpu.empty())
      return refuse("CLI0036", "--gpu says where --engine gpu runs",
                    fmt::format("the engine here is {}", request.engine));
    if (request.limit)
      return refuse("CLI0036", "--limit says how long --engine gpu may take",
                    "--budget limits the engine on the CPU, in thread instructions");
    return std::nullopt;
  }
  const Request usual;
  const char* option = request.check != usual.check && request.check != "none" ? "--check"
                       : request.seed != usual.seed                            ? "--seed"
                       : request.budget != usual.budget                        ? "--budget"
                       : request.apart                                         ? "--apart"
                       : request.schedules != usual.schedules                  ? "--schedules"
                                                                               : nullptr;
  if (!option) return std::nullopt;
  return refuse("CLI0037", fmt::format("{} does not go with --engine gpu", option),
                request.budget != usual.budget ? "--limit SECONDS says how long a GPU may take"
                                               : "the hardware decides the order, and nobody watches there");
}

std::optional<int> parse(Request& request, Words words) {
  Options options(
      "run", "Executes a kernel on the CPU and reports every fault that the checkers see, or on a GPU.",
      "ptxlab run add.ptx --block 4 --arg in:f32:1,2,3,4 --arg in:f32:5,6,7,8 --arg out:16 --arg u32:4\n"
      "ptxlab run k.ptx --entry k --grid 8 --block 32,4 --arg inout:@data.bin --out 0:result.bin --json\n\n"
      "SPEC is TYPE:VALUE (u8..u64, s8..s64, f16, bf16, f32, f64; b8..b64 in hexadecimal), in:TYPE:V,V,...,\n"
      "in:TYPE:@FILE, out:TYPE:COUNT (zeroed), inout:... as in:..., same:N (argument N's buffer again) or null.\n"
      "  in:@FILE, inout:@FILE and out:BYTES name no type: elements are shown as words in hexadecimal.\n"
      "With --plan, NAME=SPEC gives the argument the name that the plan uses.");
  options.argument("FILE.ptx", request.file, "The PTX file");
  options.value("--entry", "NAME", request.entry, "The kernel, where the file has several");
  options.value("--grid", "X[,Y[,Z]]", request.grid, "CTAs; 1 by default");
  options.value("--block", "X[,Y[,Z]]", request.block, "Threads of a CTA; 1 by default");
  options.value("--cluster", "X[,Y[,Z]]", request.cluster, "CTAs of a cluster; 1 by default");
  options.value("--shared", "BYTES", request.shared, "Dynamic shared memory of a CTA");
  options.value("--plan", "FILE", request.plan, "A launch plan instead of --entry, --grid, --block, --shared");
  options.value("--engine", "simt|jit|gpu", request.engine,
                "What executes it: simt on the CPU with every checker, or a GPU; jit is not there yet");
  options.value("--gpu", "PLACE", request.gpu, "With --engine gpu: which. " + kGpuHelp);
  options.value("--limit", "SECONDS", request.limit, "With --engine gpu: how long it may take, 60 by default");
  options.value("--check", "all|none|LIST", request.check, checker_list());
  options.value("--seed", "N", request.seed, "Draws warp and CTA order, addresses and poison");
  options.value("--budget", "N", request.budget, "Thread instructions that a launch may take; then it is stopped");
  options.flag("--apart", request.apart, "Let the lanes of a warp run apart now and then, as the hardware may");
  options.value("--schedules", "N", request.schedules, "Run under N seeds in all and compare the outputs");
  options.value("--launches", "N", request.launches, "Launch it N times on the same memory");
  options.values("--arg", "SPEC", request.specs, "The kernel's arguments, in order");
  options.values("--out", "N:FILE", request.outs, "Write the buffer of argument N to FILE afterwards");
  options.flag("--json", request.json, "Print one JSON object (ptxlab.run/1)");
  return options.parse(words);
}

}  // namespace

int run(Words words) {
  Request request;
  if (auto code = parse(request, words)) return *code;
  if (auto code = refuse_engine(request.engine)) return *code;
  if (auto code = refuse_options(request)) return *code;
  auto watch = parse_check(request.check);
  if (!watch.ok()) return refuse(watch.findings());
  auto arguments = parse_arguments(request.specs);
  if (!arguments.ok()) return refuse(arguments.findings());
  auto buffers = make_buffers(*arguments);
  auto outs = parse_outs(request.outs, buffers);
  if (!outs.ok()) return refuse(outs.findings());
  auto source = base::read_file(request.file);
  if (!source.ok()) return refuse(source.findings());

  auto checked = ptx::check(*source, request.file);
  if (!checked.ok()) {
    tell_malformed(request, checked.findings, *source);
    return kExitNo;
  }
  auto plan = request.plan.empty() ? plan_of_options(request, checked.module, *arguments, buffers)
                                   : plan_of_file(request, checked.module, *arguments, buffers);
  if (!plan.ok()) return refuse(plan.findings());
  simt::Memory memory(request.seed);
  auto allocations = allocate(*plan, *arguments, buffers, memory);
  auto done = request.engine == "gpu" ? on_gpu(checked.module, *source, *plan, allocations, memory, request)
                                      : on_cpu(checked.module, *plan, allocations, memory, *watch, request);
  if (!done.ok()) {
    tell_malformed(request, done.findings(), *source);
    return kExitInfrastructure;
  }
  Ran& ran = *done;
  if (ran.engine == "simt" && watch->level == simt::CheckLevel::defined && ran.completed) {
    auto found = undefined_outputs(*plan, allocations, buffers, *arguments, memory);
    ran.findings.insert(ran.findings.end(), found.begin(), found.end());
  }
  if (ran.engine == "simt" && request.schedules > 1 && ran.completed && !base::has_error(ran.findings)) {
    auto found = order_dependences(checked.module, *plan, *arguments, buffers, allocations, memory, request);
    ran.findings.insert(ran.findings.end(), found.begin(), found.end());
  }
  tell(request, ran, *source, *arguments, buffers, allocations, memory);
  for (const auto& out : *outs) {
    const auto& data = memory.allocation(allocations[out.buffer]).data;
    auto findings = base::write_file(out.file, {reinterpret_cast<const char*>(data.data()), data.size()});
    if (!findings.empty()) return refuse(findings, kExitInfrastructure);
  }
  if (!ran.supported) return kExitInfrastructure;
  return base::has_error(ran.findings) || !ran.completed ? kExitNo : kExitDone;
}

}  // namespace ptxlab::cli

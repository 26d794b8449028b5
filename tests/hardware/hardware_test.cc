// The engine's arithmetic against what an H200 answered, form by form: README.md says how the answers were obtained.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/narrow_float.h"
#include "ptx/verifier.h"
#include "simt/engine.h"

namespace ptxlab {
namespace {

constexpr size_t kRows = 64;

struct Form {
  std::string entry, text, type;  // "k12", "add.sat.s32", the destination's type
  std::vector<std::string> sources;
  size_t inputs = 0;
};

// "// add.u32 : u32 <- u32 u32 : input 3" above each entry.
std::vector<Form> read_forms(const std::string& ptx) {
  std::vector<Form> forms;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("// ") || line.find(" <- ") == std::string::npos) continue;
    std::istringstream words(line.substr(3));
    Form form;
    std::string skip;
    words >> form.text >> skip >> form.type >> skip;
    for (std::string word; words >> word && word != ":";) form.sources.push_back(word);
    words >> skip >> form.inputs;
    form.entry = fmt::format("k{}", forms.size());
    forms.push_back(form);
  }
  return forms;
}

double value_of(uint64_t bits, std::string_view type) {
  if (type == "f64") return std::bit_cast<double>(bits);
  if (type == "f32") return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == "f16") return base::widen(static_cast<uint16_t>(bits), base::kF16);
  if (type == "bf16") return base::widen(static_cast<uint16_t>(bits), base::kBf16);
  return 0;
}

// tf32 results travel in .b32 registers; the lanes of packed types are looked at one by one.
std::vector<std::pair<uint64_t, std::string>> lanes(uint64_t bits, const Form& form) {
  if (form.type == "f16x2" || form.type == "bf16x2") {
    std::string lane = form.type.substr(0, form.type.size() - 2);
    return {{bits & 0xffff, lane}, {bits >> 16 & 0xffff, lane}};
  }
  if (form.text.find(".tf32.") != std::string::npos) return {{bits, "f32"}};
  return {{bits, form.type}};
}

// How far an approximate form may be from the GPU's answer: twice the manual's bound on the error, since the engine and the
// GPU may stand on either side of the true value. Nothing: the form is exact.
struct Slack {
  double relative = 0, absolute = 0;
};
std::optional<Slack> slack_of(std::string_view form, double x) {
  auto is = [&](std::string_view name) { return form.starts_with(name); };
  // Only the upper word of the mantissa is computed, of which the manual promises no more than a gross approximation.
  if (is("rcp.approx.ftz.f64") || is("rsqrt.approx.ftz.f64")) return Slack{2 * 0x1p-20, 0};
  if (is("rcp.approx") || is("div.approx") || is("div.full")) return Slack{2 * 0x1p-22, 0x1p-149};
  if (is("rsqrt.approx")) return Slack{2 * 0x1p-22, 0};
  if (is("sqrt.approx")) return Slack{2 * 0x1p-22, 0};
  if (is("ex2.approx.ftz.bf16")) return Slack{2 * 0x1p-7, 0};
  if (is("ex2.approx.f16")) return Slack{2 * 0x1p-9, 0x1p-24};
  if (is("ex2.approx")) return Slack{2 * 0x1p-21, 0x1p-126};
  if (is("lg2.approx")) return x > 0.5 && x < 2 ? Slack{0, 2 * 0x1p-22} : Slack{2 * 0x1p-22, 0};
  if (is("tanh.approx.bf16")) return Slack{2 * 0x1p-7, 0};
  if (is("tanh.approx")) return Slack{2 * 0x1p-10, 0};
  // Outside the range for which the manual gives a bound, the error grows with the argument.
  if (is("sin.approx") || is("cos.approx")) return Slack{0, 2 * 0x1p-20 * std::max(1.0, std::fabs(x) / 3)};
  return std::nullopt;
}

// Inputs for which the manual leaves the result open.
bool left_open(const Form& form, const uint64_t* in) {
  if (form.text.starts_with("fns")) return static_cast<uint32_t>(in[1]) >= 32;  // base: a lane's number
  // The manual's formula takes the low eight bits of position and length; ptxas' code for 64 bits takes them whole.
  if (form.text.starts_with("bfe.") && form.text.ends_with("64")) return (in[1] | in[2]) > 255;
  // Of NaN, .rna.tf32 keeps a part of the bits, down to an infinity, and with .satfinite the largest number.
  if (form.text == "cvt.rna.tf32.f32" || form.text == "cvt.rna.satfinite.tf32.f32") return std::isnan(value_of(in[0], "f32"));
  // Large arguments are outside what the manual bounds, and lie beyond any use.
  if (form.text.starts_with("sin.") || form.text.starts_with("cos.")) return std::fabs(value_of(in[0], "f32")) > 1e4;
  return false;
}

bool agrees(const Form& form, uint64_t engine, uint64_t gpu, const uint64_t* in) {
  auto ours = lanes(engine, form), theirs = lanes(gpu, form);
  for (size_t k = 0; k < ours.size(); ++k) {
    auto& [bits, type] = ours[k];
    if (bits == theirs[k].first) continue;
    if (type[0] != 'f' && type != "bf16") return false;
    double a = value_of(bits, type), b = value_of(theirs[k].first, type);
    if (std::isnan(a) && std::isnan(b)) continue;
    auto source = lanes(in[0], Form{"", "", form.sources[0], {}, 0});
    auto slack = slack_of(form.text, value_of(source[std::min(k, source.size() - 1)].first, source[0].second));
    if (!slack || !(std::fabs(a - b) <= slack->relative * std::fabs(b) + slack->absolute)) return false;
  }
  return true;
}

class Hardware : public testing::Test {
 protected:
  void SetUp() override {
    auto read = [](const char* name) {
      auto text = base::read_file(std::filesystem::path(PTXLAB_SOURCE_DIR) / "tests/hardware" / name);
      EXPECT_TRUE(text.ok()) << name;
      return text.ok() ? *text : std::string();
    };
    checked_ = ptx::check(read("forms.ptx"), "forms.ptx");
    ASSERT_TRUE(checked_.ok()) << base::render(checked_.findings, checked_.module.source);
    forms_ = read_forms(checked_.module.source);
    inputs_ = read("inputs.bin");
    results_ = read("results.bin");
    // Forms that came after the last recording stand at the end and have no answer yet.
    recorded_ = results_.size() / (kRows * 8);
    ASSERT_GE(recorded_, 1057u);
    ASSERT_LE(recorded_, forms_.size());
  }

  // The engine's answers to one form's inputs; empty where it has no handler.
  std::vector<uint64_t> answers(const Form& form) {
    auto program = simt::make_simt_engine()->load(checked_.module, std::vector{form.entry});
    if (!program.ok()) return {};
    simt::Memory memory(1);
    size_t in = memory.allocate("in", kRows * 24, launch::ResolvedBuffer::Init::zero);
    size_t out = memory.allocate("out", kRows * 8, launch::ResolvedBuffer::Init::poison);
    std::memcpy(memory.allocation(in).data.data(), inputs_.data() + form.inputs * kRows * 24, kRows * 24);
    launch::ResolvedLaunch launch;
    launch.entry = form.entry;
    launch.block = {kRows, 1, 1};
    launch.parameters.resize(16);
    launch.pointers = {{0, 0, 0}, {8, 1, 0}};
    std::vector<size_t> buffers{in, out};
    auto report = (*program)->run(launch, buffers, memory, {}, {});
    EXPECT_TRUE(report.completed) << form.text << "\n" << base::render(report.findings, checked_.module.source);
    std::vector<uint64_t> answer(kRows);
    std::memcpy(answer.data(), memory.allocation(out).data.data(), kRows * 8);
    return answer;
  }

  ptx::Checked checked_;
  std::vector<Form> forms_;
  std::string inputs_, results_;
  size_t recorded_ = 0;
};

TEST_F(Hardware, EveryFormAnswersAsTheGpuDoes) {
  size_t compared = 0;
  std::vector<std::string> missing;
  for (size_t k = 0; k < forms_.size(); ++k) {
    const Form& form = forms_[k];
    auto ours = answers(form);
    if (ours.empty()) {
      missing.push_back(form.text);
      continue;
    }
    for (size_t row = 0; row < kRows && k < recorded_; ++row) {
      uint64_t gpu, in[3];
      std::memcpy(&gpu, results_.data() + (k * kRows + row) * 8, 8);
      std::memcpy(in, inputs_.data() + (form.inputs * kRows + row) * 24, 24);
      if (left_open(form, in)) continue;
      ++compared;
      if (agrees(form, ours[row], gpu, in)) continue;
      ADD_FAILURE() << fmt::format("{} of {:#x} {:#x} {:#x}: engine {:#x}, GPU {:#x}", form.text, in[0], in[1], in[2],
                                   ours[row], gpu);
      break;
    }
  }
  EXPECT_EQ(missing, std::vector<std::string>{});
  EXPECT_GT(compared, recorded_ * kRows * 9 / 10);
}

}  // namespace
}  // namespace ptxlab

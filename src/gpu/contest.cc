#include "gpu/contest.h"

#include "gpu/wire.h"

namespace ptxlab::gpu {
namespace {

Arm read_arm(Reader& in) {
  auto arm = in.number<uint8_t>();
  if (arm >= kArms) in.fail();
  return arm == 0 ? Arm::a : Arm::b;
}

template <class T>
void write(Writer& out, const std::optional<T>& value) {
  out.number<uint8_t>(value.has_value());
  out.number<T>(value.value_or(T{}));
}
template <class T>
void read(Reader& in, std::optional<T>& value) {
  bool there = in.number<uint8_t>() != 0;
  T number = in.number<T>();
  if (there) value = number;
}

template <class T>
void write(Writer& out, const std::vector<T>& numbers) {
  out.number<uint64_t>(numbers.size());
  for (T number : numbers) out.number(number);
}
template <class T>
std::vector<T> read_numbers(Reader& in) {
  std::vector<T> numbers;
  for (size_t n = in.count(sizeof(T)); n > 0; --n) numbers.push_back(in.number<T>());
  return numbers;
}

void write(Writer& out, const Sensors& sensors) {
  write(out, sensors.sm_mhz);
  write(out, sensors.memory_mhz);
  write(out, sensors.celsius);
  write(out, sensors.watts);
  write(out, sensors.throttle);
  write(out, sensors.ecc_errors);
}
Sensors read_sensors(Reader& in) {
  Sensors sensors;
  read(in, sensors.sm_mhz);
  read(in, sensors.memory_mhz);
  read(in, sensors.celsius);
  read(in, sensors.watts);
  read(in, sensors.throttle);
  read(in, sensors.ecc_errors);
  return sensors;
}

void write(Writer& out, const Opened::Look& look) {
  write(out, look.contents);
  out.number<uint8_t>(look.as_a);
  write(out, look.overruns);
  write(out, look.changed);
  write(out, look.unsteady);
  out.number<uint8_t>(look.poisoned);
}
Opened::Look read_look(Reader& in) {
  Opened::Look look;
  look.contents = read_blobs(in);
  look.as_a = in.number<uint8_t>() != 0;
  look.overruns = read_overruns(in);
  look.changed = read_numbers<uint32_t>(in);
  look.unsteady = read_numbers<uint32_t>(in);
  look.poisoned = in.number<uint8_t>() != 0;
  return look;
}

void write(Writer& out, const Pair& pair) {
  for (float time : pair.microseconds) out.number(time);
  for (float clock : pair.mhz) out.number(clock);
  out.number(pair.first);
  out.number(pair.variant);
  out.number(pair.set);
}
Pair read_pair(Reader& in) {
  Pair pair;
  for (float& time : pair.microseconds) time = in.number<float>();
  for (float& clock : pair.mhz) clock = in.number<float>();
  pair.first = read_arm(in);
  pair.variant = in.number<uint8_t>();
  pair.set = in.number<uint16_t>();
  return pair;
}
constexpr size_t kPairBytes = 20;

void write(Writer& out, const Epoch& epoch) {
  out.number<uint64_t>(epoch.pairs.size());
  for (const auto& pair : epoch.pairs) write(out, pair);
  write(out, epoch.before);
  write(out, epoch.after);
  out.number(epoch.milliseconds);
}
Epoch read_epoch(Reader& in) {
  Epoch epoch;
  for (size_t n = in.count(kPairBytes); n > 0; --n) epoch.pairs.push_back(read_pair(in));
  epoch.before = read_sensors(in);
  epoch.after = read_sensors(in);
  epoch.milliseconds = in.number<double>();
  return epoch;
}

// Both plans begin with the same buffers, and the change lies in one of them.
bool fits(const Contest& contest) {
  for (const auto& side : contest.sides) {
    if (contest.shared > side.plan.buffers.size()) return false;
  }
  for (uint32_t i = 0; i < contest.shared; ++i) {
    if (contest.sides[0].plan.buffers[i] != contest.sides[1].plan.buffers[i]) return false;
  }
  if (!contest.elements.empty() && contest.elements.size() != contest.shared) return false;
  for (Element element : contest.elements) {
    if (element > Element::f64) return false;
  }
  const auto& change = contest.change;
  if (change.bytes.empty()) return contest.contents.size() == contest.shared;
  if (change.buffer >= contest.shared || contest.contents.size() != contest.shared) return false;
  uint64_t room = contest.contents[change.buffer].size();
  return change.offset <= room && change.bytes.size() <= room - change.offset;
}

}  // namespace

void write(Writer& out, const Contest& contest) {
  for (const auto& side : contest.sides) {
    out.text(side.code);
    write(out, side.plan);
    out.number<uint8_t>(side.reload);
  }
  out.number(contest.shared);
  write(out, contest.contents);
  write(out, contest.elements);
  out.number(contest.change.buffer);
  out.number(contest.change.offset);
  out.text(contest.change.bytes);
  out.number(contest.seed);
  out.number(contest.pairs);
  out.number(contest.guard);
  out.number<uint8_t>(contest.outputs);
}

bool read(Reader& in, Contest& contest) {
  for (auto& side : contest.sides) {
    side.code = in.text();
    side.plan = read_plan(in);
    side.reload = in.number<uint8_t>() != 0;
  }
  contest.shared = in.number<uint32_t>();
  contest.contents = read_blobs(in);
  contest.elements = read_numbers<Element>(in);
  contest.change.buffer = in.number<uint32_t>();
  contest.change.offset = in.number<uint64_t>();
  contest.change.bytes = in.text();
  contest.seed = in.number<uint64_t>();
  contest.pairs = in.number<uint32_t>();
  contest.guard = in.number<uint32_t>();
  contest.outputs = in.number<uint8_t>() != 0;
  return in.complete() && fits(contest);
}

void write(Writer& out, const Opened& opened) {
  out.number(opened.end);
  out.number(opened.arm);
  out.text(opened.message);
  for (const auto& arm : opened.looks) {
    for (const auto& look : arm) write(out, look);
  }
  for (double time : opened.microseconds) out.number(time);
  out.number(opened.batch);
  out.number(opened.sets);
  out.number(opened.pairs);
  out.number(opened.event_overhead);
  out.number(opened.reserved_bytes);
}

bool read(Reader& in, Opened& opened) {
  opened.end = read_end(in);
  opened.arm = read_arm(in);
  opened.message = in.text();
  for (auto& arm : opened.looks) {
    for (auto& look : arm) look = read_look(in);
  }
  for (double& time : opened.microseconds) time = in.number<double>();
  opened.batch = in.number<uint32_t>();
  opened.sets = in.number<uint32_t>();
  opened.pairs = in.number<uint32_t>();
  opened.event_overhead = in.number<double>();
  opened.reserved_bytes = in.number<double>();
  return in.complete();
}

void write(Writer& out, const MeasureRequest& request) {
  out.number(request.epochs);
  write(out, request.apart);
}

bool read(Reader& in, MeasureRequest& request) {
  request.epochs = in.number<uint32_t>();
  request.apart = read_numbers<double>(in);
  return in.complete();
}

void write(Writer& out, const Measured& measured) {
  out.number(measured.end);
  out.number(measured.arm);
  out.text(measured.message);
  out.number<uint64_t>(measured.epochs.size());
  for (const auto& epoch : measured.epochs) write(out, epoch);
  out.number(measured.checked);
  out.number(measured.projected);
  out.number<uint64_t>(measured.mismatches.size());
  for (const auto& mismatch : measured.mismatches) {
    out.number(mismatch.arm);
    out.number(mismatch.epoch);
    out.number(mismatch.pair);
    out.number(mismatch.variant);
    out.number<uint8_t>(mismatch.input);
  }
}

bool read(Reader& in, Measured& measured) {
  measured.end = read_end(in);
  measured.arm = read_arm(in);
  measured.message = in.text();
  for (size_t n = in.count(kPairBytes); n > 0; --n) measured.epochs.push_back(read_epoch(in));
  measured.checked = in.number<uint64_t>();
  measured.projected = in.number<uint64_t>();
  for (size_t n = in.count(11); n > 0; --n) {
    Mismatch mismatch;
    mismatch.arm = read_arm(in);
    mismatch.epoch = in.number<uint32_t>();
    mismatch.pair = in.number<uint32_t>();
    mismatch.variant = in.number<uint8_t>();
    mismatch.input = in.number<uint8_t>() != 0;
    measured.mismatches.push_back(mismatch);
  }
  return in.complete();
}

}  // namespace ptxlab::gpu

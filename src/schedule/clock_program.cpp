#include "schedule/clock_program.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace nereus::schedule {

using plan::Schedule;

int round_of(Schedule schedule, const PipelineSize& size) {
  if (schedule == Schedule::kInterleaved && size.chunks > 1) return size.depth;
  return schedule == Schedule::kDualPipe ? 2 : 1;
}

namespace {

// Sorts passes by the number of steps before them: consecutive passes then mostly do not depend on
// each other, and a processor can execute several at once.
PassProgram by_level(const PassProgram& program) {
  std::vector<int> level(program.ops.size());
  std::vector<int> rank_level(program.num_ops.size());
  for (std::size_t i = 0; i < program.ops.size();) {
    const std::size_t last = i + (program.ops[i].op.with_next ? 1 : 0);
    int& own = rank_level[program.ops[i].rank];
    for (std::size_t j = i; j <= last; ++j)
      if (const int needs = program.ops[j].needs; needs >= 0) own = std::max(own, level[needs]);
    ++own;
    for (; i <= last; ++i) level[i] = own;
  }
  // Counted out by level, those of a level in the order they have.
  const int levels = *std::max_element(rank_level.begin(), rank_level.end());
  std::vector<int> next(static_cast<std::size_t>(levels) + 2);
  for (const int own : level) ++next[static_cast<std::size_t>(own) + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  std::vector<int> sequence(program.ops.size());
  for (std::size_t i = 0; i < level.size(); ++i) sequence[next[level[i]]++] = static_cast<int>(i);
  std::vector<int> place(sequence.size());
  for (std::size_t i = 0; i < sequence.size(); ++i) place[sequence[i]] = static_cast<int>(i);
  PassProgram out = program;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    out.ops[i] = program.ops[sequence[i]];
    if (int& needs = out.ops[i].needs; needs >= 0) needs = place[needs];
  }
  return out;
}

}  // namespace

ClockProgram::ClockProgram(Schedule schedule, const PipelineSize& size, bool extends)
    : size_(size), dual_(schedule == Schedule::kDualPipe) {
  const Order order = make_order(schedule, size);
  const PassProgram program = by_level(compile(order, size));
  lay_out(program);
  if (extends) find_round(schedule, order, program);
  find_tails(program);
}

// DualPipe's second stream is counted on its own.
PipelineOp ClockProgram::moved(PipelineOp op, const PipelineSize& size, int by) const {
  const int half = size.micro_batches / 2;
  if (dual_ && op.micro_batch >= half) op.micro_batch += 1'000'000 - half;
  op.micro_batch += dual_ ? by / 2 : by;
  return op;
}

int ClockProgram::slot_of(const ProgramOp& op) {
  const int own = op.op.stage * kNumSlots;
  const bool alone = op.sends_alone && op.sends != MessageKind::kNone;
  switch (op.op.pass) {
    case Pass::kForward:
      return own + (alone ? kForwardAlone : kForward);
    case Pass::kBackward:
      return own + (alone ? kBackAlone : kBack);
    case Pass::kInput:
      return own + (alone ? kInputAlone : kInput);
    default:
      return own + kWeight;
  }
}

void ClockProgram::lay_out(const PassProgram& program) {
  const auto num_slots = static_cast<std::size_t>(size_.num_stages()) * kNumSlots;
  const auto none = static_cast<int>(num_slots);  // takes no time
  std::vector<bool> used(num_slots);
  seconds_.assign(num_slots + 1, 0);
  held_.assign(num_slots + 1, 0);
  lanes_.resize(static_cast<std::size_t>(size_.depth));
  numbers_.clear();
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const ProgramOp& op = program.ops[i];
    const int slot = slot_of(op);
    Lane& lane = lanes_[op.rank];
    const int needs = op.needs < 0 ? 0 : numbers_[op.needs];
    ops_.push_back({lane.free, needs, slot});
    const auto number = static_cast<int>(ops_.size());
    numbers_.push_back(number);
    if (lane.first == 0) {
      lane.first = number;
      lane.first_slot = slot;
    }
    lane.free = lane.last = number;
    lane.last_slot = slot;
    if (op.op.with_next) pairs_.push_back(number);
    if (!pairs_.empty() && pairs_.back() == number - 1) {
      // The rank goes on when the messages of both have arrived.
      ops_.push_back({number - 1, number, none});
      lane.free = number + 1;
    }
    if (used[slot]) continue;
    used[slot] = true;
    const bool forward = op.op.pass == Pass::kForward;
    const bool end =
        op.op.pass != Pass::kWeight && op.op.stage == (forward ? size_.num_stages() - 1 : 0);
    sources_.push_back(
        {op.op.stage, static_cast<Slot>(slot % kNumSlots), op.sends != MessageKind::kNone, end});
  }
  there_.assign(ops_.size() + 1, 0);
}

// From each rank's last pass back to the first backward pass that is the last of its stage.
void ClockProgram::find_tails(const PassProgram& program) {
  std::vector<bool> found(static_cast<std::size_t>(size_.num_stages()));
  std::vector<std::vector<Tail>> tails(static_cast<std::size_t>(size_.depth));
  std::vector<int> left(tails.size(), size_.chunks);  // stages whose last one is yet to come
  for (std::size_t i = program.ops.size(); i-- > 0;) {
    const ProgramOp& op = program.ops[i];
    const auto rank = static_cast<std::size_t>(op.rank);
    if (op.op.pass == Pass::kInput || op.op.with_next) return;  // no reduction beside these
    if (left[rank] == 0) continue;
    const int number = numbers_[i];
    Tail tail{number, ops_[number - 1].slot, -1, false};
    const auto stage = static_cast<std::size_t>(op.op.stage);
    if (op.op.pass == Pass::kBackward && !found[stage]) {
      found[stage] = true;
      tail.stage = op.op.stage;
      tail.last = --left[rank] == 0;
    }
    tails[rank].push_back(tail);
  }
  for (const std::vector<Tail>& own : tails) tails_.insert(tails_.end(), own.begin(), own.end());
}

// Where an additional round is inserted on every rank, and how far back its passes refer.
void ClockProgram::find_round(Schedule schedule, const Order& order, const PassProgram& program) {
  round_ = round_of(schedule, size_);
  PipelineSize larger = size_;
  larger.micro_batches += round_;
  const Order next = make_order(schedule, larger);
  std::vector<int> cut, length;
  for (std::size_t r = 0; r < order.size(); ++r) {
    const auto same = [&](std::size_t a, std::size_t b, int by) {
      return moved(order[r][a], size_, by) == moved(next[r][b], larger, 0);
    };
    const std::size_t more = next[r].size() - order[r].size();
    std::size_t common = 0;
    while (common < order[r].size() && same(common, common, 0)) ++common;
    if (common < 2 * more) return;
    for (std::size_t i = common; i < order[r].size(); ++i)
      if (!same(i, i + more, round_)) return;
    for (std::size_t i = common - 2 * more; i < common; ++i)
      if (!same(i, i + more, round_)) return;
    // A round earlier does as well, and is free of the last micro-batch.
    cut.push_back(static_cast<int>(common - more));
    length.push_back(static_cast<int>(more));
  }
  // Numbers of each rank's passes, and the position of each pass.
  std::vector<std::vector<int>> numbers(order.size());
  std::vector<int> position(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    auto& own = numbers[program.ops[i].rank];
    position[i] = static_cast<int>(own.size());
    own.push_back(static_cast<int>(i));
  }
  int rounds = 1;
  for (std::size_t r = 0; r < order.size(); ++r)
    for (int j = cut[r] - length[r]; j < cut[r]; ++j) {
      const ProgramOp& op = program.ops[numbers[r][j]];
      if (op.needs < 0) continue;
      const auto other = static_cast<std::size_t>(program.ops[op.needs].rank);
      const int back = cut[other] - length[other] - position[op.needs];
      rounds = std::max(rounds, (back + length[other] - 1) / length[other]);
    }
  std::vector<Twins> twins;
  for (std::size_t r = 0; r < order.size(); ++r)
    for (int j = cut[r] - rounds * length[r]; j < cut[r]; ++j) {
      if (j < length[r]) return;
      const int after = numbers[r][j];
      const int before = numbers[r][j - length[r]];
      const auto number = [&](int op) { return numbers_[op]; };
      const auto slot = [&](int op) { return ops_[number(op) - 1].slot; };
      if (slot(after) != slot(before)) return;
      twins.push_back({number(before), number(after)});
    }
  twins_ = std::move(twins);
}

double ClockProgram::takes(const StageSeconds& own, Slot slot) {
  switch (slot) {
    case kForward:
    case kForwardAlone:
      return own.forward;
    case kBack:
    case kBackAlone:
      return own.input + own.weight;
    case kInput:
    case kInputAlone:
      return own.input;
    default:
      return own.weight;
  }
}
double ClockProgram::message(const StageSeconds& own, Slot slot) {
  switch (slot) {
    case kForward:
      return own.send;
    case kForwardAlone:
      return own.send_alone;
    case kBackAlone:
    case kInputAlone:
      return own.send_back_alone;
    default:
      return own.send_back;
  }
}

void ClockProgram::fill_slots(const PipelineSeconds& times) {
  NEREUS_CHECK(times.stages.size() == static_cast<std::size_t>(size_.num_stages()),
               "every virtual stage has its times");
  for (const Source& source : sources_) {
    const StageSeconds& own = times.stages[source.stage];
    const auto slot = static_cast<std::size_t>(source.stage * kNumSlots + source.slot);
    held_[slot] = source.sends ? message(own, source.slot) : source.end ? times.ends : 0;
    seconds_[slot] = takes(own, source.slot) + held_[slot];
  }
}

void ClockProgram::run() {
  double* const there = there_.data();
  const double* const takes = seconds_.data();
  double* own = there;
  for (const LeanOp& op : ops_)
    *++own = std::max(there[op.before], there[op.needs]) + takes[op.slot];
}

void ClockProgram::run_pairs() {
  std::size_t next = 0;
  for (std::size_t i = 1; i <= ops_.size(); ++i) {
    const LeanOp& op = ops_[i - 1];
    const auto at = [&](int number) { return there_[number]; };
    const auto of = [&](const std::vector<double>& list, const LeanOp& own) {
      return list[own.slot];
    };
    const double start = std::max(at(op.before), at(op.needs));
    if (next == pairs_.size() || pairs_[next] != static_cast<int>(i)) {
      there_[i] = start + of(seconds_, op);
      continue;
    }
    ++next;
    const LeanOp& second = ops_[i];
    const double both = std::max(start, at(second.needs)) + of(seconds_, op) - of(held_, op) +
                        of(seconds_, second) - of(held_, second);
    there_[i] = both + of(held_, op);
    there_[++i] = both + of(held_, second);
  }
}

// Whether the last round is as long on every rank, and how long.
bool ClockProgram::at_rest(double& round) const {
  constexpr double kRest = 1e-11;
  if (twins_.empty()) return false;
  double least = 1e300;
  round = 0;
  for (const Twins& twins : twins_) {
    const double by = there_[twins.after] - there_[twins.before];
    least = std::min(least, by);
    round = std::max(round, by);
  }
  return round - least <= kRest * round;
}

bool ClockProgram::play(const PipelineSeconds& times, int micro_batches, bool staggered,
                        PipelineClose& close) {
  fill_slots(times);
  if (pairs_.empty())
    run();
  else
    run_pairs();
  double more = 0;
  if (micro_batches > size_.micro_batches) {
    if (!at_rest(more)) return false;
    more *= static_cast<double>(micro_batches - size_.micro_batches) / round_;
  }
  const auto there = [&](int number) { return there_[number]; };
  const auto of = [](const std::vector<double>& list, int slot) { return list[slot]; };
  close.end.resize(lanes_.size());
  for (std::size_t r = 0; r < lanes_.size(); ++r) {
    const Lane& lane = lanes_[r];
    const double start = there(lane.first) - of(seconds_, lane.first_slot);
    close.end[r] = there(lane.last) - of(held_, lane.last_slot) + more - (staggered ? start : 0);
  }
  const std::size_t stages = tails_.empty() ? 0 : times.stages.size();
  close.last_back.resize(stages);
  close.busy_after.resize(stages);
  double busy = 0;
  for (const Tail& tail : tails_) {
    busy += of(seconds_, tail.slot) - of(held_, tail.slot);
    if (tail.stage >= 0) {
      const auto stage = static_cast<std::size_t>(tail.stage);
      close.last_back[stage] = there(tail.number) - of(seconds_, tail.slot) + more;
      close.busy_after[stage] = busy;
    }
    if (tail.last) busy = 0;
  }
  return true;
}

}  // namespace nereus::schedule

#include <algorithm>

#include "base/error.hpp"
#include "simulate/pipeline/varuna.hpp"

namespace nereus::simulate {

namespace {

constexpr Picoseconds kNotKnown = -1;

}  // namespace

VarunaPlayer::VarunaPlayer(const PipelineSize& size, RecomputeStart recompute, PullAhead pull)
    : size_(size), recompute_(recompute), static_(schedule::varuna_order(size)) {
  NEREUS_CHECK(size.chunks == 1, "Varuna has one stage a rank");
  most_ = pull == PullAhead::kAll ? std::vector<int>(static_.size(), size.micro_batches)
                                  : compile(static_, size, recompute).peaks;
  const auto depth = static_cast<std::size_t>(size.depth);
  there_.resize(2 * depth * static_cast<std::size_t>(size.micro_batches));
  lanes_.resize(depth);
  choices_.reserve(depth);
  ready_.reserve(2 * depth);
  step_.order = static_;
  step_.played.ranks.resize(depth);
  for (std::size_t rank = 0; rank < depth; ++rank)
    step_.played.ranks[rank].ops.resize(static_[rank].size());
}

const PlayedVaruna& VarunaPlayer::play(const PassTimes& times, const Draws* draws) {
  check_times(times, size_);
  start(times, draws);
  while (true) {
    while (!ready_.empty()) {
      const int rank = ready_.back();
      ready_.pop_back();
      advance(rank);
    }
    if (choices_.empty()) break;
    std::pop_heap(choices_.begin(), choices_.end(), later);
    const Choice choice = choices_.back();
    choices_.pop_back();
    choose(choice);
  }
  for (std::size_t rank = 0; rank < lanes_.size(); ++rank) {
    NEREUS_CHECK(lanes_[rank].done == static_[rank].size(), "forward passes never wait for ever");
    step_.played.end = std::max(step_.played.end, lanes_[rank].free);
    step_.played.events += 2 * static_cast<std::int64_t>(lanes_[rank].done);
  }
  return step_;
}

void VarunaPlayer::start(const PassTimes& times, const Draws* draws) {
  times_ = &times;
  draws_ = draws;
  std::fill(there_.begin(), there_.end(), kNotKnown);
  std::fill(lanes_.begin(), lanes_.end(), Lane{});
  step_.played.clear_sums();
  for (PlayedRank& rank : step_.played.ranks) rank.peak = 0;
  for (int rank = size_.depth; rank-- > 0;) ready_.push_back(rank);
}

bool VarunaPlayer::later(const Choice& a, const Choice& b) {
  return a.at != b.at ? a.at > b.at : a.rank < b.rank;
}

// Advances a rank until it is done or must make a choice that depends on others.
void VarunaPlayer::advance(int rank) {
  const Lane& lane = lanes_[rank];
  while (lane.waits || pick(rank))
    if (!run(rank)) return;
}

bool VarunaPlayer::may_pull(const Lane& lane, int rank) const {
  return lane.forwards < size_.micro_batches && lane.micro_batches < most_[rank];
}

// Finds what the rank runs next. Returns false if it is done, or must choose.
bool VarunaPlayer::pick(int rank) {
  Lane& lane = lanes_[rank];
  const std::vector<PipelineOp>& own = static_[rank];
  // Forward passes that were pulled ahead.
  while (lane.position < own.size() && own[lane.position].pass == Pass::kForward &&
         own[lane.position].micro_batch < lane.forwards)
    ++lane.position;
  if (lane.position == own.size()) return false;
  const PipelineOp& op = own[lane.position];
  if (op.pass != Pass::kRecompute || !may_pull(lane, rank)) {
    take(lane, op);
    return true;
  }
  const Picoseconds now = std::max(lane.free, lane.held);
  const Picoseconds gradient = there_[cell(1, rank + 1, op.micro_batch)];
  if (gradient == kNotKnown) {
    choices_.push_back({now, rank});
    std::push_heap(choices_.begin(), choices_.end(), later);
    return false;
  }
  if (gradient <= now)
    take(lane, op);
  else
    pull_forward(lane, rank);
  return true;
}

// Everything that happens earlier is known, so a gradient that is unknown has not arrived.
void VarunaPlayer::choose(const Choice& choice) {
  Lane& lane = lanes_[choice.rank];
  const PipelineOp& op = static_[choice.rank][lane.position];
  const Picoseconds gradient = there_[cell(1, choice.rank + 1, op.micro_batch)];
  if (gradient != kNotKnown && gradient <= choice.at)
    take(lane, op);
  else
    pull_forward(lane, choice.rank);
  if (run(choice.rank)) advance(choice.rank);
}

void VarunaPlayer::take(Lane& lane, const PipelineOp& op) {
  lane.next = op;
  ++lane.position;
  if (op.pass == Pass::kForward) ++lane.forwards;
}

void VarunaPlayer::pull_forward(Lane& lane, int rank) {
  lane.next = {Pass::kForward, rank, lane.forwards++};
}

const Picoseconds* VarunaPlayer::input_of(const PipelineOp& op) const {
  if (op.pass == Pass::kForward)
    return op.stage > 0 ? &there_[cell(0, op.stage - 1, op.micro_batch)] : nullptr;
  if (op.pass == Pass::kRecompute && recompute_ == RecomputeStart::kEarly) return nullptr;
  return op.stage + 1 < size_.depth ? &there_[cell(1, op.stage + 1, op.micro_batch)] : nullptr;
}

// Runs `next`. Returns false if the arrival of its input is not known; the sender then calls again.
bool VarunaPlayer::run(int rank) {
  const auto r = static_cast<std::size_t>(rank);
  Lane& lane = lanes_[r];
  const PipelineOp op = lane.next;
  const Picoseconds* input = input_of(op);
  lane.waits = input != nullptr && *input == kNotKnown;
  if (lane.waits) return false;

  PlayedRank& played = step_.played.ranks[r];
  Picoseconds start = std::max(lane.free, lane.held);
  played.waited[static_cast<std::size_t>(WaitCause::kOwnSend)] += start - lane.free;
  if (input != nullptr && *input > start) {
    const WaitCause cause = op.pass == Pass::kForward ? WaitCause::kInput : WaitCause::kGradient;
    played.waited[static_cast<std::size_t>(cause)] += *input - start;
    start = *input;
  }
  Picoseconds time = pass_time(*times_, size_, op);
  if (draws_ != nullptr) time = draws_->compute(rank, draw_key(op), time);
  lane.free = start + time;
  played.busy += time;
  played.busy_in[static_cast<std::size_t>(op.pass)] += time;
  if (op.pass == Pass::kForward) played.peak = std::max(played.peak, ++lane.micro_batches);
  if (op.pass == Pass::kBackward) --lane.micro_batches;
  step_.order[r][lane.done] = op;
  played.ops[lane.done++] = {start, lane.free};
  if (op.pass != Pass::kRecompute) send(rank, op, lane.free);
  return true;
}

void VarunaPlayer::send(int rank, const PipelineOp& op, Picoseconds end) {
  const bool forward = op.pass == Pass::kForward;
  const int to = forward ? rank + 1 : rank - 1;
  if (to < 0 || to == size_.depth) return;
  const bool alone = op.micro_batch == (forward ? 0 : size_.micro_batches - 1);
  Picoseconds time = message_time(
      *times_, size_,
      {op, rank, -1, forward ? MessageKind::kActivation : MessageKind::kGradient, alone});
  if (draws_ != nullptr) time = draws_->link(draw_key(op), time);
  Lane& lane = lanes_[rank];
  const Picoseconds arrival = lane.wires[forward ? 0 : 1].send(end, time, times_->at_once);
  there_[cell(forward ? 0 : 1, rank, op.micro_batch)] = arrival;
  if (times_->blocking) lane.held = std::max(lane.held, arrival);
  ++step_.played.events;
  const Lane& other = lanes_[to];
  if (other.waits && other.next.micro_batch == op.micro_batch &&
      (other.next.pass == Pass::kForward) == forward)
    ready_.push_back(to);
}

}  // namespace nereus::simulate

#include "simulate/job/job_play.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "simulate/job/availability_file.hpp"
#include "simulate/job/job_checkpoints.hpp"

namespace nereus::simulate::job_play_test {
namespace {

// Rates that grow with the machines, from `least` on.
JobRates even_rates(int most, int least, double each, double samples, int stages = 0) {
  JobRates rates;
  rates.samples_per_step = samples;
  for (int n = 0; n <= most; ++n)
    rates.by_machines.push_back(n < least ? JobRate{} : JobRate{n * each, n, stages, 1e9, ""});
  return rates;
}

double sum_of(const JobPlay& play) {
  double sum = 0;
  for (const double seconds : play.spent) sum += seconds;
  return sum;
}

// The same rules implemented again, step by step and without segments: checkpoint and restart if a
// machine leaves every `period` seconds.
double steps_by_hand(const JobRates& rates, const Policy& policy, int most, int least,
                     double period) {
  double steps = 0, saved = 0;
  for (int n = most; n > least; --n) {
    const double end = (most - n + 1) * period;
    double now = (most - n) * period + (n < most ? policy.restart : 0);
    const double step = rates.samples_per_step / rates.of(n).samples_per_s;
    double since = 0;
    while (now + step <= end + 1e-9) {
      now += step;
      steps += 1;
      since += 1;
      if (policy.from_survivors) {
        saved = steps;
      } else if (since == policy.checkpoint_steps) {
        if (now + policy.checkpoint > end + 1e-9) break;
        now += policy.checkpoint;
        saved = steps;
        since = 0;
      }
    }
    if (n > least + 1) steps = saved;
  }
  return steps;
}

TEST(PlayJob, AgreesWithTheRulesByHand) {
  const JobRates rates = even_rates(30, 1, 1.7, 512);
  for (const double period : {600.0, 1800.0, 3600.0, 10800.0}) {
    SCOPED_TRACE(period);
    const Availability trace = regular_failures(30, 15, period);
    for (const Policy& policy : {varuna_policy(13, 83), varuna_policy(0, 7), oobleck_policy(6)}) {
      const JobPlay play = play_job(trace, rates, policy);
      EXPECT_EQ(play.steps, steps_by_hand(rates, policy, 30, 15, period)) << policy.name;
      EXPECT_NEAR(sum_of(play), trace.duration(), 1e-6);
    }
  }
}

// Detection and a gigabyte over a link of a gigabyte a second are a constant like any other.
TEST(PlayJob, OursIsTheSameRuleWhereNothingComesBack) {
  const JobRates rates = even_rates(30, 1, 1.7, 512);
  for (const double period : {600.0, 1800.0, 3600.0})
    EXPECT_EQ(play_job(regular_failures(30, 15, period), rates, our_policy(2, 1e9)).steps,
              steps_by_hand(rates, oobleck_policy(3), 30, 15, period));
}

TEST(PlayJob, ACheckpointCountsOnceItIsWritten) {
  const JobRates rates = even_rates(2, 1, 1, 10, 2);  // steps of 5 s; no copies
  const Availability trace =
      parse_availability("seconds,event,node\n0,add,a\n0,add,b\n32,remove,b\n60,remove,a\n", "t");
  Policy policy = our_policy(2, 0);
  policy.checkpoint_every = 10;  // at 10 s, 20 s and 30 s
  const auto steps = [&](double write) {
    policy.write = write;
    return play_job(trace, rates, policy).steps;
  };
  // From 34 s on two steps of 10 s, and what was safe at 32 s: six steps or four.
  EXPECT_EQ(steps(0), 6 + 2);
  EXPECT_EQ(steps(3), 4 + 2);
  EXPECT_EQ(steps(9), 4 + 2);
}

TEST(PlayJob, ReplicasThatGoTakeNoStateAlong) {
  // Two stages; six machines, then four: the two replicas that are left go on at once.
  JobRates rates = even_rates(6, 2, 1, 10, 2);
  for (std::size_t n = 2; n < rates.by_machines.size(); ++n)
    rates.by_machines[n] = {static_cast<double>(n / 2 * 2), static_cast<int>(n / 2 * 2), 2, 1e12,
                            ""};
  const std::string begin =
      "seconds,event,node\n0,add,a\n0,add,b\n0,add,c\n0,add,d\n0,add,e\n0,add,f\n";
  const auto restart = [&](const std::string& gone) {
    const Availability trace = parse_availability(begin + gone + "1000,remove,a\n", "t");
    return play_job(trace, rates, our_policy(2, 1e10)).spent[static_cast<int>(Activity::kRestart)];
  };
  EXPECT_DOUBLE_EQ(restart("100,remove,c\n100,remove,f\n"), 2);        // one of each stage
  EXPECT_DOUBLE_EQ(restart("100,remove,e\n100,remove,f\n"), 2 + 100);  // one changes its stage
}

TEST(PlayJob, ALossIsSeenWhenTheTraceSaysSo) {
  const JobRates rates = even_rates(2, 1, 1, 10);  // steps of 5 s on two, of 10 s on one
  const auto spent = [&](const std::string& seen, Activity activity) {
    const std::string text =
        "seconds,event,node,seen\n0,add,a,\n0,add,b,\n12,remove,b," + seen + "\n60,remove,a,\n";
    Policy policy = our_policy(2, 0);
    policy.restart = 0.5;
    return play_job(parse_availability(text, "t"), rates, policy).spent[static_cast<int>(activity)];
  };
  EXPECT_DOUBLE_EQ(spent("", Activity::kRestart), 2.5);
  EXPECT_DOUBLE_EQ(spent("0", Activity::kRestart), 0.5);
  EXPECT_DOUBLE_EQ(spent("3.25", Activity::kRestart), 3.75);
  EXPECT_DOUBLE_EQ(spent("0", Activity::kLost), 2);
  // Told seven seconds before, it leaves after the step that ends then; told one before, too late.
  EXPECT_DOUBLE_EQ(spent("-7", Activity::kRestart), 0.5);
  EXPECT_DOUBLE_EQ(spent("-7", Activity::kLost), 0);
  EXPECT_DOUBLE_EQ(spent("-1", Activity::kLost), 2);
}

TEST(PlayJob, PlansAreChosenByWhatWasPlanned) {
  // Two machines were planned to be faster and are slower: they are taken all the same.
  JobRates rates = even_rates(2, 1, 1, 10);
  rates.by_machines[1].samples_per_s = 3;
  const Availability trace =
      parse_availability("seconds,event,node\n0,add,a\n0,add,b\n30,remove,b\n", "t");
  EXPECT_EQ(play_job(trace, rates, our_policy(2, 0)).steps, 9);
  rates.by_machines[1].planned = 1;
  EXPECT_EQ(play_job(trace, rates, our_policy(2, 0)).steps, 6);
}

TEST(PlayJob, MachinesThatComeOneAfterTheOtherComeTogether) {
  const JobRates rates = even_rates(3, 1, 1, 0.1);
  const Availability trace = parse_availability(
      "seconds,event,node\n0,add,a\n100,add,b\n100.5,add,c\n1000,remove,a\n", "t");
  Policy policy = our_policy(2, 0);
  policy.restart = 0.1;
  EXPECT_EQ(play_job(trace, rates, policy).restarts, 1);
  policy.gather = 0;
  EXPECT_EQ(play_job(trace, rates, policy).restarts, 2);
}

// Where no restart is longer than the time between failures nothing else differs.
TEST(PlayJob, LosesTheStepUnderWayAndNoMore) {
  const JobRates rates = even_rates(2, 1, 1, 10);  // steps of 5 s on two, of 10 s on one
  const Availability trace =
      parse_availability("seconds,event,node\n0,add,a\n0,add,b\n12,remove,b\n36,remove,a\n", "t");
  Policy policy = our_policy(2, 0);
  const JobPlay play = play_job(trace, rates, policy);
  EXPECT_EQ(play.steps, 4);  // two, then from 14 s on two of 10 s
  EXPECT_DOUBLE_EQ(play.spent[static_cast<int>(Activity::kLost)], 2);
  EXPECT_DOUBLE_EQ(play.spent[static_cast<int>(Activity::kRestart)], 2);
  EXPECT_EQ(play.rollbacks, 0);
  // Two copies of one stage, then with two stages on two machines: no copy is left.
  const JobPlay thin = play_job(trace, even_rates(2, 1, 1, 10, 2), policy);
  EXPECT_EQ(thin.rollbacks, 1);
  EXPECT_EQ(thin.steps, 2);
}

TEST(PlayJob, GrowsWhereThatPays) {
  const JobRates rates = even_rates(3, 1, 1, 10);
  std::string text = "seconds,event,node\n0,add,a\n0,add,b\n100,add,c\n";
  const auto with = [&](double bandwidth, const std::string& more) {
    return play_job(parse_availability(text + more, "t"), rates, our_policy(2, bandwidth));
  };
  const JobPlay grown = with(1e9, "1000,remove,c\n");  // a second to move state
  EXPECT_EQ(grown.events[0].what, "grows after this step");
  EXPECT_GT(grown.samples, 900 * 3 + 190 - 3 * 10);
  // 100 s to move it, and changes every 100 s so far.
  EXPECT_EQ(with(1e7, "1000,remove,c\n").events[0].what, "kept as spare: growing would not pay");
  // Nothing is lost with a spare machine.
  EXPECT_EQ(with(1e7, "1000,remove,c\n").steps, 200);
}

TEST(PlayJob, LookAheadSeesThatAMachineWillNotStay) {
  const JobRates rates = even_rates(3, 1, 1, 10);
  const Availability trace = parse_availability(
      "seconds,event,node\n0,add,a\n0,add,b\n100,add,c\n110,remove,c\n1000,remove,a\n", "t");
  Policy policy = our_policy(2, 1e8);  // 10 s to move state
  const JobPlay blind = play_job(trace, rates, policy);
  policy.look_ahead = 60;
  const JobPlay seeing = play_job(trace, rates, policy);
  EXPECT_EQ(blind.events[0].what, "grows after this step");
  EXPECT_EQ(seeing.events[0].what, "kept as spare: growing would not pay");
  EXPECT_GT(seeing.samples, blind.samples);
}

TEST(PlayJob, ANoticeSavesWork) {
  const JobRates rates = even_rates(30, 1, 1.7, 512);
  const Availability trace = regular_failures(30, 15, 600);
  Policy varuna = varuna_policy(13, 83);
  Policy ours = our_policy(2, 1e9);
  const double lost_without = play_job(trace, rates, varuna).share(Activity::kLost);
  const double done_without = play_job(trace, rates, ours).steps;
  varuna.notice = ours.notice = 30;
  const JobPlay warned = play_job(trace, rates, varuna);
  EXPECT_EQ(warned.rollbacks, 0);
  EXPECT_LT(warned.share(Activity::kLost), lost_without);
  EXPECT_NEAR(sum_of(warned), trace.duration(), 1e-6);
  EXPECT_GE(play_job(trace, rates, ours).steps, done_without);
  EXPECT_EQ(play_job(trace, rates, ours).share(Activity::kLost), 0);
}

// Failures that nobody sees coming, and machines that are replaced at once.
TEST(PlayJob, PoissonFailuresTakeWhatDalySays) {
  JobRates rates = even_rates(64, 64, 1, 64);  // steps of 1 s
  const double between = 3600, cost = 60, restart = 120;
  const Availability trace = poisson_failures({.nodes = 64,
                                               .mean_time_between_failures = 64 * between,
                                               .repair = 1e-3,
                                               .duration = 3000 * between,
                                               .seed = 3});
  Policy policy = varuna_policy(cost, restart);
  policy.checkpoint_steps = 0;
  policy.absorbs = false;
  for (const double interval : {200.0, 657.0, 2000.0}) {
    policy.checkpoint_every = interval;
    const JobPlay play = play_job(trace, rates, policy);
    EXPECT_NEAR(play.share(Activity::kUseful), daly_useful_share(interval, cost, restart, between),
                0.015)
        << interval;
  }
  const double daly = daly_interval(cost, between);
  EXPECT_NEAR(daly, young_interval(cost, between), 0.1 * daly);
  const BestInterval best = best_interval(cut(trace, 600 * between), rates, policy, 30);
  policy.checkpoint_every = daly;
  const double by_daly = play_job(cut(trace, 600 * between), rates, policy).samples;
  EXPECT_GE(best.samples, by_daly);
  EXPECT_LE(best.samples, 1.01 * by_daly);
  EXPECT_GT(best.seconds, daly / 2);
  EXPECT_LT(best.seconds, daly * 2);
}

RC_GTEST_PROP(PlayJob, TimeAddsUpAndNothingIsMadeUp, ()) {
  const int most = *rc::gen::inRange(1, 20);
  std::vector<CountStep> steps;
  double time = 0;
  const int many = *rc::gen::inRange(2, 30);
  for (int i = 0; i < many; ++i) {
    steps.push_back({time, *rc::gen::inRange(0, most + 1)});
    time += *rc::gen::inRange(1, 900);
  }
  const Availability trace = from_counts("t", steps, time);
  const JobRates rates = even_rates(most, *rc::gen::inRange(1, most + 1), 0.5,
                                    *rc::gen::inRange(1, 100), *rc::gen::inRange(0, 4));
  Policy policy;
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      policy = varuna_policy(*rc::gen::inRange(0, 60), *rc::gen::inRange(0, 200));
      break;
    case 1:
      policy = oobleck_policy(*rc::gen::inRange(0, 30));
      break;
    default:
      policy = our_policy(2, *rc::gen::inRange(1, 100) * 1e7);
      policy.checkpoint = *rc::gen::inRange(0, 30);
      policy.checkpoint_every = *rc::gen::inRange(0, 300);
      policy.look_ahead = *rc::gen::inRange(0, 300);
  }
  policy.notice = *rc::gen::inRange(0, 2) * 30;
  if (summary_of(trace).most == 0) return;
  const JobPlay play = play_job(trace, rates, policy);
  RC_ASSERT(std::abs(sum_of(play) - trace.duration()) < 1e-6 * trace.duration());
  for (const double seconds : play.spent) RC_ASSERT(seconds >= -1e-6);
  RC_ASSERT(play.steps >= 0);
  RC_ASSERT(play.samples <= play.possible * (1 + 1e-9));
  double at = trace.begin;
  for (const JobSegment& own : play.segments) {
    RC_ASSERT(std::abs(own.start - at) < 1e-6);
    RC_ASSERT(own.end > own.start);
    at = own.end;
  }
  RC_ASSERT(std::abs(at - trace.end) < 1e-5);
}

}  // namespace
}  // namespace nereus::simulate::job_play_test

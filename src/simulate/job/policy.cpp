#include "simulate/job/policy.hpp"

namespace nereus::simulate {

Policy varuna_policy(double checkpoint, double restart) {
  Policy out;
  out.name = "varuna";
  out.absorbs = true;
  out.restart = restart;
  out.checkpoint = checkpoint;
  out.checkpoint_steps = kArtifactCheckpointSteps;
  return out;
}

Policy oobleck_policy(double reconfigure) {
  Policy out;
  out.name = "oobleck";
  out.from_survivors = true;
  out.absorbs = true;
  out.restart = reconfigure;
  return out;
}

Policy our_policy(double detect, double bandwidth) {
  Policy out;
  out.name = "ours";
  out.from_survivors = true;
  out.ends_step = true;
  out.grows_if_it_pays = true;
  out.gather = kOurGathering;
  out.leaves_out = true;
  out.sees_as_traced = true;
  out.detect = detect;
  out.bandwidth = bandwidth;
  return out;
}

}  // namespace nereus::simulate

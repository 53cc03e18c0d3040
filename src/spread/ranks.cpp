#include "spread/ranks.hpp"

#include "spread/follower.hpp"
#include "spread/leader.hpp"

namespace nereus::spread {

namespace {

class Alone : public Ranks {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string share(std::string bytes) override { return bytes; }
  Outcome run(const Work& work, const Options& options) override {
    return spread::run(work, options);
  }
  int finish(int exit_code) override { return exit_code; }
};

}  // namespace

std::unique_ptr<Ranks> alone() { return std::make_unique<Alone>(); }

std::unique_ptr<Ranks> over(std::unique_ptr<Link> link, Settings settings) {
  if (link->rank() == 0) return std::make_unique<Leader>(std::move(link), std::move(settings));
  return std::make_unique<Follower>(std::move(link), std::move(settings));
}

}  // namespace nereus::spread

#include "search/burst/branch_shapes.hpp"

#include <utility>

namespace nereus::burst {

namespace {

void add_blocks(const Branch& branch, std::vector<int>& out);

void add_blocks(const Link& link, std::vector<int>& out) {
  for (const Branch& own : link.branches) add_blocks(own, out);
}

void add_blocks(const Branch& branch, std::vector<int>& out) {
  if (branch.edge()) return;
  add_blocks(branch.ends[0], out);
  for (std::size_t i = 0; i < branch.inner.blocks.size(); ++i) {
    if (i > 0) add_blocks(branch.inner.links[i - 1], out);
    out.push_back(branch.inner.blocks[i]);
  }
  add_blocks(branch.ends[1], out);
}

}  // namespace

std::vector<int> blocks_of(const Branch& branch) {
  std::vector<int> out;
  add_blocks(branch, out);
  return out;
}

Shapes::Shapes(const Problem& problem) {
  std::map<std::pair<std::vector<double>, std::vector<double>>, int> known;
  for (const Block& block : problem.blocks)
    kinds_.push_back(
        known.try_emplace({block.seconds, block.memory}, static_cast<int>(known.size()))
            .first->second);
}

// Numbers of parts come before the parts, so that no two shapes are written alike.
void Shapes::write(const Branch& branch, Text& out) const {
  out.push_back(static_cast<double>(branch.inner.blocks.size()));
  if (branch.edge()) {
    out.push_back(branch.bytes);
    return;
  }
  write(branch.ends[0], out);
  for (std::size_t i = 0; i < branch.inner.blocks.size(); ++i) {
    if (i > 0) write(branch.inner.links[i - 1], out);
    out.push_back(kinds_[branch.inner.blocks[i]]);
  }
  write(branch.ends[1], out);
}

void Shapes::write(const Link& link, Text& out) const {
  out.push_back(static_cast<double>(link.branches.size()));
  for (const Branch& own : link.branches) write(own, out);
}

int Shapes::id_of(Text text) {
  return ids_.try_emplace(std::move(text), static_cast<int>(ids_.size())).first->second;
}

// The first number distinguishes branches from links.
int Shapes::of(const Branch& branch) {
  Text text = {0};
  write(branch, text);
  return id_of(std::move(text));
}

int Shapes::of(const Link& link) {
  Text text = {1};
  write(link, text);
  return id_of(std::move(text));
}

}  // namespace nereus::burst

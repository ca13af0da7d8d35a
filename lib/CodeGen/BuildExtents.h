// What lowerings see of the program that is being built.
#pragma once

#include "ProgramBuilder.h"

namespace bycc::codegen {

class ProgramBuilder::Outside : public Surroundings {
public:
  Outside(ProgramBuilder &builder, const Env &env) : builder_(builder), env_(env) {}
  Exprs &exprs() override { return builder_.p_.exprs; }
  const Constant *constantOf(NodeId node) override { return builder_.constantIn(node, env_); }
  Expected<std::vector<Ref>> extentsOf(NodeId node, uint32_t field) override;
  const TargetInfo &target() override { return builder_.target_; }
  Expected<Ref> elementOf(NodeId node, int64_t element) override {
    return builder_.elementOf(node, element, env_);
  }
  std::optional<Ref> extentOf(Dim dim) override { return builder_.extentOf(dim); }
  Ref define(Ref expression, const std::string &what) override {
    return builder_.defineDim(expression, what);
  }

private:
  ProgramBuilder &builder_;
  const Env &env_;
};

} // namespace bycc::codegen

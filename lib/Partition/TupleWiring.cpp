#include "TupleWiring.h"

namespace bycc {

NodeId projectField(Module &module, NodeId value, uint32_t field, std::vector<NodeId> &list) {
  Node project;
  project.kind = NodeKind::Project;
  project.payload = field;
  project.type = module.types.fields(module.type(value))[field];
  project.source = module.node(value).source;
  NodeId node = module.addNode(project, std::span(&value, 1));
  list.push_back(node);
  return node;
}

NodeId projectTo(Module &module, NodeId value, uint32_t index, std::vector<NodeId> &list) {
  while (module.types.isTuple(module.type(value))) {
    uint32_t field = module.types.fieldOfLeaf(module.type(value), index);
    index -= static_cast<uint32_t>(module.types.leavesOf(module.type(value), field).first);
    value = projectField(module, value, field, list);
  }
  return value;
}

NodeId makeTuple(Module &module, std::span<const NodeId> fields, SourceId source,
                 std::vector<NodeId> &list) {
  std::vector<TypeId> types;
  for (NodeId field : fields)
    types.push_back(module.type(field));
  Node tuple;
  tuple.kind = NodeKind::Tuple;
  tuple.type = module.types.tuple(types);
  tuple.source = source;
  NodeId node = module.addNode(tuple, fields);
  list.push_back(node);
  return node;
}

} // namespace bycc

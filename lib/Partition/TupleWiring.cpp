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
    std::span<const TypeId> fields = module.types.fields(module.type(value));
    uint32_t field = 0;
    for (; field < fields.size(); ++field) {
      uint32_t count = static_cast<uint32_t>(module.types.flatten(fields[field]).size());
      if (index < count)
        break;
      index -= count;
    }
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

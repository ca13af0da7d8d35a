// Structs of the C interfaces that grow say how large they are where they are made.
#pragma once

namespace bycc {

template <typename Struct> Struct sized() {
  Struct made{};
  made.size = sizeof made;
  return made;
}

} // namespace bycc

#include "StatusCode.h"

namespace bycc::runtime {

Status statusOf(int32_t status) {
  switch (status) {
  case BYCC_LOAD:
    return Status::Load;
  case BYCC_ARG:
    return Status::Arg;
  case BYCC_LIMIT:
    return Status::Limit;
  case BYCC_IO:
    return Status::Io;
  default:
    return Status::Internal;
  }
}

int32_t codeOf(Status status) {
  switch (status) {
  case Status::Load:
    return BYCC_LOAD;
  case Status::Arg:
    return BYCC_ARG;
  case Status::Limit:
    return BYCC_LIMIT;
  case Status::Io:
    return BYCC_IO;
  default:
    return BYCC_INTERNAL;
  }
}

} // namespace bycc::runtime

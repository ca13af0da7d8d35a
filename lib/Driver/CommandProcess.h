// A command in a process of its own: whatever becomes of it, there is a message and an
// exit code, and no file is written in part. Nothing in here does anything in a
// process that runApart() has not made: users of the library stay one process.
#pragma once

#include "bycc/Driver/Options.h"

namespace bycc {

// What the process is at, for the message about how it ended: "reading the model".
// A crash while host code is made is the code generator's, one in Plugins that of the
// plugin, or the folder of plugins, `file`; so is a stop of longer than --vendor-timeout.
enum class Stage : uint8_t { Start, Plugins, Load, Passes, HostCode, Write };
void enterStage(Stage stage, const std::string &file = {});

// What becomes the file of --crash-reproducer should this process end by a fault from now on.
void keepForCrash(const std::string &text);

} // namespace bycc

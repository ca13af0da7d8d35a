// Whether the output sets of this process wait until the disk has their files.
#pragma once

namespace bycc {

// On by default. Without, a crash of the system may lose the files; they still appear
// together and whole. For results that can be had again: the disk may take longer than
// making them did.
void setOutputsSynced(bool on);

} // namespace bycc

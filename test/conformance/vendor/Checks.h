// The checks, by file: CheckAnswers.cpp, CheckNumeric.cpp, ...
#pragma once

#include "Suite.h"

namespace bycc::conformance {

void checkAnswers(const Setup &setup, Findings &findings);
void checkOperators(const Setup &setup, Findings &findings);
void checkOddCalls(const Setup &setup, Findings &findings);
void checkPatterns(const Setup &setup, Findings &findings);
void checkRegions(const Setup &setup, Findings &findings);
void checkOpenRegions(const Setup &setup, Findings &findings);
void checkLayouts(const Setup &setup, Findings &findings);
void checkSameBlob(const Setup &setup, Findings &findings);
void checkDamagedBlob(const Setup &setup, Findings &findings);
void checkShortWeights(const Setup &setup, Findings &findings);
void checkOwnWeights(const Setup &setup, Findings &findings);
void checkRepeatedRuns(const Setup &setup, Findings &findings);
void checkConcurrentRuns(const Setup &setup, Findings &findings);
void checkThreadCounts(const Setup &setup, Findings &findings);
void checkProfiledRuns(const Setup &setup, Findings &findings);
void checkManyLoads(const Setup &setup, Findings &findings);
void checkContexts(const Setup &setup, Findings &findings);
void checkNames(const Setup &setup, Findings &findings);
void checkAnnotate(const Setup &setup, Findings &findings);
void checkTune(const Setup &setup, Findings &findings);
void checkAlloc(const Setup &setup, Findings &findings);
void checkResident(const Setup &setup, Findings &findings);

} // namespace bycc::conformance

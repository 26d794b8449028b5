// Transcripts ("ptxlab.transcript/1"): every exchange with a proposer, one file each, so that a run can be replayed
// byte for byte without the proposer. `--record DIR` writes them, the proposer `replay:DIR` reads them in the same
// order. Of a model they hold what went over the wire too.
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "record/proposer.h"

namespace ptxlab::loop {

// Passes everything through and writes DIR/0001-NAME.json, 0002-NAME.json ... An exchange that cannot be written is a
// finding of the proposal (FILE0003), the proposal itself is kept.
std::unique_ptr<record::Proposer> make_recording_proposer(std::unique_ptr<record::Proposer> proposer,
                                                          std::filesystem::path folder);

// One proposer for each that was recorded in the folder, in the order of their first files: each answers its n-th call with
// its n-th file, findings and note included, so that proposers take turns as they did. A brief that differs from the recorded one is a warning, LOOP0003; no file
// left is an empty proposal with a note; a damaged file or an empty folder an error, LOOP0002.
std::vector<std::unique_ptr<record::Proposer>> make_replay_proposers(const std::filesystem::path& folder);

}  // namespace ptxlab::loop

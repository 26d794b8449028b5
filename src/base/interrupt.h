// Ctrl-C in a long run: the first is noted, so that the run can end with what it has; a second ends the program at once, and all that it
// has started.
#pragma once

namespace ptxlab::base {

// From here on SIGINT is noted, unless it is ignored. What is said to the user is written to stderr then and there.
void note_interrupts();
bool interrupted();

// The end of a run that was interrupted: ends this program as the signal would have, so that whoever called it knows. Returns where
// nothing was noted.
void end_as_interrupted();

}  // namespace ptxlab::base

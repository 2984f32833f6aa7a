package agent

import (
	"bytes"
	"fmt"
)

// Marker is the line by which an agent submits: the command must exit with
// code 0 and this must be the first line of its output, white space aside.
const Marker = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// oldMarker is what agents before version 1 of the peer said.
const oldMarker = "MINI_SWE_AGENT_FINAL_OUTPUT"

// Submits reports whether out is that of a command that hands in a submission.
func Submits(out Output) bool {
	_, ok := submission(out)
	return ok
}

// submission returns what out submits: everything behind the marker's line,
// byte for byte, not nil when ok. White space and lines are Python's.
func submission(out Output) (patch []byte, ok bool) {
	if out.ExitCode != 0 || out.TimedOut {
		return nil, false
	}
	line, rest := cutLine(bytes.TrimLeftFunc(out.Bytes, isSpace))
	switch string(bytes.TrimFunc(line, isSpace)) {
	case Marker, oldMarker:
		return append([]byte{}, rest...), true
	default:
		return nil, false
	}
}

// capped reports whether bytes of out were dropped. A submission among such
// output would be a broken patch, so it is refused and the model is told.
func capped(out Output) bool { return out.Total > int64(len(out.Bytes)) }

func tooLarge(out Output) string {
	return fmt.Sprintf("The submission was not accepted: it has %d bytes and at most about %d can be taken. "+
		"Leave generated and binary files out of the patch and submit again.", out.Total, len(out.Bytes))
}

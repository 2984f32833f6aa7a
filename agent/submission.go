package agent

import (
	"bytes"
	"fmt"

	"batch.example/batch/internal/python"
	"batch.example/batch/vocab"
)

// oldMarker is what agents before version 1 of mini-swe-agent said.
const oldMarker = "MINI_SWE_AGENT_FINAL_OUTPUT"

// Submitting reports whether an output that begins so hands in a submission, if
// its command succeeds. Of such an output nothing may be dropped.
func Submitting(begin []byte) bool {
	line, _ := python.CutLine(bytes.TrimLeftFunc(begin, python.IsSpace))
	switch string(bytes.TrimFunc(line, python.IsSpace)) {
	case vocab.Marker, oldMarker:
		return true
	default:
		return false
	}
}

// submission returns what out submits: everything behind the marker's line,
// byte for byte, not nil when ok. White space and lines are Python's.
func submission(out vocab.Output) (patch []byte, ok bool) {
	if out.ExitCode != 0 || out.TimedOut {
		return nil, false
	}
	if !Submitting(out.Bytes) {
		return nil, false
	}
	_, rest := python.CutLine(bytes.TrimLeftFunc(out.Bytes, python.IsSpace))
	return append([]byte{}, rest...), true
}

// capped reports whether bytes of out were dropped. A submission among such
// output would be a broken patch, so it is refused and the model is told.
func capped(out vocab.Output) bool { return out.Total > int64(len(out.Bytes)) }

func tooLarge(out vocab.Output) string {
	return fmt.Sprintf("The submission was not accepted: it has %d bytes and at most about %d can be taken. "+
		"Leave generated and binary files out of the patch and submit again.", out.Total, len(out.Bytes))
}

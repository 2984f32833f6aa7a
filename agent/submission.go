package agent

import (
	"bytes"
	"fmt"

	"batch.example/batch/internal/python"
	"batch.example/batch/vocab"
)

// oldMarker is the marker of mini-swe-agent before version 1.
const oldMarker = "MINI_SWE_AGENT_FINAL_OUTPUT"

// Submitting reports whether an output that begins with these bytes is a submission, if
// its command succeeds. No byte of such an output may be dropped.
func Submitting(begin []byte) bool {
	line, _ := python.CutLine(bytes.TrimLeftFunc(begin, python.IsSpace))
	switch string(bytes.TrimFunc(line, python.IsSpace)) {
	case vocab.Marker, oldMarker:
		return true
	default:
		return false
	}
}

// submission returns what out submits: everything after the marker's line,
// byte for byte, not nil when ok. White space and line ends are as in Python.
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

// capped reports whether bytes of out were dropped. A submission in such an
// output would be a broken patch, so it is refused and the model is informed.
func capped(out vocab.Output) bool { return out.Total > int64(len(out.Bytes)) }

func tooLarge(out vocab.Output) string {
	return fmt.Sprintf("The submission was not accepted: it has %d bytes, and the limit is about %d. "+
		"Leave generated and binary files out of the patch and submit again.", out.Total, len(out.Bytes))
}

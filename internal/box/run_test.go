package box

import (
	"strings"
	"testing"
)

// Calls of bash that can be started before their script is known.
func TestInterpreterArguments(t *testing.T) {
	for call, want := range map[string]bool{
		"bash -c": true, "/bin/bash -c": true, "/usr/bin/bash -lc": true, "bash -cl": true, "bash -l -c": true, "bash --login -c": true,
		"bash -x -c": false, "bash": false, "sh -c": false, "env": false, "/opt/bin/bash -c": false,
	} {
		if got := loads(strings.Fields(call)); got != want {
			t.Errorf("%s: got %v, want %v", call, got, want)
		}
	}
}

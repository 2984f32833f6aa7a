package evaluate

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"batch.example/batch/swebench"
)

// runLog writes run_instance.log with the harness's form and lines, since other tools search for
// them.
type runLog struct {
	b  bytes.Buffer
	id string
}

// appliedText is the harness's text.
const appliedText = ">>>>> Applied Patch"

func (l *runLog) info(format string, args ...any) {
	now := time.Now().Format("2006-01-02 15:04:05.000")
	fmt.Fprintf(&l.b, "%s - INFO - %s\n", strings.Replace(now, ".", ",", 1), fmt.Sprintf(format, args...))
}

func (l *runLog) applied(output []byte) { l.info("%s:\n%s", appliedText, output) }

func (l *runLog) failed(command string) { l.info("Failed to apply patch to container: %s", command) }

func (l *runLog) notApplied(why string, output []byte) {
	l.info("%s: %s", l.id, why)
	l.info("%s:\n%s", swebench.ApplyFailed, output)
}

func (l *runLog) diff(when string, diff []byte) {
	l.info("Git diff %s:\n%s", when, bytes.TrimSpace(diff))
}

package runs

import (
	"regexp"
	"strings"
	"testing"

	"batch.example/batch/e2e"
)

// What help shows for those who have no key works as it is written there.
func TestTheExamplesWithoutAKeyWork(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	example := regexp.MustCompile(`(?m)^  (batch run --subset demo -m (?:scripted/demo|oracle)\b.*?)(?: {2,}.*| \|)?$`)
	for _, page := range [][]string{{"help"}, {"help", "events"}} {
		code, text := e2e.ExitCode(t, e2e.Batch(t, t.TempDir(), page...))
		m := example.FindStringSubmatch(text)
		if code != e2e.ExitOK || m == nil {
			t.Fatalf("batch %s shows no run of the demo:\n%s", strings.Join(page, " "), text)
		}
		// One command of the demo waits for its limit, which is a minute.
		cmd := e2e.Batch(t, t.TempDir(), append(strings.Fields(m[1])[1:], "-c", "environment.timeout=5")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", m[1], err, out)
		}
	}
}

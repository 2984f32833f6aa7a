package e2e

import (
	"os"
	"strings"
	"testing"

	"batch.example/batch/internal/enginetest"
)

// OwnImage is an image of [OwnEngine], with a shell and a few tools.
const OwnImage = "batch-own:test"

// OwnEngine returns an engine of the test's own, with further flags of its dockerd. On the machine's
// engine, any run that ends removes the containers of a killed one, before the test resumes it.
func OwnEngine(t *testing.T, flags ...string) *enginetest.Daemon {
	t.Helper()
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
	root, err := enginetest.Root(strings.Fields("bash cat date mkdir rm sleep stat touch"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := enginetest.Start(t, flags...)
	d.Import(OwnImage, root)
	return d
}

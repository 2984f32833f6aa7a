package talk

import (
	"testing"

	"batch.example/batch/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, nil) }

func TestScripts(t *testing.T) {
	t.Parallel()
	e2e.Scripts(t)
}

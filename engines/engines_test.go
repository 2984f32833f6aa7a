package engines

import (
	"testing"

	"batch.example/batch/agent/config"
)

func TestEveryClassHasAnEngine(t *testing.T) {
	for _, class := range append(config.Classes(), "") {
		if table[class] == nil {
			t.Errorf("no engine for environment_class %q", class)
		}
	}
	if n := len(config.Classes()) + 1; len(table) != n {
		t.Errorf("%d engines, want %d: a class that the configuration refuses is never used", len(table), n)
	}
}

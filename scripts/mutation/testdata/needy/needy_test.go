package needy

import (
	"os"
	"testing"
)

func TestHas(t *testing.T) {
	if os.Getenv("DOCKER_HOST") != "unix:///mine" || os.Getenv("BATCH_DOCKER") != "require" {
		t.Skip("no engine")
	}
	if !Has(1) || Has(0) {
		t.Error("it has not")
	}
}

func TestPart(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		if os.Getenv("BATCH_DOCKER") == "" {
			t.Skip("no engine")
		}
	})
}

func TestWithout(t *testing.T) {
	if os.Getenv("BATCH_DOCKER") != "" {
		t.Error("what needs no engine runs again with one")
	}
}

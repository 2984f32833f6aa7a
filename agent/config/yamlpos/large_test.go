//go:build !race

package yamlpos

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/internal/tier"
)

// Where the search for the place would take long, the parser's own line stands.
func TestAMistakeInALargeFile(t *testing.T) {
	tier.Rest(t)
	source := "a: 1\n" + strings.Repeat("b: 1\n", 3000) + " c: 2\n" + strings.Repeat("b: 1\n", 3000)
	var doc yaml.Node
	err := yaml.NewDecoder(strings.NewReader(source)).Decode(&doc)
	if line, column, words := Mistake(source, err); line == 0 || column != 0 || !strings.HasPrefix(words, "':' is not expected") {
		t.Errorf("%d:%d: %s (%v)", line, column, words, err)
	}
}

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each message of the page is one that the program can print: its words stand in the sources.
// Words in capitals and ... stand for anything.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	var sources strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		sources.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	messages := regexp.MustCompile("(?m)^- `([^`]+)`").FindAllStringSubmatch(string(page), -1)
	if len(messages) < 20 {
		t.Errorf("only %d messages", len(messages))
	}
	for _, m := range messages {
		for _, words := range regexp.MustCompile(`"?\b[A-Z]+\b"?|\.\.\.`).Split(m[1], -1) {
			if words = strings.TrimSpace(words); !strings.Contains(sources.String(), words) {
				t.Errorf("no source has %q, of the message %q", words, m[1])
			}
		}
	}
}

package mask

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The package comment is a page for users: it has the rules with their words and numbers.
func TestThePageHasTheRules(t *testing.T) {
	text, err := os.ReadFile("../../docs/secrets.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	for _, word := range slices.Concat(anywhere, atEnd) {
		if !regexp.MustCompile(`[ ]` + regexp.QuoteMeta(word) + `[ ,]`).MatchString(page) {
			t.Errorf("the page does not name %q", word)
		}
	}
	for _, rule := range []string{
		fmt.Sprintf("shorter than %d bytes", MinLength), fmt.Sprintf("has %d letters and digits in a row", lookedAt),
		fmt.Sprintf("At least %d of the %d are different", leastKinds, lookedAt), fmt.Sprintf("at least %d times", leastTurns),
	} {
		if !strings.Contains(page, rule) {
			t.Errorf("the page lacks %q", rule)
		}
	}
	for name, want := range map[string]bool{"GITHUB_TOKEN": true, "KEY_2": true, "max_tokens": false, "KEYBOARD": false} {
		if KeyName(name) != want || !strings.Contains(page, name) {
			t.Errorf("%s is an example of the page: it is a key's name: %v", name, KeyName(name))
		}
	}
}

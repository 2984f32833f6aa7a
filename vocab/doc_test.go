package vocab_test

import (
	"os"
	"regexp"
	"testing"
)

// The package comments of vocab and fault are a page for users.
func TestThePageNamesEveryConstant(t *testing.T) {
	page, err := os.ReadFile("../docs/statuses.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"status.go", "outcome.go", "verdict.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		values := regexp.MustCompile(`(?m)^\t\w+ +(?:Status|Outcome|Verdict) += "(.+?)"`).FindAllSubmatch(text, -1)
		if len(values) < 7 {
			t.Errorf("%s has only the constants %q", file, values)
		}
		for _, v := range values {
			if !regexp.MustCompile(`(?m)(^|[\s(])` + regexp.QuoteMeta(string(v[1])) + `([\s.,:;)]|$)`).Match(page) {
				t.Errorf("docs/statuses.md does not name %q of %s", v[1], file)
			}
		}
	}
}

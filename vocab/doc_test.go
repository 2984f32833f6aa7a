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
	text, err := os.ReadFile("status.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Status", "Outcome", "Verdict"} {
		values := regexp.MustCompile(`(?m)^\t\w+ +`+kind+` += "(.+?)"`).FindAllSubmatch(text, -1)
		if len(values) < 7 {
			t.Errorf("%s has only the constants %q", kind, values)
		}
		for _, v := range values {
			if !regexp.MustCompile(`(?m)(^|[\s(])` + regexp.QuoteMeta(string(v[1])) + `([\s.,:;)]|$)`).Match(page) {
				t.Errorf("docs/statuses.md does not name %q of %s", v[1], kind)
			}
		}
	}
}

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestKilledAndSurvivingMutantsAreDistinguished(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"-n", "0", "./scripts/mutation/testdata/tiny"}, &out, &errs)
	text := out.String()
	survivors := strings.Count(text, "\nsurvived ") + 1
	for _, want := range []string{
		"survived scripts/mutation/testdata/tiny/tiny.go:18: removed statement: seen++  =>  if false { seen++ }\n",
		"survived scripts/mutation/testdata/tiny/tiny.go:18: ++ to --: seen++  =>  seen--\n",
		"8       6         2             0      75.0",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if code != 1 || survivors != 2 {
		t.Errorf("code %d, %d survivors; want exit code 1, survivors 2:\n%s%s", code, survivors, text, errs.String())
	}
}

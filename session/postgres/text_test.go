package postgres_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"batch.example/batch/session/postgres"
)

func FuzzEveryTextCanBeStored(f *testing.F) {
	for _, s := range []string{"", "plain", `"quoted"`, "a\x00b", "\xff", "\"\x00", `"`, `\`, "é\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		row := postgres.Stored(s)
		if !utf8.ValidString(row) || strings.ContainsRune(row, 0) {
			t.Errorf("%q is stored as %q, which the database refuses", s, row)
		}
		if got, err := postgres.Loaded(row); err != nil || got != s {
			t.Errorf("%q became %q, %v", s, got, err)
		}
		if got := postgres.Shown(s); !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("%q is shown as %q, which the database refuses", s, got)
		}
	})
}

func TestATextThatNobodyStoredIsRefused(t *testing.T) {
	for _, row := range []string{`"`, `"a`, `"a" b`, `"\q"`} {
		if s, err := postgres.Loaded(row); err == nil {
			t.Errorf("%q became %q, want an error", row, s)
		}
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
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
			t.Errorf("no %q, want %q", want, want)
		}
	}
	if code != 1 || survivors != 2 {
		t.Errorf("code %d, %d survivors; want exit code 1, survivors 2:\n%s%s", code, survivors, text, errs.String())
	}
}

func TestAnEngineIsForTheTestsThatSkipWithoutOne(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	const needy = "./scripts/mutation/testdata/needy"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{needy}, 1, "2       0         2             0       0.0"},
		{[]string{"-engine", "unix:///mine", needy}, 0, "in 2 of the 2 tests that need it"},
		{[]string{"-engine", "unix:///mine", "-engine-skip", "Has", needy}, 1, "in 1 of the 2 tests that need it (-engine-skip \"Has\")"},
		{[]string{"-engine", "unix:///mine", "-engine-skip", "(", needy}, 2, ""},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), c.args, &out, &errs); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: code %d, want exit code %v, %q:\n%s%s", c.args, code, c.code, c.want, out.String(), errs.String())
		}
	}
}

func TestAMutantThatCannotBeMeasuredIsAnError(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for _, args := range [][]string{
		{"-nonsense"},
		{"./scripts/mutation/testdata"}, // no package
		{"-files", "nothing", "./scripts/mutation/testdata/tiny"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 2 {
			t.Errorf("%q: code %d: %s; want exit code 2", args, code, out.String())
		}
	}
}

func TestTheSeedAloneChooses(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	chosen := func(seed uint64) []mutant {
		all, err := mutantsOfPackage("./runner", "")
		if err != nil {
			t.Fatal(err)
		}
		shuffle(all, seed, "./runner")
		return all[:20]
	}
	if !slices.Equal(chosen(1), chosen(1)) || slices.Equal(chosen(1), chosen(2)) {
		t.Error("the choice depends on more than the seed")
	}
}

func TestEachKindOfMutant(t *testing.T) {
	src := `package p

func f(a, b int) (int, error) {
	for a < 3 && ok(true) {
		a += b
	}
	defer done()
	return a - b, fail()
}
`
	found, err := mutantsOf("p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, m.kind+": "+m.after)
	}
	want := []string{
		"removed statement: if false { defer done() }",
		"condition negated: for !(a < 3 && ok(true)) {",
		"&& to ||: for a < 3 || ok(true) {",
		"< to <=: for a <= 3 && ok(true) {",
		"constant + 1: for a < 4 && ok(true) {",
		"true to false: for a < 3 && ok(false) {",
		"removed statement: if false { a += b }",
		"+= to -=: a -= b",
		"error returned as nil: return a - b, nil",
		"- to +: return a + b, fail()",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// An entry that fits nothing excludes nothing today and another mutant later.
func TestEveryExclusionFitsAMutant(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	list, err := readExclusions("scripts/mutation/equivalent.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []mutant
	for _, name := range packages {
		found, err := mutantsOfPackage(name, "")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	for _, e := range list {
		if !slices.ContainsFunc(all, e.fits) {
			t.Errorf("an entry fits no mutant: %s: %s: %s", e.file, e.kind, e.after)
		}
	}
}

func TestAnExclusionNeedsItsReason(t *testing.T) {
	path := filepath.Join(t.TempDir(), "equivalent.txt")
	for text, ok := range map[string]bool{
		"# it is so\na.go: true to false: return true\n":   true,
		"a.go: true to false: return true\n":               false,
		"# it is so\n\na.go: true to false: return true\n": false,
		"# it is so\na.go\n":                               false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readExclusions(path); (err == nil) != ok {
			t.Errorf("%q: got %v, want err == nil: %v", text, err, ok)
		}
	}
}

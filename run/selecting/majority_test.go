package selecting

import (
	"slices"
	"strings"
	"testing"
)

const fix = "diff --git a/x.py b/x.py\nindex 1234567..89abcde 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@ def f():\n-a\n+b\n c\n"

func candidates(patches ...string) []candidate {
	var list []candidate
	for i, p := range patches {
		list = append(list, candidate{Attempt: i + 1, Patch: []byte(p)})
	}
	return list
}

func TestMajority(t *testing.T) {
	longer := strings.Replace(fix, "1234567..89abcde", "1234567890..89abcdef01", 1)
	elsewhere := strings.Replace(fix, "@@ -1,2", "@@ -9,2", 1)
	for _, test := range []struct {
		name     string
		patches  []string
		attempts []int
	}{
		{"most", []string{"x", fix, "y", fix}, []int{2, 4}},
		{"a tie is the smaller number", []string{"y", "x", "x", "y"}, []int{1, 4}},
		{"empty patches do not win", []string{"", "", " \n", "x"}, []int{4}},
		{"all are empty", []string{"", "\n"}, []int{1, 2}},
		{"index lines and the text of a hunk", []string{"y", fix, longer, strings.Replace(fix, " def f():", "", 1), fix + "\n"}, []int{2, 3, 4, 5}},
		{"another place is another patch", []string{"y", fix, elsewhere, "y"}, []int{1, 4}},
		{"white space in a line is another patch", []string{fix, strings.Replace(fix, "+b", "+b ", 1)}, []int{1}},
		{"not UTF-8", []string{"a", "\xff\x00", "\xfe\x00", "\xff\x00"}, []int{2, 4}},
	} {
		g := groupsOf(candidates(test.patches...))[0]
		if !slices.Equal(g.Attempts, test.attempts) || g.Attempt != test.attempts[0] {
			t.Errorf("%s: chose %v of attempts %v, want %v", test.name, g.Attempt, g.Attempts, test.attempts)
		}
	}
	if g := groupsOf(nil); len(g) > 0 {
		t.Errorf("of no candidates: chose %v", g)
	}
	shuffled := []candidate{{3, []byte("x")}, {1, []byte("y")}, {2, []byte("x")}, {4, []byte("y")}}
	if g := groupsOf(shuffled)[0]; g.Attempt != 1 {
		t.Errorf("the order of the candidates matters: chose %d, want 1", g.Attempt)
	}
}

func TestSame(t *testing.T) {
	for _, pair := range [][]string{{fix, "\n" + fix}, {"", "\t\n"}} {
		if g := groupsOf(candidates(pair...)); len(g) != 1 || len(g[0].Attempts) != 2 {
			t.Errorf("patches that have the same effect are not the same: %v", g)
		}
	}
	if g := groupsOf(candidates("", fix)); len(g) != 1 || !slices.Equal(g[0].Attempts, []int{2}) {
		t.Errorf("an empty patch is the same as another one: %v", g)
	}
}

func FuzzMajority(f *testing.F) {
	f.Add(fix, "", "x")
	f.Add("index 1..2\n", "@@ -1 +1 @@", "\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		list := candidates(a, b, c)
		total := 0
		for _, g := range groupsOf(list) {
			total += len(g.Attempts)
			for _, n := range g.Attempts {
				if normal(g.Patch) != normal(list[n-1].Patch) && !(g.empty() && list[n-1].empty()) {
					t.Errorf("attempt %d is in the group of %d, and not the same", n, g.Attempt)
				}
			}
		}
		if total == 0 || total > 3 {
			t.Fatalf("%d attempts are in groups", total)
		}
		if groupsOf(list)[0].empty() && slices.ContainsFunc(list, func(c candidate) bool { return !c.empty() }) {
			t.Error("an empty patch won")
		}
	})
}

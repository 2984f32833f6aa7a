package imagecache_test

import (
	"strings"
	"testing"

	"batch.example/batch/imagecache"
)

func TestGroupKeepsTheOrderOtherwise(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"a.x":                       "a.x",
		"a.x b.x a.y":               "a.x a.y b.x",
		"b.2 a.1 b.1 a.2 b.2 a.1":   "b.2 b.2 b.1 a.1 a.1 a.2",
		"c.1 b.1 a.1":               "c.1 b.1 a.1",
		"a.1#1 b.1#2 a.1#3 b.1#4":   "a.1#1 a.1#3 b.1#2 b.1#4",
		"a.1#1 a.2#2 a.1#3 b.1 a.3": "a.1#1 a.1#3 a.2#2 a.3 b.1",
	} {
		got := imagecache.Group(strings.Fields(in), func(s string) []string {
			s, _, _ = strings.Cut(s, "#")
			return strings.SplitN(s, ".", 2)
		})
		if strings.Join(got, " ") != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestRepository(t *testing.T) {
	for ref, want := range map[string]string{
		"a": "a", "a:1": "a", "h:5000/a": "h:5000/a", "h:5000/b/a:1": "h:5000/b/a", "a@sha256:00": "a", "h:1/a:2@sha256:00": "h:1/a",
	} {
		if got := imagecache.Repository(ref); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}

package view_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// pagesOf are the addresses of all kinds of pages about two runs.
func pagesOf(run string, ids []string) []string {
	at := func(i int) string { return "/run/" + url.PathEscape(run) + "/" + url.PathEscape(ids[i]) }
	return []string{
		"/", "/?group=repo&sort=cost&differ=1", "/live", "/search", "/search?q=text&whole=1", "/search?kind=ran&q=git+log&whole=1", "/search?kind=regexp&q=(&whole=1",
		"/instance/" + url.PathEscape(ids[0]), "/instance/" + url.PathEscape(ids[2]) + "?every=1",
		at(0), at(1), at(1) + "?step=last", at(2) + "?attempt=1", at(3), at(4), at(5),
		at(0) + "/patch", at(0) + "/patch?gold=1", at(3) + "/patch", at(4) + "/patch", at(1) + "/tests", at(5) + "/tests", at(3) + "/audit",
	}
}

// twinOf returns the address of a page's JSON.
func twinOf(address string) string {
	if strings.Contains(address, "?") {
		return address + "&format=json"
	}
	return address + "?format=json"
}

// usualSite serves two usual runs.
func usualSite(t testing.TB, steps int) *site {
	t.Helper()
	dir := t.TempDir()
	must(t, writeRun(t, filepath.Join(dir, "a"), instances, steps, usual).Close())
	must(t, writeRun(t, filepath.Join(dir, "b"), instances, 12, usual).Close())
	return serve(t, dir, usual, nil)
}

func TestEveryPageAndItsTwin(t *testing.T) {
	s := usualSite(t, 60)
	for _, address := range pagesOf(filepath.Join(s.dir, "a"), instances) {
		for _, one := range []string{address, twinOf(address)} {
			if code, _, body := s.get(t, one); code != http.StatusOK {
				t.Errorf("%s: %d\n%.500s", one, code, body)
			}
		}
	}
}

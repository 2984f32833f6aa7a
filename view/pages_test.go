package view_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/journal"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/control"
	"batch.example/batch/view"
	"batch.example/batch/vocab"
)

// pagesOf returns the addresses of all kinds of pages about a run.
func pagesOf(run string, ids []string) []string {
	at := func(i int) string { return "/run/" + url.PathEscape(run) + "/" + url.PathEscape(ids[i]) }
	return []string{
		"/", "/?group=repo&sort=cost&differ=1", "/report", "/report?run=" + url.QueryEscape(run), "/live", "/search", "/search?q=text&whole=1", "/search?kind=ran&q=git+log&whole=1", "/search?kind=regexp&q=(&whole=1",
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

// What has not run, and what left no patch, is told in words, not by an error of the operating system.
func TestAnInstanceThatHasNotRun(t *testing.T) {
	dir := t.TempDir()
	must(t, writeRun(t, filepath.Join(dir, "a"), instances, 3, usual).Close())
	must(t, writeRun(t, filepath.Join(dir, "c"), instances[4:], 3, usual).Close())
	must(t, os.RemoveAll(filepath.Join(dir, "a", instances[1])))
	store, err := results.Open(filepath.Join(dir, "b"), results.Options{Owner: "host h, pid 1"})
	must(t, err)
	must(t, store.WriteManifest(&manifest.Manifest{Batch: "v1.4.0", Dataset: manifest.Dataset{Instances: instances}, Config: map[string]any{}}))
	must(t, store.Close())
	s := serve(t, dir, usual, nil)
	one, other := "/run/"+url.PathEscape(filepath.Join(dir, "a"))+"/", "/run/"+url.PathEscape(filepath.Join(dir, "b"))+"/"
	for _, c := range []struct {
		page, want string
		code       int
	}{
		{other + instances[0], ": not run yet", http.StatusNotFound},
		{one + instances[1], ": no trajectory", http.StatusNotFound},
		{one + instances[0] + "?attempt=7", ": no attempt 7", http.StatusNotFound},
		{"/instance/" + instances[0], `<td><span class="quiet">not run yet</span></td>`, http.StatusOK},
		{"/instance/" + instances[0], `<p class="note"></p>`, http.StatusOK},
		{"/instance/" + instances[4], `<td><span class="quiet">no patch</span></td>`, http.StatusOK},
	} {
		code, _, body := s.get(t, c.page)
		if code != c.code || !strings.Contains(body, c.want) || strings.Contains(body, "no such file") {
			t.Errorf("%s: %d, want %d and %q\n%s", c.page, code, c.code, c.want, body)
		}
	}
}

func TestTheTaskIsOpenUnlessAStepIsAskedFor(t *testing.T) {
	s := usualSite(t, 6)
	at := "/run/" + url.PathEscape(filepath.Join(s.dir, "a")) + "/" + instances[0]
	for address, want := range map[string][]string{at: {"user"}, at + "?step=1": nil} {
		_, _, body := s.get(t, address)
		var open []string
		for _, m := range regexp.MustCompile(`<details class="fold" open><summary>(\w+)`).FindAllStringSubmatch(body, -1) {
			open = append(open, m[1])
		}
		if !slices.Equal(open, want) {
			t.Errorf("%s has these open: %q, want %q", address, open, want)
		}
	}
}

func TestAPageComparesSomeRunsOnly(t *testing.T) {
	dir := t.TempDir()
	for i := range 17 {
		must(t, writeRun(t, filepath.Join(dir, fmt.Sprint(i)), instances[:1], 1, usual).Close())
	}
	s := serve(t, dir, usual, nil)
	_, _, all := s.get(t, "/report")
	if !strings.Contains(all, "17 runs are too many to compare here: choose 16 at most") {
		t.Errorf("17 runs:\n%.2000s", all)
	}
	_, _, two := s.get(t, "/report?run="+url.QueryEscape(filepath.Join(dir, "1"))+"&run="+url.QueryEscape(filepath.Join(dir, "2")))
	if strings.Contains(two, "too many") || strings.Contains(two, "No runs") {
		t.Errorf("two of them:\n%.2000s", two)
	}
}

func TestTheCostOfARunIsThatOfItsStatus(t *testing.T) {
	s := usualSite(t, 12)
	_, _, body := s.get(t, twinOf("/"))
	var page struct {
		Runs []struct{ Cost, Spent float64 }
	}
	must(t, json.Unmarshal([]byte(body), &page))
	for i, name := range []string{"a", "b"} {
		snap, err := results.Read(filepath.Join(s.dir, name))
		must(t, err)
		status := report.NewStatus(snap)
		if got := page.Runs[i]; got.Cost == 0 || got.Cost != status.Cost || got.Spent != status.Spent {
			t.Errorf("%s: %+v, but its status has %v and %v", name, got, status.Cost, status.Spent)
		}
	}
}

func TestACostHasTheCallsOfUnknownCost(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "a")
	store := writeRun(t, run, instances, 3, usual)
	steered(t, run, usual)
	a, err := store.Begin(instances[1], manifest.Settings{})
	must(t, err)
	w := &recorder{t: t, a: a, text: usual}
	w.begin()
	w.work(1)
	w.add(journal.TypeRequest, journal.RequestData{Step: 2, Digest: "d", Tokens: 1000, Reserved: 0.5})
	must(t, a.Journal().Flush())
	shows := func(pages ...string) {
		t.Helper()
		s := serve(t, dir, usual, nil)
		for _, page := range pages {
			if _, _, body := s.get(t, page); !strings.Contains(body, "$0.01; up to $0.51 with 1 call of unknown cost") {
				t.Errorf("%s:\n%s", page, body)
			}
		}
	}
	at := "/run/" + url.PathEscape(run) + "/" + instances[1]
	shows("/live", at, "/instance/"+instances[1])
	_, err = store.Put(t.Context(), &results.Result{Record: results.Record{
		InstanceID: instances[1], Status: vocab.StatusLimitsExceeded, Outcome: vocab.OutcomeLimit, Model: "m", Steps: 1, Cost: 0.01,
	}})
	must(t, err)
	must(t, a.Close())
	shows("/", at, "/instance/"+instances[1])
}

// The page of the tests leads to their log, also in an exported folder. Secrets are hidden in it.
func TestTheLogOfTheTests(t *testing.T) {
	s := usualSite(t, 3)
	log := filepath.Join(s.dir, "a", "logs", instances[1], swebench.OutputName)
	text, err := os.ReadFile(log)
	must(t, err)
	must(t, os.WriteFile(log, append([]byte("the secret is hunter22hunter22\nhunter33hunter33\n"), text...), 0o600))
	s.config.Mask.Add(mask.Secret{Name: "KEY", Value: "hunter22hunter22\nhunter33hunter33"})
	want := "the secret is ********\n" + string(text)
	at := "/run/" + url.PathEscape(filepath.Join(s.dir, "a")) + "/"
	_, _, page := s.get(t, at+instances[1]+"/tests")
	if !strings.Contains(page, "the secret is ********") || strings.Contains(page, "hunter33") {
		t.Errorf("the lines around a failed test:\n%s", page)
	}
	links := slices.DeleteFunc(hrefs(page), func(link string) bool { return !strings.Contains(link, "/log") })
	if len(links) != 1 {
		t.Fatalf("the page has these links to a log: %q\n%s", links, page)
	}
	code, header, body := s.get(t, links[0])
	if kind := header.Get("Content-Type"); code != http.StatusOK || kind != "text/plain; charset=utf-8" || body != want {
		t.Errorf("%d, %s, %q; want %q", code, kind, body, want)
	}
	if code, _, body := s.get(t, at+instances[4]+"/log"); code != http.StatusNotFound || !strings.Contains(body, "no log of tests") {
		t.Errorf("without a grade: %d\n%s", code, body)
	}
	out := filepath.Join(t.TempDir(), "out")
	must(t, s.Export(t.Context(), out, false, nil))
	exported, err := filepath.Glob(filepath.Join(out, "run", "*-a", instances[1]+".log.txt"))
	if must(t, err); len(exported) != 1 {
		t.Fatalf("these logs are exported: %q", exported)
	}
	text, err = os.ReadFile(exported[0])
	must(t, err)
	linked, err := os.ReadFile(strings.Replace(exported[0], ".log.txt", ".tests.html", 1))
	if must(t, err); string(text) != want || !strings.Contains(string(linked), `href="./`+instances[1]+`.log.txt"`) {
		t.Errorf("the exported log is %q, and its page\n%s", text, linked)
	}
	outside := filepath.Join(t.TempDir(), "private")
	must(t, os.WriteFile(outside, []byte("private "+usual("test")), 0o600))
	must(t, os.Remove(log))
	must(t, os.Symlink(outside, log))
	for _, address := range []string{"/log", "/tests"} {
		if _, _, body := s.get(t, at+instances[1]+address); strings.Contains(body, "private ") {
			t.Errorf("a link out of the run directory is followed:\n%s", body)
		}
	}
}

// hrefs returns the links of a page.
func hrefs(page string) (list []string) {
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		list = append(list, html.UnescapeString(m[1]))
	}
	return list
}

// The links of an earlier attempt's pages lead to that attempt, also in an exported folder.
func TestLinksStayAtTheirAttempt(t *testing.T) {
	s := usualSite(t, 12)
	at := "/run/" + url.PathEscape(filepath.Join(s.dir, "a")) + "/" + instances[2]
	seen := map[string]bool{}
	for _, address := range []string{at, at + "/patch", at + "/tests"} {
		_, _, body := s.get(t, address+"?attempt=1")
		for _, link := range hrefs(body) {
			u, err := url.Parse(link)
			must(t, err)
			q := u.Query()
			if kind, own := strings.CutPrefix(u.Path, "/run/"+filepath.Join(s.dir, "a", instances[2])+"/"); own && kind != "" || u.Path == "" && q.Has("step") {
				seen[kind+" "+strings.Join(q["step"], "")] = true
				if q.Get("attempt") != "1" {
					t.Errorf("%s leads to %s", address, link)
				}
			}
		}
	}
	if !seen["patch "] || !seen["tests "] || !seen["audit "] || !seen[" 1"] {
		t.Errorf("only these links were seen: %v", seen)
	}
	out := filepath.Join(t.TempDir(), "out")
	must(t, s.Export(t.Context(), out, false, nil))
	pages, err := filepath.Glob(filepath.Join(out, "run", "*", instances[2]+".attempt-1.html"))
	if must(t, err); len(pages) != 2 {
		t.Fatalf("exported: %q", pages)
	}
	page, err := os.ReadFile(pages[0])
	must(t, err)
	for _, kind := range []string{"patch", "tests", "audit"} {
		if !strings.Contains(string(page), `href="./`+instances[2]+".attempt-1."+kind+`.html"`) {
			t.Errorf("there is no link to the attempt's %s", kind)
		}
	}
}

// A run directory that is the program's working directory has working links.
func TestTheFolderOfTheProgramCanBeViewed(t *testing.T) {
	dir := t.TempDir()
	must(t, writeRun(t, dir, instances, 6, usual).Close())
	t.Chdir(dir)
	s := serve(t, ".", usual, nil)
	_, _, body := s.get(t, "/")
	followed := 0
	for _, link := range hrefs(body) {
		if strings.HasPrefix(link, "/run/") {
			followed++
			if u, err := url.Parse(link); err != nil || strings.Contains(u.EscapedPath(), "/./") {
				t.Errorf("a browser changes %s", link)
			}
			if code, _, _ := s.get(t, link); code != http.StatusOK {
				t.Errorf("%s: %d", link, code)
			}
		}
	}
	if followed < len(instances) {
		t.Errorf("%d links", followed)
	}
	must(t, s.Export(t.Context(), filepath.Join(t.TempDir(), "out"), false, nil))
}

// A link to a run is followed, unless the run is there anyway. A link to a folder of runs is not.
func TestLinksToRunsAreFollowed(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	must(t, writeRun(t, filepath.Join(dir, "run"), instances, 3, usual).Close())
	must(t, writeRun(t, filepath.Join(elsewhere, "one", "more"), instances, 3, usual).Close())
	for name, target := range map[string]string{"latest": "run", "linked": filepath.Join(elsewhere, "one", "more"), "folder": elsewhere, "itself": ".", "broken": "none"} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	_, _, body := serve(t, dir, usual, nil).get(t, twinOf("/"))
	var page struct {
		Matrix struct{ Runs []string }
	}
	must(t, json.Unmarshal([]byte(body), &page))
	if want := []string{filepath.Join(dir, "run"), filepath.Join(dir, "linked")}; !slices.Equal(page.Matrix.Runs, want) {
		t.Errorf("the runs are %q, want %q", page.Matrix.Runs, want)
	}
}

// An attempt that cannot be read does not prevent the export of the others.
func TestAnExportContinuesAfterAPageThatFails(t *testing.T) {
	dir := t.TempDir()
	must(t, writeRun(t, filepath.Join(dir, "a"), instances, 6, usual).Close())
	path := results.JournalPath(filepath.Join(dir, "a"), instances[0])
	text, err := os.ReadFile(path)
	must(t, err)
	text[len(text)/2] ^= 1
	must(t, os.WriteFile(path, text, 0o600))
	must(t, os.Remove(results.TrajectoryPath(filepath.Join(dir, "a"), instances[0])))
	s, out := serve(t, dir, usual, nil), filepath.Join(t.TempDir(), "out")
	err = s.Export(t.Context(), out, false, nil)
	if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), instances[0]) {
		t.Errorf("got %v, want an Instance fault that names the page", err)
	}
	pages, err := filepath.Glob(filepath.Join(out, "run", "*", instances[5]+"*.html"))
	if must(t, err); len(pages) == 0 {
		t.Error("the other pages are not there")
	}
	_, err = os.Stat(filepath.Join(out, "assets", "view.css"))
	must(t, err)
}

// Attempts of an older version were never searched for secrets: each page says so, and they are exported only
// on request.
func TestAnAttemptWithoutMaskedCopiesSaysSo(t *testing.T) {
	dir, id, exposed := t.TempDir(), "psf__requests-1", "the run's own may be in clear"
	must(t, writeRun(t, filepath.Join(dir, "new"), instances[:1], 6, usual).Close())
	path := results.JournalPath(filepath.Join(dir, "old"), id)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	w, err := journal.Open(path, journal.Tail{}, journal.Options{Spend: func(_, _ float64) {}})
	must(t, err)
	must(t, w.Begin(1, struct{}{}))
	must(t, w.Append(journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{encoded(map[string]any{"role": "user", "content": "hello"})}}))
	must(t, w.Close())
	s := serve(t, dir, usual, nil)
	for address, want := range map[string]bool{
		"/run/" + url.PathEscape(filepath.Join(dir, "old")) + "/" + id: true, "/instance/" + id: true,
		"/run/" + url.PathEscape(filepath.Join(dir, "new")) + "/" + instances[0]: false, "/instance/" + instances[0]: false,
	} {
		code, _, body := s.get(t, address)
		if code != http.StatusOK || strings.Contains(body, exposed) != want {
			t.Errorf("%s: %d, says that secrets are exposed: %t", address, code, !want)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if err := s.Export(t.Context(), out, false, nil); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), id) {
		t.Errorf("got %v, want a refusal that names the instance", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused export has written something: %v", err)
	}
	must(t, s.Export(t.Context(), out, true, nil))
}

// Every verb has a form, on the page about work under way or on that of an attempt, which leads back to its page.
func TestEveryVerbHasAForm(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "a")
	writeRun(t, run, instances, 6, usual) // its process runs until the end of the test
	steered(t, run, usual)
	var read []string
	s := serve(t, dir, usual, func(c *view.Config) {
		c.Control = func(verb control.Verb, args []string) ([]control.Command, error) {
			read = append(read, fmt.Sprintf("%s %q", verb, args))
			return []control.Command{{Verb: control.Pause}}, nil
		}
	})
	forms := regexp.MustCompile(`(?s)<form method="post" action="/control".*?</form>`)
	fields := regexp.MustCompile(`<(?:input|textarea)[^>]* name="([^"]*)"(?: value="([^"]*)")?`)
	buttons := regexp.MustCompile(`<button name="verb" value="([^"]*)"`)
	filled := map[string]string{"value": "7", "text": "some words", "instance": "one"}
	id := instances[0]
	attempt := "/run/" + url.PathEscape(run) + "/" + id + "?step=last"
	for page, want := range map[string][]string{
		"/live": {`pause []`, `resume []`, `drain []`, `stop []`, `width ["7"]`, `budget ["7"]`, `limit ["7"]`, `requeue ["one"]`, `cancel ["one"]`},
		attempt: {`say ["` + id + `" "some words"]`, `limit ["` + id + `" "7"]`, `cancel ["` + id + `"]`, `requeue ["` + id + `"]`},
	} {
		read = nil
		_, _, body := s.get(t, page)
		for _, form := range forms.FindAllString(body, -1) {
			values := url.Values{}
			for _, f := range fields.FindAllStringSubmatch(form, -1) {
				values.Set(f[1], cmp.Or(html.UnescapeString(f[2]), filled[f[1]]))
			}
			for _, b := range buttons.FindAllStringSubmatch(form, -1) {
				values.Set("verb", b[1])
				got := s.request(t, "POST", "/control", values.Encode(), "Origin", "http://"+s.config.Hosts[0])
				if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || to != page {
					t.Errorf("%s: %d, to %q, want %q\n%.300s", b[1], got.Code, to, page, got.Body)
				}
			}
		}
		if !slices.Equal(read, want) {
			t.Errorf("%s has the forms\n%q, want\n%q", page, read, want)
		}
	}
}

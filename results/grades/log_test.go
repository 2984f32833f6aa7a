package grades_test

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

func grade(id string) grades.Grade {
	code := 1
	return grades.Grade{
		InstanceID: id, Attempt: 2, Model: "openai/x", Patch: grades.PatchDigest("diff"),
		Script: "s", Image: "img:latest", ImageID: "sha256:1", ImageDigest: "sha256:2", Family: "swe-bench", Parser: "parse_log_pytest", Rules: "v5",
		Verdict: vocab.VerdictUnresolved, Why: "1 of 2 FAIL_TO_PASS tests fails: é <b>", Suspicious: []string{"the patch changes conftest.py"},
		FailToPass: grades.Tests{Passed: []string{"a"}, Failed: []string{"b\n\x00"}}, PassToPass: grades.Tests{Passed: []string{strings.Repeat("long ", 2000)}},
		ExitCode: &code, Applied: "git apply --verbose", Started: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Time: grades.Seconds{Queue: 1, Pull: 2, Start: 3, Apply: 4, Tests: 5, Judge: 6, Close: 7, Total: 27}, Log: "logs/run_evaluation/r/m/" + id,
	}
}

func open(t testing.TB, dir string) *grades.Log {
	t.Helper()
	l, err := grades.Open(dir, grades.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func add(t testing.TB, l *grades.Log, list ...grades.Grade) {
	t.Helper()
	for _, g := range list {
		if err := l.Add(g); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGradesAreReadAsTheyWereAdded(t *testing.T) {
	dir := t.TempDir()
	if list, err := grades.Read(dir); list != nil || err != nil {
		t.Errorf("without a file: %v, %v; want none", list, err)
	}
	first, second := grade("a"), grade("b")
	second.Verdict, second.Error, second.Blame = vocab.VerdictInfrastructure, "no route to the engine", "transient"
	l := open(t, dir)
	add(t, l, first)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir)
	add(t, l, second)
	want := []grades.Grade{first, second}
	if d := cmp.Diff(want, l.All()); d != "" {
		t.Errorf("All (-want +got):\n%s", d)
	}
	list, err := grades.Read(dir)
	if d := cmp.Diff(want, list); d != "" || err != nil {
		t.Errorf("Read: %v (-want +got):\n%s", err, d)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := l.Add(first); fault.KindOf(err) != fault.Bug {
		t.Errorf("Add after Close: %v, want a Bug fault", err)
	}
	info, err := os.Stat(grades.Path(dir))
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		t.Errorf("mode %v, %v; want a file that others can read", info.Mode(), err)
	}
}

func TestAddHidesSecretsAndRefusesWhatCannotBeRead(t *testing.T) {
	l, err := grades.Open(t.TempDir(), grades.Options{Mask: mask.New(mask.Secret{Name: "KEY", Value: "sk-0123456789abcdef"})})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	g := grade("a")
	g.Error, g.Why = "pull: sk-0123456789abcdef", "it printed sk-0123456789abcdef"
	g.Suspicious = []string{"a file sk-0123456789abcdef"}
	add(t, l, g)
	if got := l.All()[0]; strings.Contains(got.Error+got.Why+got.Suspicious[0], "0123456789") {
		t.Errorf("error %q, why %q, suspicious %q; want no secret", got.Error, got.Why, got.Suspicious)
	}
	if g.Suspicious[0] != "a file sk-0123456789abcdef" {
		t.Error("the caller's list was changed")
	}
	for name, change := range map[string]func(*grades.Grade){
		"instance id": func(g *grades.Grade) { g.InstanceID = "a/b" },
		"verdict":     func(g *grades.Grade) { g.Verdict = "solved" },
		"attempt -1":  func(g *grades.Grade) { g.Attempt = -1 },
		"log":         func(g *grades.Grade) { g.Log = "/tmp/x" },
	} {
		g := grade("a")
		change(&g)
		if err := l.Add(g); fault.KindOf(err) != fault.Bug || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v (%v), want a Bug fault that names it", name, err, fault.KindOf(err))
		}
	}
	if n := len(l.All()); n != 1 {
		t.Errorf("%d grades, want 1", n)
	}
}

// text returns the file of some grades.
func text(t testing.TB, ids ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	l := open(t, dir)
	for _, id := range ids {
		add(t, l, grade(id))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(grades.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t testing.TB, b []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(grades.Path(dir), b, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAFileThatBreaksOffAnywhereKeepsWhatIsWhole(t *testing.T) {
	whole := text(t, "a", "b")
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for size := 0; size < len(whole); size += 1 + size/50 {
		dir := write(t, whole[:size])
		want, torn := []string(nil), size
		if size >= len(lines[0]) {
			want, torn = []string{"a"}, size-len(lines[0])
		}
		list, err := grades.Read(dir)
		if err != nil || !slices.Equal(ids(list), want) {
			t.Fatalf("%d bytes: read %q, %v; want %q", size, ids(list), err, want)
		}
		l := open(t, dir)
		if told := l.Recovered(); len(told) != min(torn, 1) {
			t.Fatalf("%d bytes: recovered %q, want %d notes", size, told, min(torn, 1))
		}
		add(t, l, grade("c"))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if list, err = grades.Read(dir); err != nil || !slices.Equal(ids(list), append(want, "c")) {
			t.Fatalf("%d bytes: then %q, %v; want %q and c", size, ids(list), err, want)
		}
	}
}

func ids(list []grades.Grade) []string {
	var out []string
	for _, g := range list {
		out = append(out, g.InstanceID)
	}
	return out
}

func TestDamageIsReportedWithItsLineAndNothingIsChanged(t *testing.T) {
	whole := text(t, "a", "b", "c")
	lines := bytes.SplitAfter(whole, []byte("\n"))
	changed := bytes.Replace(whole, []byte(`"instance_id":"b"`), []byte(`"instance_id":"x"`), 1)
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"a changed byte": {changed, "line 2 is damaged"},
		"a missing line": {slices.Concat(lines[0], lines[2]), "record 3 follows record 1"},
		"a line twice":   {slices.Concat(lines[0], lines[1], lines[1], lines[2]), "record 2 follows record 2"},
		"an empty line":  {slices.Concat(lines[0], []byte("\n"), lines[1], lines[2]), "line 2 is damaged"},
	} {
		dir := write(t, c.text)
		list, err := grades.Read(dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), grades.File) || fault.HintOf(err) == "" || ids(list)[0] != "a" {
			t.Errorf("%s: Read %q, %v; want a, and an error with %q and a hint", name, ids(list), err, c.want)
		}
		if _, err := grades.Open(dir, grades.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Open %v, want an error with %q", name, err, c.want)
		}
		if after, err := os.ReadFile(grades.Path(dir)); err != nil || !bytes.Equal(after, c.text) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
}

func TestAnotherProgramsFileIsKept(t *testing.T) {
	other := []byte("{\"id\": 1}\n{\"id\": 2}\n")
	dir := write(t, other)
	l := open(t, dir)
	add(t, l, grade("a"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(grades.Path(dir) + ".corrupt-1"); err != nil || !bytes.Equal(kept, other) || len(l.Recovered()) != 1 {
		t.Errorf("kept %q, %v, notes %q; want the file aside, and a note", kept, err, l.Recovered())
	}
}

// checkSafe looks for the ids in safe, and adds another grade.
func checkSafe(t *testing.T, spec, dir string, safe []byte) {
	t.Helper()
	l := open(t, dir)
	got := ids(l.All())
	for lines := bufio.NewScanner(bytes.NewReader(safe)); lines.Scan(); {
		if !slices.Contains(got, lines.Text()) {
			t.Errorf("%s: the grade of %s is lost", spec, lines.Text())
		}
	}
	add(t, l, grade("later"))
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	list, err := grades.Read(dir)
	if want := append(got, "later"); err != nil || !slices.Equal(ids(list), want) {
		t.Errorf("%s: read %q, %v; want %q", spec, ids(list), err, want)
	}
}

// Failures are also injected while the torn tail is cut and an unknown file is moved.
func TestAFailureOfTheRecoveryLosesNothing(t *testing.T) {
	whole := text(t, "a", "b")
	for spec, content := range map[string][]byte{
		"journal.cut:1=EIO": whole[:len(whole)-5], "file.rename:1=ENOSPC": whole[:5], "dir.sync:1=EIO": whole[:5],
	} {
		dir := write(t, content)
		plan, err := inject.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := grades.Open(dir, grades.Options{Files: atomicfile.Files{Inject: plan}}); fault.KindOf(err) != fault.Host {
			t.Errorf("%s: %v (%v), want a Host fault", spec, err, fault.KindOf(err))
		}
		checkSafe(t, spec, dir, []byte("a\n")[:2*(len(content)/len(whole[:len(whole)-5]))])
	}
}

func FuzzRead(f *testing.F) {
	whole := text(f, "a", "b")
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add(whole[10:])
	f.Add([]byte("{\"v\":9,\"seq\":1,\"crc\":\"00000000\"}\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(grades.Path(dir), b, 0o644); err != nil {
			t.Fatal(err)
		}
		list, err := grades.Read(dir)
		if err != nil && fault.KindOf(err) == fault.Unknown {
			t.Errorf("%v: want a fault", err)
		}
		grades.Latest(list)
		if err == nil && bytes.Count(b, []byte("\n")) < len(list) {
			t.Errorf("%d grades, want no more than lines", len(list))
		}
	})
}

func FuzzParseQuarantine(f *testing.F) {
	f.Add("a\n# b\n  c # why\n\n")
	f.Add("\ufeffa b")
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := grades.ParseQuarantine("q", text)
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%v: want a Usage fault", err)
			}
			return
		}
		again, err := grades.ParseQuarantine("q", strings.Join(ids, "\n"))
		if err != nil || !slices.Equal(again, ids) {
			t.Errorf("%q became %q, %v", ids, again, err)
		}
	})
}

package notes_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/results/notes"
)

const (
	childDir  = "BATCH_TEST_NOTES_DIR"
	childName = "BATCH_TEST_NOTES_NAME"
	perChild  = 20
)

// A child process adds notes, and removes every second one.
func TestMain(m *testing.M) {
	dir, name := os.Getenv(childDir), os.Getenv(childName)
	if dir == "" {
		os.Exit(m.Run())
	}
	for i := range perChild {
		n, err := notes.Add(dir, notes.Note{Instance: "a__1", Text: fmt.Sprint(name, " ", i)})
		if err == nil && i%2 == 1 {
			err = notes.Remove(dir, n.ID, name)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func add(t testing.TB, dir string, n notes.Note) notes.Note {
	t.Helper()
	n, err := notes.Add(dir, n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func read(t testing.TB, dir string) []notes.Note {
	t.Helper()
	list, err := notes.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestWhatWasAddedIsRead(t *testing.T) {
	dir := t.TempDir()
	if list := read(t, dir); len(list) > 0 {
		t.Errorf("no file: %v", list)
	}
	hostile := "a \x1b[31m<script>alert(1)</script>\x00\n\u202e\r{\"id\":\"x\"}\n,\"crc\":\"00000000\"}\n"
	want := []notes.Note{
		add(t, dir, notes.Note{Instance: "a__1", Label: "gave-up", Who: "ann"}),
		add(t, dir, notes.Note{Instance: "a__1", Attempt: 2, Step: 7, Label: "ünï_1.0", Text: hostile}),
		add(t, dir, notes.Note{Instance: "b__2", Attempt: 1, Text: strings.Repeat("x", notes.MaxText)}),
	}
	if got := read(t, dir); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	for _, n := range want {
		if len(n.ID) != 8 || n.When.IsZero() {
			t.Errorf("id %q, when %v", n.ID, n.When)
		}
	}
	if err := notes.Remove(dir, want[1].ID, "ben"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir); !reflect.DeepEqual(got, []notes.Note{want[0], want[2]}) {
		t.Errorf("after removing: %+v", got)
	}
	for _, id := range []string{want[1].ID, "nothing", ""} {
		if err := notes.Remove(dir, id, "ben"); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("removing %q: %v", id, err)
		}
	}
}

func TestAWrongNoteNamesItsField(t *testing.T) {
	dir := t.TempDir()
	for want, n := range map[string]notes.Note{
		"instance: the id is empty":                    {Text: "x"},
		"instance: the id contains":                    {Instance: "x/y", Text: "x"},
		"instance: the id is not valid UTF-8":          {Instance: "\xb8", Text: "x"},
		"instance: the id is the name of":              {Instance: notes.File, Text: "x"},
		"attempt: -1":                                  {Instance: "a", Attempt: -1, Text: "x"},
		"step: -2":                                     {Instance: "a", Step: -2, Text: "x"},
		"text: a note has":                             {Instance: "a", Text: " \n"},
		"text: it has 10001 bytes":                     {Instance: "a", Text: strings.Repeat("x", notes.MaxText+1)},
		"text: it is not valid UTF-8":                  {Instance: "a", Text: "\xff"},
		`label: "two words"`:                           {Instance: "a", Label: "two words"},
		`label: "a\n"`:                                 {Instance: "a", Label: "a\n"},
		`label: "\xff"`:                                {Instance: "a", Label: "\xff"},
		"label: it has 41 characters, and may have 40": {Instance: "a", Label: strings.Repeat("ü", notes.MaxLabel+1)},
		"who: ": {Instance: "a", Text: "x", Who: strings.Repeat("x", notes.MaxWho+1)},
	} {
		if _, err := notes.Add(dir, n); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want a Usage fault with %q", err, want)
		}
	}
	if _, err := os.Stat(notes.Path(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused note wrote: %v", err)
	}
	if _, err := notes.Add(filepath.Join(dir, "missing"), notes.Note{Instance: "a", Text: "x"}); fault.KindOf(err) == fault.Unknown {
		t.Errorf("in a missing directory: %v", err)
	}
}

func TestProcessesAndGoroutinesAddAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0]) //nolint:noctx // it ends by itself
			cmd.Env = append(os.Environ(), childDir+"="+dir, fmt.Sprint(childName, "=process", i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
		all.Go(func() {
			for n := range perChild {
				if _, err := notes.Add(dir, notes.Note{Instance: "a__1", Text: fmt.Sprintf("routine%d %d", i, n)}); err != nil {
					t.Error(err)
				}
				if _, err := notes.Read(dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	texts, ids := map[string]bool{}, map[string]bool{}
	for _, n := range read(t, dir) {
		texts[n.Text], ids[n.ID] = true, true
	}
	if want := 4*perChild/2 + 4*perChild; len(texts) != want || len(ids) != want {
		t.Errorf("%d texts and %d ids, want %d", len(texts), len(ids), want)
	}
	for i := range 4 {
		for n := range perChild {
			if !texts[fmt.Sprintf("routine%d %d", i, n)] || texts[fmt.Sprintf("process%d %d", i, n)] != (n%2 == 0) {
				t.Errorf("writer %d, note %d: lost, or not removed", i, n)
			}
		}
	}
}

func TestNotesAreCarriedWithTheirIDs(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	a, b := add(t, one, notes.Note{Instance: "a", Label: "x"}), add(t, one, notes.Note{Instance: "a", Label: "y"})
	if err := notes.Carry(two, []notes.Note{a, b}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, two); !reflect.DeepEqual(got, []notes.Note{a, b}) {
		t.Errorf("carried %+v", got)
	}
	other := a
	other.Label = "z"
	if err := notes.Carry(two, []notes.Note{b, other, a}); err != nil {
		t.Fatal(err)
	}
	got := read(t, two)
	if len(got) != 3 || got[2].ID == a.ID || got[2].Label != "z" || got[2].When != a.When {
		t.Errorf("carried again: %+v", got)
	}
	if err := notes.Carry(two, []notes.Note{{}}); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	n := add(f, dir, notes.Note{Instance: "a", Text: "first"})
	if err := notes.Remove(dir, n.ID, "x"); err != nil {
		f.Fatal(err)
	}
	add(f, dir, notes.Note{Instance: "a", Label: "x"})
	whole, _ := os.ReadFile(notes.Path(dir))
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add(whole[10:])
	f.Add([]byte("{\"v\":9,\"seq\":1,\"crc\":\"00000000\"}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(notes.Path(dir), text, 0o644); err != nil {
			t.Fatal(err)
		}
		list, err := notes.Read(dir)
		if err != nil && fault.KindOf(err) == fault.Unknown {
			t.Errorf("%v: want a fault", err)
		}
		if slices.ContainsFunc(list, func(n notes.Note) bool { return n.Check() != nil }) {
			t.Errorf("a wrong note was read: %+v", list)
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add("a", 1, 2, "label", "text")
	f.Add("a", 0, 0, "", "\x00\u2028")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, id string, attempt, step int, label, text string) {
		_ = os.Remove(notes.Path(dir))
		n, err := notes.Add(dir, notes.Note{Instance: id, Attempt: attempt, Step: step, Label: label, Text: text})
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Error(err)
			}
			return
		}
		if got := read(t, dir); !reflect.DeepEqual(got, []notes.Note{n}) {
			t.Errorf("added %+v, read %+v", n, got)
		}
	})
}

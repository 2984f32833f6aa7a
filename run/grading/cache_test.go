package grading

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/grade"
	"batch.example/batch/grade/evaluate"
)

func TestTheCacheReturnsWhatItWasGiven(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	code := 1
	want := &evaluate.Evidence{
		Applied: true, How: "git apply", ApplyOutput: []byte("\xff\x00"), Script: "x",
		Log: grade.Log{Text: []byte("a\r\n\xfe"), ExitCode: &code, Nonce: "n"}, Tests: time.Second, RunLog: []byte("l"),
	}
	k := cacheKey{Patch: "p", ImageID: "i"}
	if c.get(k, time.Hour) != nil {
		t.Error("an empty cache has an entry")
	}
	c.put(k, want)
	if d := cmp.Diff(want, c.get(k, time.Hour)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, other := range []cacheKey{
		{Patch: "q", ImageID: "i"},
		{Patch: "p", ImageID: "j"},
		{Patch: "p", ImageID: "i", Container: "c"},
		{Patch: "p", ImageID: "i", Without: "f"},
	} {
		if c.get(other, time.Hour) != nil {
			t.Errorf("%+v has the entry of another key", other)
		}
	}
}

func TestADamagedEntryIsNotThere(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	k := cacheKey{Patch: "p"}
	c.put(k, &evaluate.Evidence{Script: "x"})
	path := c.path(k.name())
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		damaged := append([]byte{}, text...)
		damaged[i] ^= 1
		for _, data := range [][]byte{damaged, text[:i]} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.get(k, time.Hour) != nil {
				t.Fatalf("byte %d: a damaged entry was read", i)
			}
		}
	}
}

func TestTheCacheKeepsItsBounds(t *testing.T) {
	c := &Cache{Dir: filepath.Join(t.TempDir(), "grades"), Entries: 3}
	if err := c.Trim(); err != nil {
		t.Errorf("without a folder: %v", err)
	}
	for i := range 5 {
		k := cacheKey{Patch: fmt.Sprint(i)}
		c.put(k, &evaluate.Evidence{})
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(c.path(k.name()), at, at); err != nil {
			t.Fatal(err)
		}
	}
	c.get(cacheKey{Patch: "0"}, time.Hour) // used now
	if err := c.Trim(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false, true, true} {
		if got := c.get(cacheKey{Patch: fmt.Sprint(i)}, time.Hour) != nil; got != want {
			t.Errorf("entry %d is there: %v, want %v", i, got, want)
		}
	}
	c.Bytes = 1
	if err := c.Trim(); err != nil {
		t.Fatal(err)
	}
	if c.get(cacheKey{Patch: "0"}, time.Hour) != nil {
		t.Error("the cache is larger than its limit")
	}
}

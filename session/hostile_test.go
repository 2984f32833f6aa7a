package session_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/sample"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/session"
)

// recorded makes a session with two turns, and returns the bytes of its journal.
func recorded(t *testing.T, dir, id string) []byte {
	t.Helper()
	s := opened(t, dir, id)
	for turn := 1; turn <= 2; turn++ {
		must(t, s.Append(journal.TypeTurn, journal.TurnData{Turn: turn, Words: "w"}))
		must(t, s.AppendMessages(t.Context(), turn, []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("words")}}))
		must(t, s.Append(journal.TypeTurnEnd, journal.TurnEndData{Turn: turn, End: journal.TurnFinished}))
		must(t, s.SaveArtifact(t.Context(), session.Artifact{Name: "a", Data: []byte{byte(turn)}, Turn: turn}))
	}
	must(t, s.SaveState(t.Context(), session.State{Status: session.Shutdown}))
	must(t, s.Close())
	text, err := os.ReadFile(journalIn(dir, id))
	must(t, err)
	return text
}

func journalIn(dir, id string) string { return filepath.Join(dir, id, "journal.jsonl") }

func opened(t *testing.T, dir, id string) session.Store {
	t.Helper()
	s, err := session.OpenFiles(dir, id, session.Options{})
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A crash may leave any beginning of what was written.
func TestAJournalThatWasCutAnywhereIsOpened(t *testing.T) {
	dir := t.TempDir()
	text := recorded(t, dir, "whole")
	must(t, os.MkdirAll(filepath.Dir(journalIn(dir, "cut")), 0o755))
	cuts := sample.Of(t, 150, len(text))
	for n := range text {
		if atEnd := text[n] == '\n' || n > 0 && text[n-1] == '\n'; !atEnd && !slices.Contains(cuts, n) {
			continue
		}
		must(t, os.WriteFile(journalIn(dir, "cut"), text[:n], 0o600))
		whole := bytes.Count(text[:n], []byte("\n"))
		for range 2 { // the second time, it has been fixed
			s := opened(t, dir, "cut")
			h, err := s.History(t.Context())
			must(t, err)
			turns := 0
			for i, l := range bytes.SplitAfter(text, []byte("\n")) {
				if i < whole && bytes.Contains(l, []byte(`"type":"turn"`)) {
					turns++
				}
			}
			if len(h.Turns) != turns {
				t.Fatalf("cut after %d bytes: %d turns, want %d", n, len(h.Turns), turns)
			}
			must(t, s.Close())
		}
	}
}

func TestADamagedJournalIsAFaultAndIsKept(t *testing.T) {
	dir := t.TempDir()
	text := recorded(t, dir, "damaged")
	for name, damaged := range map[string][]byte{
		"a changed byte":     bytes.Replace(text, []byte(`"words":"w"`), []byte(`"words":"W"`), 1),
		"a missing line":     append(bytes.Clone(text[:bytes.IndexByte(text, '\n')+1]), text[3*len(text)/4:]...),
		"a line twice":       append(bytes.Clone(text[:bytes.IndexByte(text, '\n')+1]), text...),
		"zeros in its midst": append(append(bytes.Clone(text[:200]), make([]byte, 100)...), text[300:]...),
	} {
		must(t, os.WriteFile(journalIn(dir, "damaged"), damaged, 0o600))
		for range 2 {
			s, err := session.OpenFiles(dir, "damaged", session.Options{})
			if fault.KindOf(err) != fault.Instance || s != nil {
				t.Errorf("%s: got %v (%v), want an Instance fault", name, err, fault.KindOf(err))
			}
		}
		if got, err := os.ReadFile(journalIn(dir, "damaged")); err != nil || !bytes.Equal(got, damaged) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
	must(t, os.WriteFile(journalIn(dir, "damaged"), text, 0o600))
	must(t, opened(t, dir, "damaged").Close()) // no lock is left
}

func TestSessionsInFilesAreListed(t *testing.T) {
	dir := t.TempDir()
	recorded(t, dir, "b")
	recorded(t, dir, "a")
	list, err := session.ListFiles(dir)
	if err != nil || len(list) != 2 || list[0].ContextID != "a" || list[1].ContextID != "b" {
		t.Fatalf("got %+v, %v; want the last active first", list, err)
	}
	if s := list[0]; s.Status != session.Shutdown || s.Turns != 2 || s.Retry || s.LastActivity.Before(s.Created) {
		t.Errorf("got %+v", s)
	}
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, ".hidden"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	open := opened(t, dir, "open")
	defer open.Close()
	text := recorded(t, dir, "damaged")
	must(t, os.WriteFile(journalIn(dir, "damaged"), bytes.Replace(text, []byte(`"w"`), []byte(`"W"`), 1), 0o600))
	list, err = session.ListFiles(dir)
	if len(list) != 3 || list[0].ContextID != "open" || list[0].Status != session.Created || fault.KindOf(err) != fault.Instance {
		t.Errorf("got %+v, %v; want open, a and b, and an Instance fault for damaged", list, err)
	}
	if list, err := session.ListFiles(filepath.Join(dir, "missing")); list != nil || err != nil {
		t.Errorf("a missing directory: %+v, %v", list, err)
	}
}

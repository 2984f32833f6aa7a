package session_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/sample"
	"batch.example/batch/journal"
	"batch.example/batch/session"
)

// recorded makes a session with two turns, and returns the bytes of its journal.
func recorded(t *testing.T, dir, id string) []byte {
	t.Helper()
	s := opened(t, dir, id)
	for turn := 1; turn <= 2; turn++ {
		must(t, s.Append(journal.TypeTurn, journal.TurnData{Turn: turn, Words: "w"}))
		must(t, s.Append(journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{[]byte(`{"role":"user","content":"words"}`)}}))
		must(t, s.Append(journal.TypeTurnEnd, journal.TurnEndData{Turn: turn, End: journal.TurnFinished}))
		must(t, s.Append(journal.TypeArtifact, journal.ArtifactData{Name: "a", Data: []byte{byte(turn)}, Turn: turn}))
	}
	must(t, s.Append(journal.TypeSession, journal.SessionData{Status: string(session.Shutdown)}))
	must(t, s.Close())
	text, err := os.ReadFile(journalIn(dir, id))
	must(t, err)
	return text
}

func opened(t *testing.T, dir, id string) *journal.Writer {
	t.Helper()
	s, err := openIn(dir, id, journal.Power)
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
			h, err := s.HistoryHere()
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
			s, err := openIn(dir, "damaged", journal.Power)
			if fault.KindOf(err) != fault.Instance || s != nil {
				t.Errorf("%s: got %v (%v), want an Instance fault", name, err, fault.KindOf(err))
			}
		}
		if got, err := os.ReadFile(journalIn(dir, "damaged")); err != nil || !bytes.Equal(got, damaged) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
	must(t, os.WriteFile(journalIn(dir, "damaged"), text, 0o600))
	must(t, opened(t, dir, "damaged").Close())
}

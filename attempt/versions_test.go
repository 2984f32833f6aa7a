package attempt_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"batch.example/batch/journal"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// The journals in testdata are of a batch run, written by programs before version 5. The
// conversation is rewritten from version 3 on, and in none does the turn have records.
func TestJournalsOfEarlierVersionsAreReadAndResumed(t *testing.T) {
	for version := 1; version <= 4; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(fmt.Sprintf("testdata/version-%d.jsonl", version))
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(text, []byte("\n"))
			p := newPlaying(t, []scripted.Reply{bash("do 1"), bash("do 2", "do 3"), bash("submit")})
			if version >= 3 {
				p.play = []scripted.Reply{bash("do 1"), bash("do 2", "do 3"), bash("do 4"), bash("do 5"), bash("submit")}
				p.rewrite = shorten
			}
			p.wantShown(p.crashed(lines, false))
			last := slices.IndexFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte(`"type":"submission"`)) })
			for after := 1; after <= last; after++ {
				p.wantResumed(p.crashed(lines[:after], true), fmt.Sprint("cut behind record ", after))
			}
		})
	}
}

// wantShown checks what people see of a whole journal of the play.
func (p *playing) wantShown(dir string) {
	p.t.Helper()
	store, err := results.Open(dir, results.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	defer store.Close()
	rec, finished := store.Finished("a")
	if !finished || rec.Status != vocab.StatusSubmitted || rec.Steps != len(p.play) {
		p.t.Errorf("finished %v: %+v, want %d steps, submitted", finished, rec, len(p.play))
	}
	var b strings.Builder
	if err := results.WriteTrajectory(&b, dir, "a", 0, nil); err != nil {
		p.t.Fatal(err)
	}
	for _, want := range []string{`"exit_status": "Submitted"`, `"the task"`, `do 1`, `do 3`} {
		if !strings.Contains(b.String(), want) {
			p.t.Errorf("the trajectory has no %s:\n%s", want, b.String())
		}
	}
}

// wantResumed checks that a resume completes the play without asking or acting twice.
func (p *playing) wantResumed(dir, when string) {
	p.t.Helper()
	h, err := journal.ReadHistory(results.JournalPath(dir, "a"))
	if err != nil {
		p.t.Fatal(err)
	}
	heard := 0
	for _, s := range h.Steps {
		if s.Reply != nil {
			heard++
		}
	}
	rec := p.solve(dir).Record
	if rec.Status != vocab.StatusSubmitted || rec.Steps != len(p.play) || rec.Resumed != 1 {
		p.t.Errorf("%s: %+v", when, rec)
	}
	model := p.models[len(p.models)-1]
	if asked := len(p.play) - heard - model.Left(); asked+heard != len(p.play) {
		p.t.Errorf("%s: %d replies were requested with %d known", when, asked, heard)
	}
	var want []string
	for _, reply := range p.play {
		for _, call := range reply.ToolCalls {
			want = append(want, gjson.Get(call.Arguments, "command").String())
		}
	}
	if !slices.Equal(p.boxes.opened.ran, want) {
		p.t.Errorf("%s: ran %q, want %q", when, p.boxes.opened.ran, want)
	}
}

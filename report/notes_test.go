package report_test

import (
	"bytes"
	"testing"
	"time"

	"batch.example/batch/report"
	"batch.example/batch/results/notes"
)

func noteList() []notes.Note {
	list := []notes.Note{
		{Instance: "org__repo-1", Label: "flaky-test"},
		{Instance: "org__repo-1", Text: "It fails on \x1b[31mred\x1b[0m.\n\nSee the second\tline, a long one, which needs more than the width of this page.\r\n"},
		{Instance: "org__repo-1", Attempt: 2, Label: "gave-up", Text: "too early"},
		{Instance: "org__repo-1", Attempt: 1, Text: "on another attempt"},
		{Instance: "org__repo-1", Attempt: 2, Step: 2, Label: "no-command"},
		{Instance: "org__repo-1", Attempt: 2, Step: 2, Text: "first line\nsecond line", Who: "ben\x1b[31mred"},
		{Instance: "org__repo-1", Attempt: 2, Step: 9, Text: "on a step that is not there"},
		{Instance: "org__repo-1", Step: 2, Text: "on a step of another tool's attempt"},
		{Instance: "org__repo-2", Text: "on another instance"},
	}
	for i := range list {
		list[i].ID, list[i].When = "abcdefg"+string(rune('2'+i)), time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
		if i%2 == 0 {
			list[i].Who = "ann"
		}
	}
	return list
}

func TestNotes(t *testing.T) {
	var b bytes.Buffer
	if err := report.Notes(&b, noteList(), report.Reading{Width: 72}); err != nil {
		t.Fatal(err)
	}
	exactGolden(t, "notes.txt", b.Bytes())
	if bytes.Contains(b.Bytes(), []byte("\x1b[31mred")) {
		t.Error("an escape from outside reaches the terminal")
	}
}

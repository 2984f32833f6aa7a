package export_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"

	"batch.example/batch/internal/mask"
	"batch.example/batch/results/export"
	"batch.example/batch/results/notes"
)

func TestNotesAreExported(t *testing.T) {
	const secret = "sk-planted-0123456789"
	dir := t.TempDir()
	solved(t, dir, "a__b-1", submitted, calls, "out", "+patch\n")
	for _, n := range []notes.Note{
		{Instance: "a__b-1", Label: "whole", Who: "ann"},
		{Instance: "a__b-1", Attempt: 1, Label: "attempt", Text: "KEY=" + secret},
		{Instance: "a__b-1", Attempt: 1, Step: 1, Label: "step", Text: "first\n<b>"},
		{Instance: "a__b-1", Attempt: 1, Step: 1, Label: "step"},
		{Instance: "a__b-1", Attempt: 2, Label: "another"},
		{Instance: "a__b-1", Step: 1, Label: "another"},
		{Instance: "a__b-2", Label: "another"},
	} {
		if _, err := notes.Add(dir, n); err != nil {
			t.Fatal(err)
		}
	}
	got := write(t, export.Options{Mask: mask.New(mask.Secret{Name: "KEY", Value: secret})}, dir)
	about := got.lines(t)[0].Metadata
	want := []export.Note{
		{Label: "whole"}, {Label: "attempt", Text: "KEY=" + mask.Hidden}, {Step: 1, Label: "step", Text: "first\n<b>"}, {Step: 1, Label: "step"},
	}
	if diff := cmp.Diff(want, about.Notes, cmpopts.IgnoreFields(export.Note{}, "When")); diff != "" || about.Notes[0].When.IsZero() {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if want := []string{"attempt", "step", "whole"}; !slices.Equal(about.Labels, want) {
		t.Errorf("labels %q, want %q", about.Labels, want)
	}
	row := got.steps[0]
	if !slices.Equal(row.Labels, []string{"step"}) || !slices.Equal(row.Notes, []string{"first\n<b>"}) || !slices.Equal(row.AttemptLabels, []string{"whole", "attempt"}) {
		t.Errorf("the row has %q, %q, %q", row.Labels, row.Notes, row.AttemptLabels)
	}
	file := got.atif["a__b-1.json"]
	if of := gjson.GetBytes(file, `steps.#(source=="agent").extra.notes.#.label`).String(); of != `["step","step"]` {
		t.Errorf("the agent's step has the notes %s in\n%s", of, file)
	}
	if gjson.GetBytes(file, "extra.labels.#").Int() != 3 {
		t.Errorf("extra has no labels in\n%s", file)
	}
}

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// made writes the manifest of a run that was started with argv in dir.
func made(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	store, err := results.Open(out, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &manifest.Manifest{Argv: argv, Dir: dir, Dataset: manifest.Dataset{Instances: []string{"a", "b"}}}
	if err := store.WriteManifest(m); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestARunIsRepeatedFromItsManifest(t *testing.T) {
	t.Chdir(t.TempDir())
	elsewhere := t.TempDir()
	argv := []string{
		"run", "--subset", "rows.jsonl", "-m", "noop", "-o", "x", "-w", "7", "--retry", "transient=5,limit=1", "--redo-existing",
		"-c", "a=1,2", "-c", "b.yaml", "--instances", "-", "--accept-changes", "--cost-limit-total=3", "-q", "--salvage", "b",
	}
	out := made(t, elsewhere, argv...)
	var flags runFlags
	own := pflag.NewFlagSet("resume", pflag.ContinueOnError)
	flags.addPace(own)
	flags.addOutput(own)
	own.Bool("its-own", false, "")
	if err := own.Parse([]string{"-w", "9", "--retry", "empty=2", "--retry", "transient=0", "--its-own", "--json"}); err != nil {
		t.Fatal(err)
	}
	f, err := runFromManifest(out, own)
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil || here != elsewhere {
		t.Errorf("in %s, want %s where the run was started", here, elsewhere)
	}
	if f.workers.n != 9 || !slices.Equal(f.retry, []string{"empty=2", "transient=0"}) || !f.json {
		t.Errorf("given flags do not replace those of the run: %+v", f.paceFlags)
	}
	if f.subset != "rows.jsonl" || f.totalCost != 3 || !f.salvage || !slices.Equal(f.configs, []string{"a=1,2", "b.yaml"}) {
		t.Errorf("flags of the run are not kept: %+v", f)
	}
	if f.redo || len(f.accept) > 0 || f.quiet {
		t.Errorf("flags that are only for one command are kept: %+v", f)
	}
	if f.output != out || !slices.Equal(f.argv, argv) || !slices.Equal(f.ids, []string{"a", "b"}) || !slices.Equal(f.named, []string{"b"}) {
		t.Errorf("output %s, argv %q, ids %q, named %q; want output %v, argv %v, ids %v, named b",
			f.output, f.argv, f.ids, f.named, out, argv, []string{"a", "b"})
	}
}

func TestWhatARunSelectedIsSelectedAgain(t *testing.T) {
	elsewhere := t.TempDir()
	var rows strings.Builder
	for _, id := range []string{"z", "a", "y", "b", "c"} {
		fmt.Fprintf(&rows, `{"instance_id":%q,"problem_statement":"p"}`+"\n", id)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "rows.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--slice", "1:4", "b", "a"},
		{"b"}, // a part of what an earlier run selected
		{"--filter", "[ab]", "--shard", "1/1", "a", "b", "c"},
		{"--instances", "gone", "--slice", "1:4"},
		{"--instances", "-", "--shard", "2/2", "--filter", "[abc]"},
		{"--instances", "gone", "--slice", "1:4", "a", "b", "c"},
	} {
		t.Chdir(t.TempDir())
		f, err := runFromManifest(made(t, elsewhere, append([]string{"run", "--subset", "rows.jsonl"}, args...)...),
			pflag.NewFlagSet("resume", pflag.ContinueOnError))
		if err != nil {
			t.Fatal(err)
		}
		a := appWith(t, nil)
		a.stderr = io.Discard
		ds, selected, err := f.load(t.Context(), a)
		if err == nil {
			selected, err = f.narrow(ds, selected)
		}
		var got []string
		for _, in := range selected {
			got = append(got, in.ID)
		}
		if err != nil || !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%q: got %q, %v; want a and b, no error", args, got, err)
		}
	}
}

func TestARunThatCannotBeRepeatedIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, out := range map[string]string{
		"no directory":           filepath.Join(t.TempDir(), "none"),
		"no manifest":            t.TempDir(),
		"no command":             made(t, ""),
		"a hidden secret":        made(t, "", maskArgs([]string{"run", "-c", "model.model_kwargs.api_key=S3CRET"})...),
		"a flag that is unknown": made(t, "", "run", "--from-the-future"),
		"a folder that is gone":  made(t, "/nowhere/at/all", "run", "-m", "noop"),
	} {
		_, err := runFromManifest(out, pflag.NewFlagSet("resume", pflag.ContinueOnError))
		if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: got %v (%s); want a Usage fault, a hint", name, err, fault.HintOf(err))
		}
	}
}

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/agent/config"
	"batch.example/batch/fault"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run"
)

// requested is the request of a `batch run` with args, given in dir.
func requested(t *testing.T, dir string, args ...string) *run.Request {
	t.Helper()
	c, f := &cobra.Command{}, newRunFlags()
	f.add(c.Flags())
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	f.Dir, f.Named = dir, c.Flags().Args()
	return &f.Request
}

// made writes the manifest of a run that was started with r.
func made(t *testing.T, r *run.Request, argv ...string) string {
	t.Helper()
	out := t.TempDir()
	m := manifest.Manifest{Command: "run", Argv: argv, Request: r, Dataset: manifest.Dataset{Instances: []string{"a", "b"}}}
	text, err := m.Text()
	if err == nil {
		err = os.WriteFile(filepath.Join(out, manifest.File), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestARunIsRepeatedFromItsManifest(t *testing.T) {
	t.Chdir(t.TempDir())
	elsewhere := t.TempDir()
	for _, name := range []string{"rows.jsonl", "b.yaml"} {
		if err := os.WriteFile(filepath.Join(elsewhere, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	argv := []string{
		"run", "--subset", "rows.jsonl", "-m", "noop", "-o", "x", "-w", "7", "--retry", "transient=5,limit=1", "--redo-existing",
		"-c", "a=1,2", "-c", "b.yaml", "--instances", "-", "--accept-changes", "--cost-limit-total=3", "-q", "--salvage", "b",
	}
	out := made(t, requested(t, elsewhere, argv[1:]...), argv...)
	own, flags := newRunFlags(), pflag.NewFlagSet("resume", pflag.ContinueOnError)
	own.addPace(flags)
	own.addOutput(flags)
	flags.Bool("its-own", false, "")
	if err := flags.Parse([]string{"-w", "9", "--retry", "empty=2", "--retry", "transient=0", "--its-own", "--json"}); err != nil {
		t.Fatal(err)
	}
	f, err := appWith(t, nil).continued(out, own, flags)
	if err != nil {
		t.Fatal(err)
	}
	if f.Workers != 9 || !slices.Equal(f.Retry, []string{"empty=2", "transient=0"}) || !f.json {
		t.Errorf("given flags do not replace the run's: %+v", f)
	}
	if f.Subset != filepath.Join(elsewhere, "rows.jsonl") || f.CostLimit != 3 || !f.Salvage || !slices.Equal(f.Configs, []string{"a=1,2", filepath.Join(elsewhere, "b.yaml")}) {
		t.Errorf("flags of the run are not kept: %+v", f)
	}
	if f.Redo || len(f.Accept) > 0 || f.quiet {
		t.Errorf("flags that are only for one command are kept: %+v", f)
	}
	if f.Output != out || !slices.Equal(f.argv, argv) || !slices.Equal(f.Only, []string{"a", "b"}) || !slices.Equal(f.Named, []string{"b"}) {
		t.Errorf("output %s, argv %q, only %q, named %q; want output %v, argv %v, only %v, named b",
			f.Output, f.argv, f.Only, f.Named, out, argv, []string{"a", "b"})
	}
	if f.asked == nil || f.asked.Workers != 7 || f.asked.CostLimit != 3 {
		t.Errorf("asked for %+v, want what the run was asked for", f.asked)
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
		a := appWith(t, nil)
		a.stderr = io.Discard
		r, _, err := run.ReadRequest(made(t, requested(t, elsewhere, append([]string{"--subset", "rows.jsonl"}, args...)...)), a.process())
		if err != nil {
			t.Fatal(err)
		}
		_, selected, err := a.load(t.Context(), r)
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
		"no directory":        filepath.Join(t.TempDir(), "none"),
		"no manifest":         t.TempDir(),
		"no request":          made(t, nil),
		"a hidden secret":     made(t, requested(t, "", config.MaskSpecs([]string{"-c", "model.model_kwargs.api_key=S3CRET"})...)),
		"a file that is gone": made(t, requested(t, "/nowhere/at/all", "-m", "noop", "-c", "my.yaml")),
	} {
		_, _, err := run.ReadRequest(out, appWith(t, nil).process())
		if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: got %v (%s); want a Usage fault, a hint", name, err, fault.HintOf(err))
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/run/sweep"
)

func FuzzSweepFile(f *testing.F) {
	for _, text := range []string{
		"models: [a]\n", "models: [{name: x, model: y, config: [z]}]\nattempts: 3", "attempts: [[a=1], [b=2]]", "subset: demo\nslice: ':2'\nworkers: 4\ngrade: true",
		"config: {a: b}", "models: &a [*a]", "? [a]\n: b", "workers: [1, 2]", "models: null", "---\n---\n", "cost_limit_total: .nan", "attempts: 99999999999999999999",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "s.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		flags, c := sweepFlags{each: &cobra.Command{}}, &cobra.Command{}
		flags.add(c.Flags())
		g, err := sweep.ReadFile(path, fileKeys{c.Flags()})
		if err != nil {
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "s.yaml") {
				t.Errorf("%v; want a usage fault that names the file", err)
			}
			return
		}
		cells, err := flags.over(g, c.Flags()).Cells(flags.run.Request, flags.eachArgs())
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, cell := range cells {
			if !filepath.IsLocal(cell.Folder) || strings.ContainsAny(cell.Folder, "/\\\x00") || seen[strings.ToLower(cell.Folder)] {
				t.Errorf("folder %q in %v", cell.Folder, cells)
			}
			seen[strings.ToLower(cell.Folder)] = true
		}
	})
}

func TestFlagsReplaceWhatAFileHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	text := "models: [a, b]\nsubset: lite\nworkers: 8\nretry: [transient=1, bug=2]\nattempts: 4\nconfig: [x.yaml]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags, c := sweepFlags{each: &cobra.Command{}}, &cobra.Command{}
	flags.add(c.Flags())
	if err := c.ParseFlags([]string{"-m", "c", "--workers", "2", "--set", "y=1"}); err != nil {
		t.Fatal(err)
	}
	g, err := sweep.ReadFile(path, fileKeys{c.Flags()})
	if err != nil {
		t.Fatal(err)
	}
	g = flags.over(g, c.Flags())
	if len(g.Models) != 1 || g.Models[0].Model != "c" || len(g.Attempts) != 4 {
		t.Errorf("got %+v, want model c in 4 attempts", g)
	}
	if diff := cmp.Diff([]string{"x.yaml", "y=1"}, g.Common); diff != "" {
		t.Errorf("what all cells have (-want +got):\n%s", diff)
	}
	want := []string{"--subset=lite", "--workers=2", "--retry=transient=1", "--retry=bug=2"}
	if diff := cmp.Diff(want, flags.eachArgs()); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

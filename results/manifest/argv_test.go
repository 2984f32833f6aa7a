package manifest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/results/manifest"
)

// read reads a manifest file with this text.
func read(t *testing.T, text string) (*manifest.Manifest, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, manifest.File), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return manifest.Read(dir)
}

func older(t *testing.T, argv []string, later ...[]string) *manifest.Manifest {
	t.Helper()
	runs := []map[string]any{{"argv": argv}}
	for _, a := range later {
		runs = append(runs, map[string]any{"argv": a})
	}
	text, err := json.Marshal(map[string]any{"format_version": 1, "dir": "/from", "argv": argv, "runs": runs})
	if err != nil {
		t.Fatal(err)
	}
	m, err := read(t, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAnOlderCommandLineIsARequest(t *testing.T) {
	for args, change := range map[string]func(r *manifest.Request){
		"":          func(*manifest.Request) {},
		"-w3 -qmm":  func(r *manifest.Request) { r.Workers, r.Model = 3, "m" },
		"-w auto":   func(r *manifest.Request) { r.Workers = 0 },
		"-w=2 -m=x": func(r *manifest.Request) { r.Workers, r.Model = 2, "x" },
		"a --subset rows.jsonl b -- --c": func(r *manifest.Request) {
			r.Subset, r.Named = "rows.jsonl", []string{"a", "b", "--c"}
		},
		"--filter f --slice :2 --shard 1/2 --shuffle --seed 7 --split s --revision r --instances -": func(r *manifest.Request) {
			r.Filter, r.Slice, r.Shard, r.Shuffle, r.Seed, r.Split, r.Revision, r.InstancesFile = "f", ":2", "1/2", true, 7, "s", "r", "-"
		},
		"-c a=1,2 --config=b.yaml --model-class c --environment-class docker --network none --memory 2g --disk 1GB --cpus 2": func(r *manifest.Request) {
			r.Configuration = manifest.Configuration{
				Configs: []string{"a=1,2", "b.yaml"}, ModelClass: "c", EnvironmentClass: "docker", Network: "none", Memory: "2g", Disk: "1GB", CPUs: "2",
			}
		},
		"--keep-git-history --allow-commit-mismatch=true --salvage --grade=false --grade-workers 2": func(r *manifest.Request) {
			r.KeepGitHistory, r.AllowCommitMismatch, r.Salvage, r.GradeWorkers = true, true, true, 2
		},
		"--retry a=1,b=2 --retry c=3 --cost-limit-total 2.5 --engine-wait 1m30s --durability process --mask x,y --mask z": func(r *manifest.Request) {
			r.Retry, r.CostLimit, r.EngineWait, r.Durability, r.MaskPatterns = []string{"a=1", "b=2", "c=3"}, 2.5, 90, "process", []string{"x,y", "z"}
		},
		"--record --image-prefix p --disk-budget 100GB --disk-reserve 0 --prefetch 0 --pulls 2 --order given": func(r *manifest.Request) {
			r.Record, r.ImagePrefix, r.DiskBudget, r.DiskReserve, r.Prefetch, r.Pulls, r.Order = true, "p", 100e9, 0, 0, 2, manifest.OrderGiven
		},
		"--replay d --replay-changed": func(r *manifest.Request) { r.Replay, r.ReplayChanged = "d", true },
		"-o out --accept-changes a --accept-changes=b --redo-existing --json --dry-run --inject x": func(r *manifest.Request) { r.Output, r.Named = "out", []string{"a"} },
	} {
		want := manifest.NewRequest()
		want.Dir, want.Named = "/from", []string{}
		change(&want)
		m := older(t, append([]string{"run"}, strings.Fields(args)...))
		if m.Command != "run" || m.Request == nil {
			t.Errorf("%q: command %q, request %v", args, m.Command, m.Request)
		} else if d := cmp.Diff(want, *m.Request); d != "" {
			t.Errorf("%q (-want +got):\n%s", args, d)
		}
	}
}

func TestAnOlderCommandLineThatCannotBeRead(t *testing.T) {
	for args, want := range map[string]string{
		"run --from-the-future": "--from-the-future", "run -w x": "--workers x", "run --disk-budget x": "--disk-budget x", "sweep": "batch run",
	} {
		argv := strings.Fields(args)
		if m := older(t, argv); m.Request != nil {
			t.Errorf("%q: got %+v, want none", args, m.Request)
		}
		if _, err := manifest.RequestOf(argv, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", args, err, want)
		}
	}
}

func TestWhatOlderCommandsHadInTheirCommandLines(t *testing.T) {
	m := older(t, strings.Fields("run -m noop --mask first-[0-9] --mask=also-[0-9],? --cost-limit-total 3 a"),
		strings.Fields("resume out -w 3 --mask resume-[0-9] --cost-limit-total=4"),
		strings.Fields("retry out --status TimeExceeded --fresh --mask retry-[0-9] a"),
		strings.Fields("run --mask ( --mask earlier-[0-9] --from-the-future x"), nil)
	if got, want := m.MaskPatterns(), []string{"(", "also-[0-9],?", "earlier-[0-9]", "first-[0-9]", "resume-[0-9]", "retry-[0-9]"}; !slices.Equal(got, want) {
		t.Errorf("patterns %q, want %q", got, want)
	}
	var limits []float64
	for _, r := range m.Runs {
		limits = append(limits, r.CostLimit)
	}
	if want := []float64{3, 4, 3, 3, 3}; !slices.Equal(limits, want) || m.CostLimit() != 3 {
		t.Errorf("limits %v, want %v", limits, want)
	}
	for args, want := range map[string]string{
		"run grade": "run", "grade run": "grade", "select a": "select", "chat --image x": "chat", "attach a b": "attach", "serve": "serve", "resume x": "",
	} {
		if got := older(t, strings.Fields(args)).Command; got != want {
			t.Errorf("%q: command %q, want %q", args, got, want)
		}
	}
}

func TestARequestThatHadASecretSaysSo(t *testing.T) {
	r := manifest.NewRequest()
	if got := r.Secret(); got != "" {
		t.Errorf("got %q, want none", got)
	}
	r.Configs = []string{"a=1", "model.model_kwargs.api_key=********"}
	if got := r.Secret(); got != r.Configs[1] {
		t.Errorf("got %q, want %q", got, r.Configs[1])
	}
}

func FuzzManifest(f *testing.F) {
	for _, text := range []string{
		`{"format_version":2,"command":"run","request":{"subset":"lite","workers":4}}`, `{"argv":["run","-w","4","--mask","x"]}`,
		`{"argv":["run","--help"]}`, `{"argv":["run","--engine-wait","1e9h"]}`, `{"runs":[{"argv":["resume","--cost-limit-total","NaN"]}]}`, `{"request":[]}`, "{",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := read(t, text)
		if err != nil {
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), manifest.File) {
				t.Errorf("%v; want a usage fault that names the file", err)
			}
			return
		}
		_, _ = m.MaskPatterns(), m.CostLimit()
		if m.Request != nil {
			_ = m.Request.Secret()
		}
		written, err := m.Text()
		if err != nil {
			return // a NaN cannot be written
		}
		if _, err := read(t, string(written)); err != nil {
			t.Errorf("what was read is written as\n%s\nand refused: %v", written, err)
		}
	})
}

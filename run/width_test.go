package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/engine/memory"
)

const gib = int64(1) << 30

func TestWorkersAuto(t *testing.T) {
	for _, tt := range []struct {
		name    string
		machine sandbox.Machine
		limit   int64
		todo    int
		want    int
		why     string
	}{
		{"cores", sandbox.Machine{Cores: 2, Total: 24 * gib, Available: 23 * gib, Files: 20000}, 8 * gib, 500, 8, "4 for each of 2 cores"},
		{"memory", sandbox.Machine{Cores: 16, Total: 32 * gib, Available: 12 * gib, Files: 20000}, 0, 500, 4, "memory for 4, with 2GiB for each and 3.2GiB in reserve"},
		{"small containers", sandbox.Machine{Cores: 16, Total: 32 * gib, Available: 12 * gib}, gib, 500, 8, "memory for 8, with 1GiB for each"},
		{"instances", sandbox.Machine{Cores: 16, Total: 640 * gib, Available: 600 * gib}, 0, 3, 3, "3 instances"},
		{"open files", sandbox.Machine{Cores: 64, Total: 640 * gib, Available: 600 * gib, Files: 256}, 0, 500, 16, "open files for 16"},
		{"no memory left", sandbox.Machine{Cores: 4, Total: 8 * gib, Available: gib / 2}, 0, 500, 1, "memory for 0"},
		{"memory unknown", sandbox.Machine{Cores: 4}, 0, 500, 16, "4 for each of 4 cores"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, why := Width(tt.machine, tt.limit, tt.todo)
			if n != tt.want || !strings.Contains(why, tt.why) {
				t.Errorf("%d: %s; want %d and %q", n, why, tt.want, tt.why)
			}
		})
	}
}

func TestTheWidthIsTheSumOverEngines(t *testing.T) {
	absent := func(context.Context, engine.Options) (engine.Engine, error) { return nil, errors.New("it is off") }
	here := memory.At(t.TempDir())
	if e, err := here(t.Context(), engine.Options{}); err != nil {
		enginetest.Lacks(t, "%v", err)
	} else if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	list := []sandbox.Engine{
		{Address: "a", Connect: here, Workers: 3},
		{Address: "b", Connect: absent, Workers: 50},
		{Address: "c", Connect: here, CPUs: 1, Memory: 4 << 30},
	}
	for todo, want := range map[int]int{100: 5, 4: 4} {
		n, why := WidthOf(t.Context(), list, 0, todo, runtime.NumCPU())
		if n != want || !strings.Contains(why, "3 on a; none on b; 2 on c") {
			t.Errorf("%d instances: %d, %s; want %d", todo, n, why, want)
		}
	}
	if a, b := workersOf(list[:2]), workersOf(list); a != 53 || b != 0 {
		t.Errorf("at most %d and %d workers, want 53, and 0 because one engine has no limit", a, b)
	}
	if n, _ := WidthOf(t.Context(), list[:1], 0, 100, 1); n != 3 {
		t.Errorf("one engine with 3 workers: %d, want 3", n)
	}
	list = sandbox.One(here)
	if n, why := WidthOf(t.Context(), list, 1, 100, 1); n != sandbox.PerCore {
		t.Errorf("with one core of this machine: %d, %s", n, why)
	}
}

func TestATaskOfSlurmHasItsOwnCores(t *testing.T) {
	n := runtime.NumCPU()
	for _, tt := range []struct {
		perTask, onNode string
		want            int
	}{{"", "", n}, {"1", "", 1}, {"", "1", 1}, {"1", "64", 1}, {"640", "1280", n}, {"0", "x", n}} {
		env := map[string]string{"SLURM_CPUS_PER_TASK": tt.perTask, "SLURM_CPUS_ON_NODE": tt.onNode}
		if got := (Process{Getenv: func(name string) string { return env[name] }}).Cores(); got != tt.want {
			t.Errorf("%v: %d, want %d", env, got, tt.want)
		}
	}
}

func TestMoreInstancesThanOpenFilesAreRefused(t *testing.T) {
	for _, tt := range []struct{ width, images, limit, most int }{
		{187, 500, 1024, 0}, {188, 500, 1024, 187}, {4000, 1, 20000, 0}, {4000, 4000, 20000, 3890}, {4000, 4000, 0, 0}, {1, 1, 64, 1},
	} {
		err := checkFiles(tt.width, tt.images, tt.limit)
		if tt.most == 0 {
			if err != nil {
				t.Errorf("%d with %d files: %v", tt.width, tt.limit, err)
			}
			continue
		}
		if hint := fault.HintOf(err); fault.KindOf(err) != fault.Usage || !strings.Contains(hint, fmt.Sprintf("`-w %d`", tt.most)) {
			t.Errorf("%d with %d files: %v, hint %q; want a Usage fault that says -w %d", tt.width, tt.limit, err, hint, tt.most)
		}
		if err := checkFiles(tt.most, tt.images, tt.limit); err != nil && tt.most > 1 {
			t.Errorf("what the hint says is refused: %v", err)
		}
	}
}

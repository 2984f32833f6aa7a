package scale

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/e2e"
	"batch.example/batch/results"
	"batch.example/batch/run"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
)

const (
	steps = 12               // of an agent
	usual = 10 * time.Second // on average, for a step
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"machine": machine, "agents": agents})
}

// moment describes the process with the agents at one time.
type moment struct {
	At, CPU    time.Duration // CPU used so far
	Steps      int64
	Resident   int64 // bytes
	Most       int64 // the most resident bytes so far
	Goroutines int
	Files      int
}

// scaled describes a run of agents. Its process prints it.
type scaled struct {
	Empty moment // before it began
	First moment // when each agent had taken a step
	Last  moment // before the first agent ended
	Peak  int64  // the most resident bytes at any time, also when all agents end in a few seconds
	Final int    // agents with a result
}

// counter counts the steps of all agents, and the agents that have taken one.
type counter struct {
	steps, begun, ended atomic.Int64
}

// Event implements [attempt.Listener].
func (c *counter) Event(e agent.Event) {
	if e.Type == agent.EventOutput {
		c.steps.Add(1)
		if e.Step == 1 {
			c.begun.Add(1)
		}
	}
}

// End implements [attempt.Listener].
func (c *counter) End(results.Record) { c.ended.Add(1) }

func (c *counter) moment(since time.Time) moment {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	files, _ := os.ReadDir("/proc/self/fd")
	return moment{
		At: time.Since(since), CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano()), Steps: c.steps.Load(),
		Resident: memoryOf("VmRSS"), Most: memoryOf("VmHWM"), Goroutines: runtime.NumGoroutine(), Files: len(files),
	}
}

// memoryOf returns a line of /proc/self/status, in bytes.
func memoryOf(name string) int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, line, _ := strings.Cut(string(text), name+":")
	var kib int64
	_, _ = fmt.Sscan(line, &kib)
	return kib << 10
}

// agents is the program that is measured: one process with many agents, as a program has them
// that uses package run. Its arguments are the dataset, the run directory, the number of agents,
// and the socket of [machine], which also is its provider.
func agents() {
	if err := runScaled(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runScaled(rows, dir, width, socket string) error {
	r := run.NewRequest()
	r.Subset, r.Output, r.Model, r.KeepGitHistory = rows, dir, "openai/stub", true
	r.Workers, _ = strconv.Atoi(width)
	// Otherwise the limit is learned, from 8 calls at once, and it takes 7 steps until 1,000 agents work.
	r.Configs = []string{"model.requests_per_minute=1000000"}
	s, err := run.NewSetup(r, run.NewProcess(os.Args, os.Environ(), os.Getenv("HOME")))
	if err != nil {
		return err
	}
	c, err := s.Load(context.Background())
	if err != nil {
		return err
	}
	count := &counter{}
	c.Listen = func(dataset.Instance, int) attempt.Listener { return count }
	c.Sandboxes.Engines = sandbox.One(func(context.Context, engine.Options) (engine.Engine, error) { return &simulation{socket: socket}, nil })
	opened, err := run.Open(context.Background(), c)
	if err != nil {
		return err
	}
	runtime.GC()
	out := scaled{Empty: count.moment(time.Now())}
	done := make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() { out.watch(count, int64(r.Workers), done) })
	err = opened.Work(context.Background(), nil, nil)
	close(done)
	g.Wait()
	out.Peak, out.Final = memoryOf("VmHWM"), int(count.ended.Load())-opened.Summary().Missing
	return errors.Join(err, opened.Close(), json.NewEncoder(os.Stdout).Encode(out))
}

// watch takes the moments First and Last.
func (s *scaled) watch(c *counter, agents int64, done <-chan struct{}) {
	begun := time.Now()
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Second):
		}
		switch {
		case c.ended.Load() > 0:
			return
		case c.begun.Load() == agents && s.First.At == 0:
			s.First = c.moment(begun)
		case s.First.At > 0:
			if m := c.moment(begun); c.ended.Load() == 0 {
				s.Last = m
			}
		}
	}
}

// BenchmarkScale runs 100, 1,000 and 4,000 agents at once in one process: the runner, the agents, the
// provider's client over HTTP, journals with fsync, and the connections to containers. The stub
// provider and the simulated containers are in another process. A step takes 10 s; the model thinks
// for 9.5 s. BENCH_SCALE_STEP sets another time, and the CPU time of a step remains comparable. The
// figures are from the time when all agents worked; end-MB includes their ends, all at once.
func BenchmarkScale(b *testing.B) {
	each := usual
	if given := os.Getenv("BENCH_SCALE_STEP"); given != "" {
		var err error
		if each, err = time.ParseDuration(given); err != nil {
			b.Fatal(err)
		}
	}
	for _, agents := range []int{100, 1000, 4000} {
		b.Run(strconv.Itoa(agents), func(b *testing.B) {
			if memoryOf("VmHWM") == 0 {
				b.Skip("needs /proc")
			}
			var list []scaled
			for b.Loop() {
				list = append(list, scale(b, agents, each))
			}
			reportScale(b, agents, list)
		})
	}
}

// scale runs agents once.
func scale(b *testing.B, agents int, each time.Duration) (s scaled) {
	dir := b.TempDir()
	var text strings.Builder
	for i := range agents {
		fmt.Fprintf(&text, `{"instance_id":"scale__%d","problem_statement":"%d: %s","image_name":"scale"}`+"\n", i, i,
			strings.Repeat("The function returns the wrong value for empty input. ", 20))
	}
	rows, socket := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "boxes")
	if err := os.WriteFile(rows, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	url := e2e.StartHelper(b, "machine", socket, strconv.Itoa(steps), each.String())
	cmd := exec.Command("agents", rows, filepath.Join(dir, "out"), strconv.Itoa(agents), socket)
	percent := cmp.Or(os.Getenv("GOGC"), "20") // as the program sets it for 100 agents and more
	cmd.Env = append(os.Environ(), "GOGC="+percent, "OPENAI_BASE_URL="+url, "OPENAI_API_KEY=sk-stub-takes-any-key", "XDG_STATE_HOME="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	if s.Final != agents || s.Last.At == 0 {
		b.Fatalf("got %+v; want %d agents with a result, and all of them working at one time", s, agents)
	}
	return s
}

func reportScale(b *testing.B, agents int, list []scaled) {
	report := func(unit string, value func(scaled) float64) {
		each := make([]float64, len(list))
		for i, s := range list {
			each[i] = value(s)
		}
		slices.SortFunc(each, cmp.Compare)
		b.ReportMetric(each[len(each)/2], unit)
	}
	n := float64(agents)
	report("MB", func(s scaled) float64 { return float64(s.Last.Most) / 1e6 })
	report("end-MB", func(s scaled) float64 { return float64(s.Peak) / 1e6 })
	report("KiB/agent", func(s scaled) float64 { return float64(s.Last.Resident-s.Empty.Resident) / n / 1024 })
	report("goroutines/agent", func(s scaled) float64 { return float64(s.Last.Goroutines-s.Empty.Goroutines) / n })
	report("files/agent", func(s scaled) float64 { return float64(s.Last.Files-s.Empty.Files) / n })
	report("steps/s", func(s scaled) float64 {
		return float64(s.Last.Steps-s.First.Steps) / (s.Last.At - s.First.At).Seconds()
	})
	report("cpu-ms/step", func(s scaled) float64 {
		return (s.Last.CPU - s.First.CPU).Seconds() * 1000 / float64(s.Last.Steps-s.First.Steps)
	})
	report("cores", func(s scaled) float64 {
		return (s.Last.CPU - s.First.CPU).Seconds() / (s.Last.At - s.First.At).Seconds()
	})
	b.ReportMetric(0, "ns/op")
}

package attempt_test

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

const (
	benchAgents = 1000
	benchSteps  = 20
)

// idle is a sandbox in which every command does nothing; halfway, each one
// waits for all the others, so that memory is measured with every
// agent alive.
type idle struct {
	bare
	steps int
	gate  *gate
}

func (i *idle) Execute(context.Context, string, string) (vocab.Output, error) {
	if i.steps++; i.steps == benchSteps/2 {
		i.gate.wait()
	}
	return vocab.Output{Bytes: []byte("ok\n"), Total: 3}, nil
}

func (*idle) Vars() map[string]any { return nil }
func (i *idle) Script(ctx context.Context, script string) (vocab.Output, error) {
	return i.Execute(ctx, "", script)
}
func (*idle) Alive(context.Context) error { return nil }
func (*idle) Facts() sandbox.Facts        { return sandbox.Facts{} }
func (*idle) Close() error                { return nil }

type idles struct{ gate *gate }

func (i idles) Open(context.Context, sandbox.Opening) (attempt.Sandbox, error) {
	return &idle{gate: i.gate}, nil
}

// gate holds its callers until all have come, then measures once.
type gate struct {
	all     sync.WaitGroup
	measure func()
	once    sync.Once
}

func (g *gate) wait() {
	g.all.Done()
	g.all.Wait()
	g.once.Do(g.measure)
}

// BenchmarkThousandAgents runs 1,000 agents at once against a scripted model
// and a sandbox that does nothing, with the real store and journal. It reports
// batch's own CPU time per step and the memory per agent halfway through, including
// the messages so far.
func BenchmarkThousandAgents(b *testing.B) {
	instances := make([]dataset.Instance, benchAgents)
	for i := range instances {
		instances[i] = dataset.Instance{ID: "bench__" + strconv.Itoa(i), ProblemStatement: "do nothing"}
	}
	replies := make([]scripted.Reply, benchSteps)
	for i := range replies {
		replies[i] = scripted.Reply{Content: "A step.", Bash: "true"}
	}
	script := scripted.Script{"*": replies}
	loop := benchLoop(b)
	var cpu time.Duration
	var perAgent, steps float64
	for b.Loop() {
		store, err := results.Open(b.TempDir(), results.Options{})
		if err != nil {
			b.Fatal(err)
		}
		before := memory()
		g := &gate{measure: func() { perAgent = (memory() - before) / benchAgents }}
		g.all.Add(benchAgents)
		s := attempt.New(attempt.Config{
			Loop: loop, ModelName: "bench", Sandboxes: idles{g}, Store: store,
			Models: func(in dataset.Instance, _ int) (llm.Model, error) {
				return script.Model(in.ID, scripted.Config{}), nil
			},
		})
		start := cpuTime()
		sum, err := runner.Run(b.Context(), runner.Config{Width: runner.NewWidth(benchAgents)}, runner.NewRoster(instances), s)
		cpu += cpuTime() - start
		steps += benchAgents * benchSteps
		if err != nil || sum.Final != benchAgents {
			b.Fatalf("got %+v, %v; want final %v, no error", sum, err, benchAgents)
		}
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu.Microseconds())/steps, "cpu-µs/step")
	b.ReportMetric(perAgent/1024, "KiB/agent")
}

func benchLoop(b *testing.B) *agent.Loop {
	loop, err := agent.NewLoop(agent.Config{
		SystemTemplate:      "You are a shell.",
		InstanceTemplate:    "{{task}}",
		ObservationTemplate: "{% if output.exception_info %}{{output.exception_info}}{% endif %}{{output.returncode}} {% if output.output | length < 10000 %}{{output.output}}{% else %}{{ output.output[:5000] }}{% endif %}",
		FormatErrorTemplate: "{{error}}",
		Limits:              vocab.Limits{Steps: benchSteps},
	})
	if err != nil {
		b.Fatal(err)
	}
	return loop
}

// memory returns the bytes of live heap and stacks.
func memory() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

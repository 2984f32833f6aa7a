package run_test

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"log"
	"os"
	"strings"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/report/compare"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
	"batch.example/batch/run"
	"batch.example/batch/vocab"
)

// printer is a listener that prints what one instance does.
type printer struct{ instance string }

// Event implements attempt.Listener. It prints the event and does not keep it.
func (p printer) Event(e agent.Event) {
	switch e.Type {
	case agent.EventReply:
		fmt.Printf("%s: step %d, %d tokens\n", p.instance, e.Step, e.Response.Usage.Input+e.Response.Usage.Output)
	case agent.EventAction:
		fmt.Printf("%s: $ %s\n", p.instance, e.Command)
	case agent.EventOutput:
		fmt.Printf("%s: exit code %d\n", p.instance, e.Output.ExitCode)
	case agent.EventEnd:
		fmt.Printf("%s: %s after %d calls\n", p.instance, e.Ending.Status, e.Ending.Calls)
	}
}

// End implements attempt.Listener.
func (p printer) End(r results.Record) {
	fmt.Printf("%s: %s, a patch of %d bytes\n", p.instance, r.Outcome, r.PatchBytes)
}

// Config.Listen gives each attempt of a run a listener. [Run.Work] calls it like this
// example, which runs the agent in an environment without containers.
func Example_listen() {
	c := run.Config{
		// The other fields describe the run.
		Listen: func(in dataset.Instance, _ int) attempt.Listener { return printer{in.ID} },
	}

	listener := c.Listen(dataset.Instance{ID: "org__repo-1"}, 1)
	loop, err := agent.NewLoop(agent.Config{SystemTemplate: "You are a shell.", InstanceTemplate: "{{ task }}", ObservationTemplate: "{{ output.output }}"})
	if err != nil {
		fmt.Println(err)
		return
	}
	replies := scripted.Script{"*": {{Bash: "ls"}, {Bash: "submit"}}}
	end, err := loop.Run(context.Background(), agent.Turn{
		Task: "Fix the bug.", Model: replies.Model("org__repo-1", scripted.Config{}), Env: outputs{"submit": vocab.Marker + "\na patch\n"},
		Hooks: agent.Hooks{Listen: []agent.Listener{listener.Event}},
	})
	if err != nil {
		fmt.Println(err)
	}
	listener.End(results.Record{Outcome: end.Status.Outcome(), PatchBytes: len(end.Submission)})

	// Output:
	// org__repo-1: step 1, 0 tokens
	// org__repo-1: $ ls
	// org__repo-1: exit code 0
	// org__repo-1: step 2, 0 tokens
	// org__repo-1: $ submit
	// org__repo-1: exit code 0
	// org__repo-1: Submitted after 2 calls
	// org__repo-1: submitted, a patch of 8 bytes
}

// A program runs a request, and continues it later.
func Example_request() {
	home, _ := os.UserHomeDir()
	p := run.NewProcess(os.Args[1:], os.Environ(), home)
	work := func(r *run.Run, err error) error {
		if err != nil {
			return err
		}
		err = r.Work(context.Background(), nil, nil)
		fmt.Println(r.Summary().Missing, "instances have no result")
		return errors.Join(err, r.Close())
	}

	request := run.NewRequest()
	request.Subset, request.Model, request.Output = "demo", "scripted/demo", "runs/demo"
	setup, err := run.NewSetup(request, p)
	if err != nil {
		log.Fatal(err)
	}
	config, err := setup.Load(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := work(run.Open(context.Background(), config)); err != nil {
		log.Fatal(err)
	}

	more := func(r *run.Request) { r.CostLimit = 5 }
	if err := work(run.Continue(context.Background(), "runs/demo", p, more)); err != nil {
		log.Fatal(err)
	}
}

// outputs is an environment in which commands print their texts.
type outputs map[string]string

func (o outputs) Execute(_ context.Context, command string) (vocab.Output, error) {
	return vocab.Output{Bytes: []byte(o[command]), Total: int64(len(o[command]))}, nil
}

func (outputs) Vars() map[string]any { return nil }

// A program reads a run directory, and compares two.
func Example_results() {
	read := func() error {
		written, err := results.Read("runs/own")
		if err != nil {
			return err
		}
		for _, record := range written.Records {
			if record.Resolved != nil { // a verdict counts
				fmt.Println(record.InstanceID, *record.Resolved, record.Cost)
			}
		}
		return nil
	}
	compared := func() error {
		var sides []scores.Side
		for _, path := range []string{"runs/base", "runs/new"} {
			side, err := scores.Read(path)
			if err != nil {
				return err
			}
			sides = append(sides, side...)
		}
		gate, err := compare.ParseGate("resolved >= -1pt")
		if err != nil {
			return err
		}
		c := compare.New(sides, compare.Options{Gates: []compare.Gate{gate}})
		fmt.Println(c.Best, c.Passed())
		return nil
	}
	fmt.Println(read())
	fmt.Println(compared())
	// Output:
	// runs/own is not a run directory: it does not exist
	// runs/base is not a run directory: it does not exist
}

// The manual shows lines of this file.
func TestTheManualShowsTheExamples(t *testing.T) {
	unindented := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), "\t", "")
	}
	here, shown := unindented("example_test.go"), strings.Split(unindented("../docs/library.md"), "```go\n")[1:]
	for _, block := range shown {
		if block, _, _ = strings.Cut(block, "```"); !strings.Contains(here, block) {
			t.Errorf("no example has\n%s", block)
		}
	}
	if len(shown) < 2 {
		t.Errorf("%d blocks", len(shown))
	}
}

// The comment of the package begins with the program of example_own_test.go, which e2e/runs runs.
func TestTheCommentShowsTheExample(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "run.go", nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("example_own_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(strings.Replace(string(program), "Example", "main", 1), ")\n\n")
	if comment := strings.ReplaceAll("\n"+file.Doc.Text(), "\n\t", "\n"); !strings.Contains(comment, shown) {
		t.Errorf("the comment does not have\n%s", shown)
	}
}

// Package run provides a run as a library. This program runs a model of its own on two instances of
// the demo, and grades what it submits:
//
//	type own struct{ command string } // a model that always asks for one command
//
//	func (m own) Generate(context.Context, *llm.Request) (*llm.Response, error) {
//		arguments, err := json.Marshal(map[string]string{"command": m.command})
//		call := llm.ToolCall{ID: "1", Name: "bash", Arguments: string(arguments)}
//		return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("", call)}}, err
//	}
//
//	func main() {
//		ctx, request := context.Background(), run.NewRequest()
//		request.Subset, request.Named = "demo", []string{"demo__slug-1", "demo__roman-8"}
//		request.Output, request.Grade, request.Model = "runs/own", true, "noop" // replaced below
//		setup, err := run.NewSetup(request, run.NewProcess(nil, os.Environ(), os.Getenv("HOME")))
//		check(err)
//		config, err := setup.Load(ctx)
//		check(err)
//		config.Model = run.Model{Name: "my/own", Open: func(bool) (attempt.Models, error) {
//			return func(in dataset.Instance, _ int) (llm.Model, error) {
//				return own{"git apply <<'END' && echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff\n" + string(in.Patch) + "\nEND"}, nil
//			}, nil
//		}}
//		r, err := run.Open(ctx, config)
//		check(err)
//		check(r.Work(ctx, nil, nil))
//		check(r.Close())
//		written, err := results.Read(request.Output)
//		check(err)
//		for _, record := range written.Records {
//			fmt.Println(record.InstanceID, record.Outcome, record.Grade.Verdict)
//		}
//	}
//
//	func check(err error) {
//		if err != nil {
//			log.Fatal(err)
//		}
//	}
//
// A [Request] describes a run as a plain value. `batch run` is one run, and so is each cell of a
// sweep. [NewSetup] makes a run of it, whose model can be replaced. A run directory
// stores its request, so that [Continue] can continue it in any process.
//
// [NewPlan] says what a run would do. [Open] locks the directory, refuses settings that
// must not be mixed with the settings of its results, and finds out which instances are
// left. [Run.Work] runs them; [Run.Summary] reports how all instances ended. However a run
// ended, another one into the same directory continues it.
//
// The package has no flags and prints nothing: messages for people go through the events of [Run.Work],
// programs follow each attempt with [Config.Listen], and the caller passes in the process's
// signals, environment variables and arguments.
package run

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/agent/mcp"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/harbor"
	"batch.example/batch/fault"
	"batch.example/batch/grade/verifier"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/control"
	"batch.example/batch/run/grading"
	"batch.example/batch/run/rundir"
	"batch.example/batch/run/steering"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// Config describes a run. Output, Settings, Loop, Instances, Model and Sandboxes are
// required.
type Config struct {
	Output    string // the run directory
	Settings  *config.Config
	Loop      *agent.Loop        // made from Settings by [Prepare]
	Instances []dataset.Instance // the selected ones
	Model     Model
	Sandboxes sandbox.Config  // made from Settings by [Environment], with the limits of the machine
	Store     results.Options // without Owner and Log; its Inject also makes calls to the engine and the model fail

	// About has the parts of the manifest that only the caller knows: the version, the
	// command, the request, the dataset and its seed. Git is called when work begins and when it ends.
	About        manifest.Manifest
	Git          func() *manifest.Git // nil: unknown
	Argv         []string             // of this process; if it repeats an earlier `batch run`, About has the earlier command's
	MaskPatterns []string             // patterns that this process hides in addition to Settings', for the manifest

	Width     *runner.Width  // instances that run at the same time; nil: one
	WidthWhy  string         // the reason for the width, shown when work begins
	ByImage   bool           // instances that share an image run near each other
	Retries   runner.Retries // nil: the default ones
	CostLimit float64        // US dollars that all runs into Output may cost together, with all other shards; 0: no limit
	Shards    int            // number of shards that divide CostLimit equally; 0: one
	Sweep     string         // folder of the sweep with the cell Output; its cells share CostLimit; empty: none
	Beside    float64        // US dollars of CostLimit that the other cells had spent before this run
	Grading   *Grading       // nil: predictions are not graded
	Tasks     verifier.Settings
	Salvage   bool     // a missing submission is predicted from the working tree
	Pictures  Pictures // where the images of problem statements are

	Continuing

	// Listen returns a listener of an attempt's events, or nil: see [attempt.Listener]. A nil
	// Listen returns none.
	Listen attempt.Listen

	// Talk leads the conversation of each attempt, see [attempt.Talk]; nil: each has one turn.
	Talk attempt.Talk
	// Servers are the MCP servers to which each attempt connects: see package mcp.
	Servers []mcp.Server
	// Serving means that instances begin only when they are added to [Run.Roster], and that the
	// work ends when it is drained or canceled.
	Serving bool

	// Control lets other programs watch and change the work, see package control; it has what this
	// process was given. Nil: they cannot.
	Control *control.Begin

	// Earlier is a directory with attempts at Instances. This run continues copies of them;
	// nil: none.
	Earlier *Earlier

	Tell func(text string) // called with messages for the user before work begins; nil ignores
}

// Earlier is another run directory, which is only read.
type Earlier struct {
	Dir string
	// Owned means that this process holds the directory's lock, so it may take over
	// containers that a run there left.
	Owned bool
}

// Run is a run directory that this process has locked.
type Run struct {
	Config
	group    *group
	name     string                  // of the cell; empty: the run is not in a sweep
	tasks    map[string]*harbor.Task // of the instances, by id
	settings any                     // the resolved Settings, for journals
	read     *results.Reader
	store    *results.Store // nil: only a plan is made
	manifest *manifest.Manifest
	todo     []dataset.Instance
	left     int           // canceled instances without a result, when the run was opened
	ungraded []grading.Job // of earlier runs
	part     *steering.Part
	roster   *runner.Roster[dataset.Instance]

	// While the run works.
	log      *slog.Logger
	closeLog func()
	view     rundir.View
	models   attempt.Models
	host     *sandbox.Host // nil: it has not started
	err      error         // why the run takes no more instances; nil: nothing failed
	kept     atomic.Int64  // instances that ran again and had a result before the work began

	began   bool
	sum     runner.Summary
	waiting int    // predictions with an interrupted grading
	report  string // path of the final report
	ended   func() // called by Close; nil ignores
}

// Open locks the directory and makes a plan, as [NewPlan] does. The caller must Close the
// Run. Settings with differences that are not accepted are a Usage fault, and leave the
// directory unchanged. So is an agent that may ask a person, without Talk.
func Open(ctx context.Context, c Config) (*Run, error) {
	g := &group{kind: control.KindRun, dir: c.Output}
	r, err := g.open(ctx, "", c)
	if err != nil {
		return nil, err
	}
	g.limit = r.limit()
	g.opened(c.Control)
	return r, nil
}

// newRun returns a Run with c's defaults filled in, after the checks that need no results
// of the directory.
func newRun(c Config) (*Run, error) {
	if c.Settings.Agent.Ask && c.Talk == nil {
		return nil, fault.Newf(fault.Usage, "agent.ask is true, but a batch run cannot answer questions").
			WithHint("leave it out; a person answers in `batch chat`, a client in `batch serve`")
	}
	if a := &c.Settings.Agent; len(a.Program.Command) > 0 && (c.Talk != nil || a.Ask || len(a.MCPServers) > 0) {
		return nil, fault.Newf(fault.Usage, "agent.program works alone: no conversation with a person, agent.ask or agent.mcp_servers reaches it").
			WithHint("leave agent.program out for these; MCP servers of the program are in its own configuration")
	}
	if err := speaks(c.Settings, c.Model.Wire); err != nil { // a caller may have a model of its own
		return nil, err
	}
	if c.Tell == nil {
		c.Tell = func(string) {}
	}
	if c.Git == nil {
		c.Git = func() *manifest.Git { return nil }
	}
	if c.Retries == nil {
		c.Retries = runner.DefaultRetries()
	}
	if plan := c.Store.Inject; plan != nil {
		c.Sandboxes.Options.Before = func(call string) error { return plan.At("engine." + call) }
	}
	if own := c.Model; own.Provider == "" && own.Name != "" {
		settings := *c.Settings
		settings.Model.ModelName = own.Name
		c.Settings = &settings
	}
	r := &Run{Config: c, tasks: tasksOf(c.Instances), settings: c.Settings.Resolved(), closeLog: func() {}}
	if _, err := os.Stat(c.Output); errors.Is(err, fs.ErrNotExist) { // a refusal after this would leave a directory
		all := make([]Planned, len(c.Instances))
		for i, in := range c.Instances {
			all[i].Instance = in
		}
		if err := r.checkTests(all); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// seed copies the attempts that the run continues.
func (r *Run) seed() error {
	if r.Earlier == nil {
		return nil
	}
	for _, in := range r.Instances {
		if err := results.Seed(r.Output, in.ID, r.settingsOf(in), r.Earlier.Dir, in.ProblemStatement, r.Store.Mask); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) prepare(ctx context.Context) error {
	r.part = r.newPart()
	if err := r.resumeCommands(); err != nil {
		return err
	}
	plan, err := r.makePlan()
	if err != nil {
		return err
	}
	for _, p := range plan.Instances {
		if p.Action != Keep {
			r.todo = append(r.todo, p.Instance)
		}
	}
	r.todo = r.withoutCanceled(r.todo)
	r.part.Halts.Queue(ids(r.todo)...)
	if r.Again {
		return r.store.Reset(ids(r.Instances), r.Fresh)
	}
	if r.Grading == nil {
		return nil
	}
	log, err := r.store.Grades()
	if err != nil {
		return err
	}
	r.ungraded, err = r.planGrading(ctx, plan, log.All())
	return err
}

// idle reports whether the run has nothing to do.
func (r *Run) idle() bool { return len(r.todo)+len(r.ungraded) == 0 && !r.Serving }

// Todo returns how many instances are left to run.
func (r *Run) Todo() int { return len(r.todo) }

// Summary reports how the selected instances have ended so far, in this run and
// in earlier ones.
type Summary struct {
	runner.Summary                  // of this run's work
	Began          bool             // instances were admitted
	Asked          []string         // ids of the selected instances
	Directory      []string         // ids of all instances that runs into the directory selected
	Records        []results.Record // of all attempts, also at other instances
	Spent          float64          // US dollars, by all runs into the directory
	Stand          runner.Stand     // of the budget, which cells of a sweep share
	Missing        int              // selected instances without a result
	Ungraded       int              // predictions of selected instances without a verdict that counts, if the run grades
	Waiting        int              // of these, the ones that were interrupted in this run
	Report         string           // path of the harness's final report, if the run grades
}

// Pending returns how many instances and gradings Work left, because it was interrupted or
// stopped.
func (r *Run) Pending() int { return r.sum.Pending + r.waiting }

// Cost returns the US dollars of all answered calls of runs into the directory so far.
func (r *Run) Cost() float64 { return r.store.Cost() }

// Summary reports how the run's instances have ended. It may be called after Close.
func (r *Run) Summary() Summary {
	s := Summary{Summary: r.sum, Began: r.began, Asked: ids(r.Instances), Records: r.store.Records(), Spent: r.store.Spent()}
	s.Directory, s.Stand = s.Asked, r.group.money.Stand()
	if r.manifest != nil {
		s.Directory = r.manifest.Dataset.Instances
	}
	s.Report, s.Ungraded, s.Waiting = r.report, r.countUngraded(s.Records), r.waiting
	for _, in := range r.Instances {
		if _, done := r.store.Finished(in.ID); !done {
			s.Missing++
		}
	}
	return s
}

// Outcomes counts the instances that were asked for by outcome.
func (s Summary) Outcomes() map[string]int {
	counts := map[string]int{}
	last := results.Latest(s.Records)
	for _, id := range s.Asked {
		counts[string(cmp.Or(last[id].Outcome, vocab.OutcomePending))]++
	}
	return counts
}

// countUngraded counts the results without a verdict that counts.
func (r *Run) countUngraded(records []results.Record) (n int) {
	if r.Grading == nil {
		return 0
	}
	last := results.Latest(records)
	for _, in := range r.Instances {
		if rec, ok := last[in.ID]; ok && rec.Outcome.Final() && (rec.Grade == nil || !rec.Grade.Verdict.Counts()) {
			n++
		}
	}
	return n
}

// Close completes the files of the directory and unlocks it. It may be called
// twice.
func (r *Run) Close() error {
	if r.ended != nil {
		r.ended()
	}
	return r.store.Close()
}

func ids(list []dataset.Instance) []string {
	ids := make([]string, len(list))
	for i, in := range list {
		ids[i] = in.ID
	}
	return ids
}

package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
	"batch.example/batch/run"
	"batch.example/batch/vocab"
)

// AgentTrial says which program is tried as the agent, and where.
type AgentTrial struct {
	Request run.Request // its configuration has agent.program; a model is optional
	Process run.Process
	Image   string // in which it works, at a commit in environment.cwd; empty: that of an instance of the demo
	Dir     string // an empty folder, for the run directories of the trials

	// Batch returns this program as a command, which is killed when ctx ends. It inherits the environment.
	Batch func(ctx context.Context, args ...string) *exec.Cmd
}

// trialLimit is how long the program of one trial may work. No answer of the played provider takes long.
const trialLimit = 3 * time.Minute

// providers are models whose endpoint speaks a protocol of the gateway, and what else their configuration
// needs.
var providers = map[string][]string{
	"messages":  {"model.model_name=anthropic/claude-sonnet-4-5"},
	"chat":      {"model.model_name=openai/gpt-5"},
	"responses": {"model.model_name=openai/gpt-5", "model.model_class=litellm_response"},
	"gemini":    {"model.model_name=gemini/gemini-2.5-pro"},
}

// TryAgent runs the program of a configuration as batch run does, on the real engine, and plays its provider.
// It passes each result to show as soon as it is known: what the program of this version does, and whether
// batch's promises about an agent hold with it. Nothing is paid, and no model is called. An error means that the
// trials themselves were not possible.
func TryAgent(ctx context.Context, t AgentTrial, show func(Check)) error {
	t.Process.Tell = nil // a caller told the warnings
	cfg, err := t.Process.LoadConfig(t.Request)
	if err != nil {
		return err
	}
	p := cfg.Agent.Program
	if len(p.Command) == 0 {
		return fault.Newf(fault.Usage, "the configuration has no agent.program: the agent is batch's own").
			WithHint("name one that has, such as `--agent claude-code`: see `batch help agents`")
	}
	if t.Request.Model == "" && cfg.Model.ModelName == "" {
		t.Request.Configs = append(slices.Clone(t.Request.Configs), providers[p.Wire]...)
	}
	if err := t.place(); err != nil {
		return err
	}
	network := cmp.Or(cfg.Environment.Flags().Network, "none")
	started, err := t.works(ctx, network, show)
	if err != nil || !started {
		return err
	}
	if err := t.outlives(ctx, show); err != nil {
		return err
	}
	return t.isRefused(ctx, show)
}

// works tries one step and the end of the program. It reports whether it is able to make one.
func (t AgentTrial) works(ctx context.Context, network string, show func(Check)) (able bool, err error) {
	began := time.Now()
	p := &provider{}
	end, err := t.run(ctx, "works", p, nil)
	if err != nil {
		return false, err
	}
	if p.first.IsZero() && (end.ImageID == "" || end.Blame != fault.Transient.String()) { // the program did not begin
		return false, fault.Newf(fault.Host, "trying the program: %s", end.Error)
	}
	if p.first.IsZero() {
		show(Check{"start", Bad, end.Error, "is it in the image's PATH, or brought by agent.program.files or a -v of run_args?\n" +
			"Is it built for the image's libc and processor? Does it wait for a network: does it start with\n`-c environment.network=bridge`?"})
		return false, nil
	}
	text := fmt.Sprintf("its first call came %.1fs after the run began", p.first.Sub(began).Seconds())
	if network == "none" {
		show(Check{"start", Good, text + ", without a network", ""})
	} else {
		show(Check{"start", Warning, text + ", in the network " + network, "an agent with a network can look solutions up: try it with environment.network=none"})
	}
	switch {
	case p.done == 0 && len(p.unable) > 0:
		show(Check{"step", Bad, "it offers no tool that takes a command: " + strings.Join(p.unable, ", "), "this trial cannot make it do a step, so nothing else was tried"})
		return false, nil
	case p.done == 0:
		show(Check{"step", Bad, "it did not send back the output of a command: " + cmp.Or(end.Error, string(end.Status)), ""})
		return false, nil
	}
	show(Check{"step", Good, fmt.Sprintf("it ran a command with its tool %s and sent back the output; calls beside the conversation: %d", p.tool, p.side), ""})
	if end.Status != vocab.StatusSubmitted {
		show(Check{"end", Bad, fmt.Sprintf("it did not end well after its last answer: %s, %s", end.Status, end.Error), ""})
		return true, nil
	}
	show(Check{"end", Good, "it ended by itself with exit code 0", ""})
	user, others := changes(end.patch)
	show(Check{"user", Good, "its commands run as " + cmp.Or(user, "an unknown user"), ""})
	switch {
	case user == "":
		show(Check{"patch", Bad, "what its command wrote into the work tree is not in the patch", "do its tools work in environment.cwd, " + end.cwd + "?"})
	case len(others) > 0:
		show(Check{"patch", Warning, "the patch has files that the program left: " + strings.Join(others, ", "), "leave them out with agent.program.leaves"})
	default:
		show(Check{"patch", Good, "what its command wrote is the patch, and nothing else is in it", ""})
	}
	return true, nil
}

// place sets the instance of the trials.
func (t *AgentTrial) place() error {
	if t.Image == "" {
		t.Request.Subset, t.Request.Named = "demo", []string{"demo__slug-1"}
		return nil
	}
	row, err := json.Marshal(map[string]string{"instance_id": "doctor", "image_name": t.Image, "problem_statement": "Run a command."})
	if err != nil {
		return fault.New(fault.Bug, "writing the trial's row", err)
	}
	t.Request.Subset = filepath.Join(t.Dir, "rows.jsonl")
	if err := os.WriteFile(t.Request.Subset, row, 0o600); err != nil {
		return fault.New(fault.Host, "writing the trial's row", err)
	}
	return nil
}

// outlives kills a batch run while the program waits for an answer, and continues it.
func (t AgentTrial) outlives(ctx context.Context, show func(Check)) error {
	within, kill := context.WithCancel(ctx)
	defer kill()
	p := &provider{then: func(n int) (stub.Answer, bool) {
		if n == 1 {
			kill()
		}
		return stub.Answer{Fault: stub.Silence}, n == 1
	}}
	end, err := t.run(ctx, "outlives", p, func(r run.Request) error {
		cmd := t.Batch(within, arguments(r)...)
		for _, name := range keys {
			cmd.Env = append(cmd.Environ(), name+"="+playedKey)
		}
		if out, err := cmd.CombinedOutput(); within.Err() == nil {
			return fault.Newf(fault.Host, "running batch for the trial: %w: %s", cmp.Or(err, errors.New("it was not killed")), out)
		}
		return ctx.Err()
	})
	switch {
	case err != nil:
		return err
	case p.done < 2, end.Attempt > 1:
		show(Check{
			"resume", Bad, "batch was killed while the program waited, and it did not ask again: " + cmp.Or(end.Error, string(end.Status)),
			"a run that is killed loses the work of its programs: `batch resume` begins these attempts again",
		})
	case !p.same:
		show(Check{
			"resume", Warning, fmt.Sprintf("batch was killed while the program waited, and it went on with another request; %s", end.Status),
			"what it asked before may be paid without use",
		})
	case end.Status != vocab.StatusSubmitted:
		show(Check{"resume", Bad, fmt.Sprintf("it asked again after batch was killed, and did not end well: %s, %s", end.Status, end.Error), ""})
	default:
		show(Check{"resume", Good, fmt.Sprintf("batch was killed while the program waited: it sent the same request %.1fs later, and ended well", p.again.Seconds()), ""})
	}
	return nil
}

// arguments is a request of a trial as a command.
func arguments(r run.Request) []string {
	args := []string{"run", "--subset", r.Subset, "-o", r.Output, "-m", r.Model, "--image-prefix", r.ImagePrefix, "-q"}
	for _, c := range r.Configs {
		args = append(args, "-c", c)
	}
	for _, e := range r.Engines {
		args = append(args, "--engine", e)
	}
	for _, retry := range r.Retry {
		args = append(args, "--retry", retry)
	}
	return append(args, r.Named...)
}

// isRefused refuses a call as a limit does.
func (t AgentTrial) isRefused(ctx context.Context, show func(Check)) error {
	var refused time.Time
	p := &provider{}
	p.then = func(int) (stub.Answer, bool) {
		if refused.IsZero() {
			refused = time.Now()
		}
		return stub.Refusal(http.StatusBadRequest, "invalid_request_error", "batch: this attempt has reached a limit: no further call will be answered"), true
	}
	end, err := t.run(ctx, "refused", p, nil)
	const hint = "batch ends it all the same, after a grace"
	switch {
	case err != nil:
		return err
	case end.Status == vocab.StatusTimeExceeded:
		show(Check{"limit", Bad, fmt.Sprintf("it did not end after a call was refused as at a limit, and asked %s more", printable.Count(p.done-1, "time", "times")), hint})
	case p.done > 1:
		show(Check{"limit", Warning, fmt.Sprintf("it asked %s more after a call was refused as at a limit, and then ended", printable.Count(p.done-1, "time", "times")), hint})
	default:
		show(Check{"limit", Good, fmt.Sprintf("it asked no more after a call was refused as at a limit, and ended: %s", end.Status), ""})
	}
	return nil
}

// ended is how the attempt of a trial ended.
type ended struct {
	results.Record
	patch []byte
	cwd   string
}

// The key of the played provider, and the variables that have it.
const playedKey = "sk-batch-doctor"

var keys = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"}

// run runs the instance with a played provider to its end. Before, if it is not nil, has begun the run.
func (t AgentTrial) run(ctx context.Context, name string, p *provider, before func(run.Request) error) (*ended, error) {
	url, end, err := p.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	r := t.Request
	r.Output = filepath.Join(t.Dir, name)
	r.Workers, r.Retry = 1, []string{"transient=0", "instance=0", "unknown=0"}
	r.Configs = append(slices.Clone(r.Configs), "model.model_kwargs.api_base="+url, "model.cost_tracking=ignore_errors",
		"agent.cost_limit=0", fmt.Sprintf("agent.wall_time_limit_seconds=%d", int(trialLimit.Seconds())))
	process := t.Process
	process.Getenv = func(variable string) string {
		if slices.Contains(keys, variable) {
			return playedKey
		}
		return t.Process.Getenv(variable)
	}
	if before != nil {
		if err := before(r); err != nil {
			return nil, err
		}
	}
	s, err := run.NewSetup(r, process)
	if err != nil {
		return nil, err
	}
	if err := work(ctx, s); err != nil {
		return nil, err
	}
	written, err := results.Read(r.Output)
	if err != nil {
		return nil, err
	}
	for id, record := range results.Latest(written.Records) {
		patch, err := os.ReadFile(filepath.Join(r.Output, id, id+".patch"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fault.New(fault.Host, "reading the trial's patch", err)
		}
		return &ended{record, patch, s.Settings.Environment.Cwd}, nil
	}
	return nil, fault.Newf(fault.Host, "the trial has no result in %s", r.Output)
}

// work opens and works the run of a setup.
func work(ctx context.Context, s *run.Setup) error {
	c, err := s.Load(ctx)
	if err != nil {
		return err
	}
	r, err := run.Open(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(r.Work(ctx, nil, nil), r.Close(), ctx.Err())
}

// provider plays the provider of a trial: it wants one command, and is content with its output. It is safe for
// concurrent use.
type provider struct {
	// then, if it is not nil, decides the answer to the n-th call that sends the output, from 1; false leaves
	// it to the provider.
	then func(n int) (a stub.Answer, decided bool)

	mu     sync.Mutex
	first  time.Time // of the first call
	side   int       // calls without tools
	done   int       // calls that send the output
	tool   string
	unable []string // names of the tools of a call, none of which takes a command

	last  []byte // the body of the last call that sent the output
	at    time.Time
	same  bool // the last two had the same body
	again time.Duration
}

// The command writes its user's name, and what it prints does not stand in it.
const (
	leaves  = "batch-doctor.txt"
	command = `id -un > ` + leaves + `; echo "batch-doctor-$((40+2))"`
	printed = "batch-doctor-42"
)

// serve begins to listen on loopback. The caller must call end.
func (p *provider) serve(ctx context.Context) (url string, end func(), err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fault.New(fault.Host, "listening for the calls of the program", err)
	}
	done := make(chan struct{})
	s := &http.Server{Handler: &stub.Handler{Next: p.answer, Lenient: true, Done: done}, ReadHeaderTimeout: time.Minute}
	var wait sync.WaitGroup
	wait.Go(func() { _ = s.Serve(l) }) // ends when it is closed
	return "http://" + l.Addr().String(), func() {
		close(done)
		_ = s.Close()
		wait.Wait()
	}, nil
}

// answer decides the answer to a request.
func (p *provider) answer(_ int, r *stub.Request) stub.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first.IsZero() {
		p.first = time.Now()
	}
	a := stub.Text("Done.")
	tools := offers(r.Body)
	switch {
	case len(tools) == 0:
		p.side++
	case bytes.Contains(r.Body, []byte(printed)):
		p.done++
		p.same, p.again = bytes.Equal(r.Body, p.last), time.Since(p.at)
		p.last, p.at = r.Body, time.Now()
		if p.then != nil {
			if other, decided := p.then(p.done); decided {
				return other
			}
		}
	default:
		call := commandOf(tools, command)
		if call == nil {
			p.unable = nil
			for _, t := range tools {
				p.unable = append(p.unable, t.name)
			}
			break
		}
		p.tool = call.Name
		a = stub.Answer{ToolCalls: []llm.ToolCall{*call}}
	}
	a.Usage = vocab.Usage{Input: 1000, Output: 100}
	return a
}

// changes returns the name that the command wrote, and the other files of a patch.
func changes(patch []byte) (user string, others []string) {
	file := ""
	for line := range strings.Lines(string(patch)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "diff --git "):
			_, file, _ = strings.Cut(line, " b/")
			if file != leaves {
				others = append(others, file)
			}
		case file == leaves && strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++"):
			user = line[1:]
		}
	}
	return user, others
}

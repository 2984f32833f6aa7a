package attempt

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/gateway"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/printable"
	"batch.example/batch/llm"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// Program is an agent of the user's own, which runs in the sandbox of each attempt and reaches the model
// through a gateway.
type Program struct {
	Wire   string // see [gateway.Config], as are the next three
	Model  string
	Alias  string
	Helper string

	// Leaves are patterns of files that the program leaves in the repository and that are no part of what it
	// did, see [boxgit.WorktreeDiffWithout].
	Leaves []string

	// Launch returns what is started.
	Launch func(At) (Launched, error)

	begun, failed atomic.Int64 // attempts whose program made a call, and that ended without one
}

// mute is how many attempts may end without a call before any has made one.
const mute = 3

// silent returns the fault of a program that made no call. When no program of the run has made one, the
// program itself is to blame.
func (p *Program) silent(why string) error {
	if n := p.failed.Add(1); n >= mute && p.begun.Load() == 0 {
		return fault.Newf(fault.Host, "the agent's program made no call in any of %d attempts: %s", n, why).
			WithHint("try its command in a container of the image: see `batch help agents`")
	}
	return fault.Newf(fault.Transient, "the agent's program made no call: %s", why)
}

// At is what a program is told about its place.
type At struct {
	Task  string // the instance template
	URL   string // of the gateway, without a path
	Key   string
	Model string // its name for the program
	Home  string
}

// Launched is a program that is to be started.
type Launched struct {
	Args  []string
	Env   []string // NAME=value, in addition to the commands'
	Stdin string

	Version string // a script that prints the program's version; empty: it is not asked
}

const (
	// programID is the id of the program's command in its sandbox: a resumed attempt finds it there.
	programID = "program"
	// versionID is the id of the command that prints its version.
	versionID = "program-version"
	// versionLimit is how long that may take.
	versionLimit = 30 * time.Second
	// versionLength is how many bytes of its first line are kept.
	versionLength = 100
	// programHome is its home, outside the repository.
	programHome = "/tmp/batch-agent"
	// programGrace is how long a program may take to end after it was told that it has to.
	programGrace = 5 * time.Second
	// programExit is how long its processes may take to end after SIGTERM, before SIGKILL.
	programExit = 10 * time.Second
	// startLimit is how long a program may take to its first call: one that the image cannot run, or that
	// waits for a network, makes none.
	startLimit = 2 * time.Minute
	// saidEnd is how many bytes of what a program wrote are in an error.
	saidEnd = 2000
	// headerLimit is how long a request's header may take.
	headerLimit = time.Minute
)

// running is an attempt's program. It implements [agent.Program].
type running struct {
	*Program
	t    *attempt
	box  Sandbox
	gate *gateway.Gateway
	key  string // for the gateway

	server *http.Server
	port   net.Listener
	stop   context.CancelCauseFunc
	wait   sync.WaitGroup

	path   string // of the program, as its command names it
	called bool   // it has made a call, perhaps to another process
	heard  bool   // it has made one to this process
	late   <-chan time.Time

	version string // valid after wait

	ended chan struct{} // closed when out and err are valid
	out   vocab.Output
	err   error
}

// begin opens the gateway of an attempt's program. The caller must close it.
func (p *Program) begin(ctx context.Context, t *attempt, box Sandbox, model llm.Model) (*running, error) {
	port, err := box.Listen(ctx)
	if err != nil {
		return nil, err
	}
	r := &running{Program: p, t: t, box: box, port: port, ended: make(chan struct{})}
	r.key, err = r.givenKey(ctx)
	if err == nil {
		count := func(ctx context.Context, relay *llm.Relay) error {
			_, err := model.Generate(ctx, &llm.Request{Relay: relay})
			return err
		}
		r.gate, err = gateway.New(gateway.Config{
			Wire: p.Wire, Model: p.Model, Alias: p.Alias, Token: r.key, Count: count, Helper: p.Helper, Mask: t.Mask, Log: t.log,
		})
	}
	if err != nil {
		return nil, errors.Join(err, port.Close())
	}
	r.server = &http.Server{Handler: r.gate, ReadHeaderTimeout: headerLimit, ErrorLog: slog.NewLogLogger(t.log.Handler(), slog.LevelInfo)}
	r.wait.Go(func() { _ = r.server.Serve(port) }) // ends when the port is closed
	return r, nil
}

// givenKey returns the key that the program in this sandbox was given, or will be: a resumed attempt meets a
// program that has one.
func (r *running) givenKey(ctx context.Context) (string, error) {
	file := programHome + "/.key"
	out, err := r.box.Script(ctx, fmt.Sprintf("umask 077; mkdir -p %s && { cat %s 2>/dev/null || { echo %s > %[2]s && cat %[2]s; }; }", programHome, file, rand.Text()))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(out.Bytes))
	if out.ExitCode != 0 || key == "" {
		return "", fault.Newf(fault.Instance, "making %s, the home of the agent's program: exit code %d, output %.500q", programHome, out.ExitCode, out.Bytes).
			WithHint("the container's user must be able to write there: with --read-only, give --tmpfs /tmp as well")
	}
	return key, nil
}

// Start implements [agent.Program].
func (r *running) Start(ctx context.Context, task string) error {
	launched, err := r.Launch(At{Task: task, URL: "http://" + r.port.Addr().String(), Key: r.key, Model: r.Alias, Home: programHome})
	if err != nil {
		return err
	}
	if err := launched.check(); err != nil {
		return err
	}
	r.path = launched.Args[0]
	r.called = r.t.past != nil && r.t.box.Adopted
	r.late = time.After(startLimit)
	r.gate.Open()
	within, stop := context.WithCancelCause(ctx)
	r.stop = stop
	r.wait.Go(func() {
		defer close(r.ended)
		r.out, r.err = r.box.Launch(within, programID, launched.command(bash.Words(launched.Args...)))
	})
	if launched.Version != "" {
		r.wait.Go(func() { r.version = r.askVersion(within, launched) })
	}
	return nil
}

// askVersion returns the program's version, in its own words; empty if it does not say.
func (r *running) askVersion(ctx context.Context, l Launched) string {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	l.Stdin = ""
	out, err := r.box.Launch(ctx, versionID, l.command(l.Version+"\n"))
	first, _, _ := strings.Cut(r.readable(out), "\n")
	if err != nil || out.ExitCode != 0 || first == "" {
		r.t.log.Info("the agent's program did not say its version", "exit_code", out.ExitCode, "output", first, "err", err)
		return ""
	}
	return printable.Line(first[:min(len(first), versionLength)])
}

// longestArgument is how many bytes Linux takes as one argument or variable, with the byte that ends it.
const longestArgument = 128 << 10

// check refuses what no program can be started with.
func (l Launched) check() error {
	for _, text := range slices.Concat(l.Args, l.Env) {
		if len(text) >= longestArgument || strings.ContainsRune(text, 0) {
			return fault.Newf(fault.Instance, "starting the agent's program: an argument or a variable has %d bytes, more than %d, or a NUL: %.40q", len(text), longestArgument-1, text).
				WithHint("give the task by agent.program.stdin")
		}
	}
	return nil
}

// noProxy keeps a proxy of the image out of the way to the gateway.
var noProxy = []string{"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1"}

// command returns a script of the program as a command of the sandbox.
func (l Launched) command(script string) sandbox.Launch {
	return sandbox.Launch{Env: slices.Concat([]string{"HOME=" + programHome}, noProxy, l.Env), Script: script, Stdin: l.Stdin}
}

// Next implements [agent.Program].
func (r *running) Next(ctx context.Context) (*agent.ProgramCall, error) {
	late := r.late
	if r.called {
		late = nil
	}
	select { // what a program leaves gets no calls
	case <-r.ended:
		return nil, r.end(ctx)
	default:
	}
	select {
	case c := <-r.gate.Calls():
		if !r.heard {
			r.called, r.heard = true, true
			r.begun.Add(1)
		}
		return &agent.ProgramCall{
			Messages: c.Messages, Tools: int64(c.ToolBytes+c.Unread) / 4, Helper: c.Helper, Relay: c.Relay, Output: c.MaxTokens,
			Lower: func(most int64) {
				r.t.log.Info("a limit of the cost leaves less room for an answer", "tokens", most, "asked", c.MaxTokens)
				c.Lower(most)
			},
			Begun: c.Begun, End: func(err error) { c.End(told(err)) },
		}, nil
	case <-r.ended:
		return nil, r.end(ctx)
	case <-late:
		return nil, r.silent(fmt.Sprintf("it has run for %v", startLimit))
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// told returns what a program is told of the error that ended its call.
func told(err error) error {
	if stop, ok := errors.AsType[*agent.Interrupt](err); ok {
		return fmt.Errorf("batch: this attempt has reached a limit (%s): no further call will be answered", stop.Name)
	}
	return err
}

// end returns how the program ended, with what it changed.
func (r *running) end(ctx context.Context) error {
	switch {
	case r.err != nil:
		return r.err
	case !r.called:
		return r.silent(fmt.Sprintf("exit code %d: %s%s", r.out.ExitCode, r.said(), r.lacks(ctx)))
	case r.out.ExitCode != 0 && !r.heard: // its own patience was over
		r.t.diverged = true
		return &agent.ProgramEnd{Failed: fmt.Sprintf("it ended while no process of batch answered it: exit code %d: %s", r.out.ExitCode, r.said())}
	case r.out.ExitCode != 0:
		return &agent.ProgramEnd{Failed: fmt.Sprintf("exit code %d: %s%s", r.out.ExitCode, r.said(), r.lacks(ctx))}
	}
	if err := r.box.Clear(ctx); err != nil { // what it left would go on in the working tree
		return err
	}
	ctx, cancel := withinLastScripts(ctx)
	defer cancel()
	patch, err := r.t.worktreeDiff(ctx, r.box)
	if err != nil {
		return err
	}
	return &agent.ProgramEnd{Patch: patch}
}

// codeNotFound is the exit code of a shell for a program that does not exist, or that the kernel does not find
// something for.
const codeNotFound = 127

// loader is the program in the header of another one that the kernel starts it with: an ELF file has a path of
// the C library's loader, a script its first line.
var loader = lazy.Regexp(`^(?:\x7fELF(?s:.*?)(/[^\x00]*/ld-[^\x00]+)\x00|#![ \t]*([^ \t\n]+))`)

// missing returns what the image has to have to start the program, and has not; empty: nothing is known to be
// missing.
func (r *running) missing(ctx context.Context) string {
	if r.out.ExitCode != codeNotFound {
		return ""
	}
	head, err := r.box.Script(ctx, "f=$(type -P "+bash.Quote(r.path)+") && head -c 4096 <\"$f\"")
	found := loader().FindSubmatch(head.Bytes)
	if err != nil || head.ExitCode != 0 || found == nil {
		return ""
	}
	name := string(found[1]) + string(found[2])
	there, err := r.box.Script(ctx, "[ -e "+bash.Quote(name)+" ]")
	if err != nil || there.ExitCode == 0 {
		return ""
	}
	return name
}

// lacks says of a program that could not be started what its image lacks; empty if it lacks nothing.
func (r *running) lacks(ctx context.Context) string {
	name := r.missing(ctx)
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s exists, but the image has no %s, which starts it: use a build that is static or for the image's C library)", r.path, name)
}

// worktreeDiff returns what the agent changed.
func (t *attempt) worktreeDiff(ctx context.Context, box Sandbox) ([]byte, error) {
	var leaves []string
	if t.Program != nil {
		leaves = t.Program.Leaves
	}
	return boxgit.WorktreeDiffWithout(ctx, box, leaves, t.commits()...)
}

// terminate asks the processes of the container to end, so that the program can write what it keeps in memory.
func (r *running) terminate(ctx context.Context) {
	if _, err := r.box.Script(ctx, "kill -TERM -1"); err != nil {
		r.t.log.Warn("sending SIGTERM to the agent's program", "err", err)
		return
	}
	select {
	case <-r.ended:
	case <-time.After(programExit):
	}
}

// log writes what the program wrote into the attempt's log.
func (r *running) log() {
	title := fmt.Sprintf("the agent's program ended: exit code %d, %d bytes of output", r.out.ExitCode, r.out.Total)
	if r.err != nil {
		title = "the agent's program was ended"
	}
	r.t.logged.block(title, strings.Split(r.readable(r.out), "\n"))
}

// readable is what a program wrote, as people may read it.
func (r *running) readable(out vocab.Output) string {
	return strings.TrimSpace(r.t.Mask.Text(strings.ToValidUTF8(string(out.Bytes), "\uFFFD")))
}

// said is the end of it.
func (r *running) said() string {
	text := r.readable(r.out)
	return cmp.Or(text[max(0, len(text)-saidEnd):], "it said nothing")
}

// close ends the program, unless the attempt was interrupted and will be resumed with it, and the gateway.
func (r *running) close(ctx context.Context) {
	r.gate.Close("")
	if r.stop != nil && ctx.Err() == nil {
		select {
		case <-r.ended:
		case <-time.After(programGrace):
			r.terminate(ctx)
		}
		r.stop(vocab.ErrInterrupted) // kills it
		<-r.ended
		r.log()
		if err := r.box.Clear(ctx); err != nil {
			r.t.log.Warn("ending what the agent's program left", "err", err)
		}
	} else if r.stop != nil {
		r.stop(context.Cause(ctx))
	}
	_ = r.server.Close()
	_ = r.port.Close()
	r.wait.Wait()
	r.t.result.Record.AgentVersion = r.version
}

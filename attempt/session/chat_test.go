package session_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/attempt/session"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// chat is a session of this process, with what its turns need.
type chat struct {
	*session.Session
	t     *testing.T
	dir   string
	id    string
	open  opening
	store openStore
	model *model
	env   *env
	cause error // what the last turn failed with
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9]+`)

// beginning starts a new session with a model that gives these replies.
type beginning func(t *testing.T, replies ...answer) *chat

// beginIn begins sessions in a kind of stores.
func beginIn(open opening) beginning {
	return func(t *testing.T, replies ...answer) *chat {
		t.Helper()
		c := &chat{
			t: t, dir: t.TempDir(), id: notInID.ReplaceAllString(t.Name(), "-"), open: open,
			model: &model{replies: replies}, env: &env{ran: map[string]int{}},
		}
		c.start()
		return c
	}
}

// start opens the session's store and starts the session.
func (c *chat) start() {
	c.t.Helper()
	c.prepare()
	if err := c.Start(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// prepare opens the session's store, after it was closed.
func (c *chat) prepare() {
	c.t.Helper()
	if c.store != nil {
		if err := c.store.Close(); err != nil {
			c.t.Fatal(err)
		}
	}
	loop, err := newLoop()
	if err != nil {
		c.t.Fatal(err)
	}
	if c.store, err = c.open(c.dir, c.id); err != nil {
		c.t.Fatal(err)
	}
	c.Session = session.New(session.Config{ContextID: c.id, Store: c.store, Loop: loop})
	opened := c.store
	c.t.Cleanup(func() { _ = opened.Close() }) // a test that cares has done so
}

// again shuts the session down and opens it again.
func (c *chat) again() {
	c.t.Helper()
	if err := c.Shutdown(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.start()
}

func (c *chat) input(words string) session.Input {
	return session.Input{Words: words, Model: c.model, Env: c.env}
}

// say has one turn, which must end like this.
func (c *chat) say(words string, want journal.TurnEnd) *session.Result {
	c.t.Helper()
	res, err := c.Turn(c.t.Context(), c.input(words))
	if c.cause = err; res == nil || res.End != want || (err != nil) != (want == journal.TurnFailed) {
		c.t.Fatalf("%q: got %+v, %v; want %s", words, res, err, want)
	}
	if got := c.State(); got.Status != session.Ready || got.Retry != (want == journal.TurnFailed) || (got.Error != "") != got.Retry {
		c.t.Fatalf("after %q: the state is %+v", words, got)
	}
	return res
}

// said are the texts of the messages that q chooses, each with the first letter of its role.
func (c *chat) said(q session.Query) (list []string) {
	c.t.Helper()
	messages, err := c.Messages(c.t.Context(), q)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, m := range messages {
		text := m.Text()
		for _, call := range m.ToolCalls() {
			text += "[" + call.ID + "]"
		}
		list = append(list, m.Role[:1]+": "+text)
	}
	return list
}

// is fails the test unless err is a Usage fault around want.
func (c *chat) is(what string, err, want error) {
	c.t.Helper()
	if !errors.Is(err, want) || fault.KindOf(err) != fault.Usage {
		c.t.Errorf("%s: got %v (%v), want %v", what, err, fault.KindOf(err), want)
	}
}

// env is an environment of this process. A command that begins with fail fails the first
// time, and one with wait waits for wait.
type env struct {
	mu      sync.Mutex
	ran     map[string]int // by id and command
	waiting chan struct{}  // receives when a command waits
	wait    chan struct{}
	before  func() // called before each action; may be nil
}

// Execute implements [session.Environment].
func (e *env) Execute(ctx context.Context, id, command string) (vocab.Output, error) {
	if e.before != nil {
		e.before()
	}
	e.mu.Lock()
	e.ran[id+" "+command]++
	n := e.ran[id+" "+command]
	e.mu.Unlock()
	switch {
	case strings.HasPrefix(command, "fail") && n == 1:
		return vocab.Output{}, fault.Newf(fault.Transient, "the container is away")
	case strings.HasPrefix(command, "wait"):
		e.waiting <- struct{}{}
		select {
		case <-e.wait:
		case <-ctx.Done():
			return vocab.Output{}, ctx.Err()
		}
	}
	return outputOf(command), nil
}

// Vars implements [session.Environment].
func (*env) Vars() map[string]any { return nil }

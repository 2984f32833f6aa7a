package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/attempt/session"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// Config configures a chat. Face and Input are required.
type Config struct {
	Face  Face
	Input io.Reader // the person's lines; read until the process ends
	Mode  Mode      // empty: Confirm

	// Whitelist are patterns in Python's syntax. Commands that match one at their beginning
	// run without a question.
	Whitelist []string

	Task      string // the first words of a new conversation; empty: the person is asked
	Model     string // its name, for people
	Directory string // the run directory, for people

	// Fence formats a command as the reply of an agent without tools.
	Fence func(command string) string
}

// Chat leads one conversation.
type Chat struct {
	c         Config
	whitelist []*regexp2.Regexp
	inbox     *inbox

	mu          sync.Mutex
	mode        Mode
	doing       doing
	stop        context.CancelCauseFunc // stops the running turn
	interrupted chan struct{}           // a question was interrupted
	comment     string                  // sent together with an interruption

	conv    *attempt.Conversation
	own     bool  // the next action is the person's
	ran     bool  // the action that was begun last was the person's
	stopped bool  // the person has interrupted the action that was begun last
	cut     *Cut  // the action that was begun last, if an earlier process began it
	over    error // why the conversation ends: errEnd, errLeave or nil
}

// doing is the current activity of a chat.
type doing int

const (
	absent  doing = iota // there is no conversation yet, or no longer
	asking               // the person is asked a question
	working              // the agent works
)

// Why a conversation ends.
var (
	errEnd   = fmt.Errorf("the person ended the conversation: %w", context.Canceled)
	errLeave = fmt.Errorf("the person left: %w", context.Canceled)
)

// matchLimit is the time limit for matching a whitelisted pattern. A pattern that exceeds it does
// not match.
const matchLimit = time.Second

// New returns a chat. An error is a Usage fault.
func New(c Config) (*Chat, error) {
	ch := &Chat{c: c, mode: cmp.Or(c.Mode, Confirm), interrupted: make(chan struct{}, 1)}
	for _, p := range c.Whitelist {
		re, err := regexp2.Compile(strings.ReplaceAll(p, "(?P<", "(?<"), regexp2.None)
		if err != nil {
			return nil, fault.New(fault.Usage, "reading --whitelist "+p, err).
				WithHint("it is a regular expression, matched from the start of a command")
		}
		re.MatchTimeout = matchLimit
		ch.whitelist = append(ch.whitelist, re)
	}
	return ch, nil
}

// Interrupt stops the agent, or the question that the person is asked. It returns false if there is
// no conversation. Any goroutine may call it.
func (c *Chat) Interrupt() bool { return c.interrupt("") }

func (c *Chat) interrupt(comment string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.doing {
	case working:
		c.comment = comment
		c.stop(vocab.ErrInterrupted)
	case asking:
		select {
		case c.interrupted <- struct{}{}:
		default: // one is enough
		}
	default:
		return false
	}
	return true
}

// Left reports whether the person left the conversation, and so it has no result yet.
func (c *Chat) Left() bool { return errors.Is(c.over, errLeave) }

// set changes the current activity, and returns the previous one.
func (c *Chat) set(d doing) (was doing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, c.doing = c.doing, d
	if d == asking {
		select {
		case <-c.interrupted: // meant for an earlier activity
		default:
		}
	}
	return was
}

// Talk implements [attempt.Talk].
func (c *Chat) Talk(ctx context.Context, conv *attempt.Conversation) error {
	c.conv = conv
	c.inbox = newInbox(c.c.Input, c.onSight())
	defer c.inbox.close()
	c.cut = (*Cut)(conv.Cut)
	c.set(asking)
	defer c.set(absent)
	st := conv.Session.State()
	c.opened(st)
	if err := c.restoreSaved(ctx); err != nil {
		return err
	}
	words := ""
	if st.Turns == 0 {
		words = c.c.Task
	}
	for {
		if words == "" {
			in, err := c.words(ctx)
			if err != nil {
				return c.leave(ctx, err)
			}
			words = in.Text
		}
		err := c.turn(ctx, words)
		words = ""
		if err != nil {
			return c.leave(ctx, err)
		}
	}
}

// leave returns the error that ends Talk.
func (c *Chat) leave(ctx context.Context, err error) error {
	c.over = err
	if errors.Is(err, errEnd) {
		return nil
	}
	if errors.Is(err, errLeave) {
		if failed := c.conv.Session.Pause(ctx); failed != nil {
			return failed
		}
	}
	return err
}

func (c *Chat) opened(st session.State) {
	conv := c.conv
	o := Opened{
		Instance: conv.Instance.ID, Model: c.c.Model, Directory: c.c.Directory, Container: conv.Facts.Container, Image: conv.Facts.Image.Ref,
		Mode: c.mode, Turns: st.Turns, Adopted: conv.Facts.Adopted, Resumed: conv.Resumed, Retry: st.Retry, Spent: st.Cost, Cut: c.cut,
	}
	for _, d := range conv.Differences {
		o.Differences = append(o.Differences, Difference{d.Step, d.Command, d.ExitCode, strings.ToValidUTF8(string(d.Output), "\ufffd")})
	}
	c.c.Face.Opened(o)
}

// words asks what to do next.
func (c *Chat) words(ctx context.Context) (Input, error) {
	st := c.conv.Session.State()
	for {
		in, err := c.ask(ctx, Question{Asked: AskWords, Retry: st.Retry})
		if err != nil {
			return in, err
		}
		switch {
		case in.Kind == SetMode:
		case in.Kind != Say:
			c.c.Face.Refuse(fmt.Errorf("%s: nothing waits for that: say something", in.Kind))
		case in.Text == "" && st.Turns == 0:
			c.c.Face.Refuse(errors.New("say what the agent should do"))
		default:
			return in, nil
		}
	}
}

// turn runs one turn, and asks for a comment if it was interrupted. An error means that the
// conversation is over.
func (c *Chat) turn(ctx context.Context, words string) error {
	for {
		res, err := c.run(ctx, words)
		if err == nil || res == nil {
			return err
		}
		switch {
		case c.over != nil:
			return c.over
		case ctx.Err() != nil:
			return err
		case errors.Is(err, vocab.ErrInterrupted):
			c.stopped = true
		case res.End == journal.TurnFailed && !fatal(err):
			return nil // the person has seen the error, and decides what to do
		default:
			return err
		}
		c.c.Face.Interrupted()
		if words = c.takeComment(); words != "" {
			continue
		}
		in, err := c.comments(ctx)
		if err != nil {
			return err
		}
		words = in.Text
	}
}

// fatal reports whether another turn would fail in the same way as the one that ended with err.
func fatal(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Bug || kind == fault.Host || errors.Is(err, runner.ErrBudget)
}

func (c *Chat) takeComment() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.comment
	c.comment = ""
	return text
}

// comments asks what to say after an interruption.
func (c *Chat) comments(ctx context.Context) (Input, error) {
	for {
		in, err := c.ask(ctx, Question{Asked: AskComment})
		if err != nil || in.Kind == Say || in.Kind == SetMode {
			return in, err
		}
		c.c.Face.Refuse(fmt.Errorf("%s: nothing waits for that: say something", in.Kind))
	}
}

// run runs a turn that begins with words; without words, it continues the last turn.
func (c *Chat) run(ctx context.Context, words string) (*session.Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	turn, run, err := c.conv.Begin(ctx, session.Input{
		Words: words, Model: &person{c, c.conv.Model()},
		Hooks: agent.Hooks{
			Listen: []agent.Listener{c.listen}, Approve: c.approve,
			Begun: func(_ context.Context, _ string, call agent.Call) error { return c.begun(call, words) },
		},
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.stop, c.doing = stop, working
	c.mu.Unlock()
	defer c.set(asking)
	c.c.Face.Began(turn.Number())
	res, err := run(ctx)
	interrupted := errors.Is(context.Cause(ctx), vocab.ErrInterrupted)
	if res.End != journal.TurnFailed || c.over == nil && !interrupted { // otherwise the person knows
		c.c.Face.Ended(res)
	}
	if err != nil && interrupted {
		err = vocab.ErrInterrupted
	}
	return res, err
}

func (c *Chat) listen(e agent.Event) {
	if e.Type == agent.EventAction {
		c.cut = nil
	}
	c.c.Face.Event(e)
}

// approve asks whether an action may run; see [agent.Hooks].
func (c *Chat) approve(ctx context.Context, tool string, call agent.Call) error {
	if c.own || c.current() == Yolo || c.whitelisted(call.Command) {
		c.own, c.ran = false, c.own
		return nil
	}
	q := Question{Asked: AskApprove, Tool: tool, Command: call.Command, Arguments: call.Arguments}
	for {
		in, err := c.ask(ctx, q)
		if err != nil {
			return c.goodbye(err)
		}
		switch in.Kind {
		case Approve:
			return nil
		case SetMode:
			switch in.Mode {
			case Yolo:
				return nil
			case Human:
				return agent.Interrupted("Commands not executed. Switching to human mode")
			}
		case Reject, Say:
			return agent.Interrupted(rejected + in.Text)
		case Interrupt:
			return agent.Interrupted("Commands not executed. Interrupted by user: " + cmp.Or(in.Text, "Temporary interruption caught."))
		default:
			c.c.Face.Refuse(fmt.Errorf("%s: an action waits: approve it, or reject it with words", in.Kind))
		}
	}
}

// begun says whether the result of a begun action is known; see [agent.Hooks]. It does not ask the
// person: they have approved the action, and may have stopped it since. words is their new message.
func (c *Chat) begun(call agent.Call, words string) error {
	text := ""
	switch {
	case c.stopped && c.ran:
		text = "The user interrupted the command, which was their own."
	case c.cut != nil && c.cut.again(c.current()):
		return nil // the new sandbox repeats all earlier actions, but not this one
	case c.cut != nil && c.cut.Lost:
		text = "The program that ran the action was ended before it had the result."
	case call.Command == "": // not a command, so the container does not know it
		text = "The action did not come to its end."
	case c.stopped && words != "":
	default:
		return nil // the result, or the command until it ends or is stopped
	}
	stop := agent.Interrupted(text)
	if words != "" { // they follow the observation, which has the result
		stop.Messages = nil
	}
	return stop
}

// rejected precedes a person's reasons in the message to the model. The words are mini-swe-agent's.
const rejected = "Commands not executed. The user rejected your commands with the following message: "

// goodbye records that the conversation ends in the middle of a turn.
func (c *Chat) goodbye(err error) error {
	if errors.Is(err, errEnd) || errors.Is(err, errLeave) {
		c.over = err
	}
	return err
}

func (c *Chat) current() Mode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mode
}

func (c *Chat) setMode(m Mode) {
	c.mu.Lock()
	c.mode = m
	c.mu.Unlock()
	c.c.Face.Note("mode " + string(m))
}

func (c *Chat) whitelisted(command string) bool {
	for _, re := range c.whitelist {
		if m, err := re.FindStringMatch(command); err == nil && m != nil && m.Index == 0 {
			return true
		}
	}
	return false
}

// person is a model that asks the person in mode human.
type person struct {
	c *Chat
	llm.Model
}
